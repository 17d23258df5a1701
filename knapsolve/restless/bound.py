"""The Lagrangian bound on what any crawling policy can earn."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import knapsolve._core.whittle_index as kernel
from knapsolve._validation import check_real, check_sites

__all__ = ["RelaxedBound", "relaxed_bound"]

_CHUNK = 200_000  # sites between two looks at Ctrl-C


class RelaxedBound(NamedTuple):
    """Upper bound on the long-run content collected a step, in items, and the price of a crawl that gives it."""

    value: float
    price: float


def relaxed_bound(
    arrival_rate: ArrayLike, decay_rate: ArrayLike, n_crawls: float, max_age: ArrayLike = math.inf
) -> RelaxedBound:
    r"""Bound the long-run mean content of all policies with at most `n_crawls` crawls a step on average.

    A price for a crawl, :math:`\gamma`, separates the sites: :math:`D(\gamma) = \gamma N_0 + \sum_i
    \max(0, \max_k (x_{i,k} - \gamma)/k)` bounds the constrained optimum at any price, is convex and
    piecewise linear, and is minimised where tangents from both sides meet. The best interval of a site is the
    least age at which its Whittle index reaches the price.

    Parameters
    ----------
    arrival_rate, decay_rate : array_like of shape (n_sites,)
        As in `WhittlePolicy`.
    n_crawls : float
        Crawls a step on average, more than 0 and at most n_sites.
    max_age : array_like of shape (n_sites,) or float, default=inf
        As in `WhittlePolicy`.

    Returns
    -------
    bound : RelaxedBound
        `value`, items a step, and `price`, items a crawl.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its domain.

    References
    ----------
    Whittle (1988), "Restless bandits: activity allocation in a changing world", section 3.

    Examples
    --------
    >>> from knapsolve.restless import relaxed_bound
    >>> bound = relaxed_bound([250] * 4, [0.7, 0.35, 0.7, 0.21], n_crawls=1)
    >>> round(bound.value, 6), round(bound.price, 6)
    (471.382518, 262.483078)
    """
    sites = check_sites(arrival_rate, decay_rate, max_age)
    budget = check_real("n_crawls", n_crawls, low=0.0, low_open=True, high=sites[0].size)
    # tangent of D at a price: (price, D, slope); slope < 0 left of the minimum
    left, right = _tangent(sites, 0.0, budget), _tangent(sites, float((sites[0] / sites[1]).max()), budget)
    if left[2] >= 0.0 or right[0] == 0.0:
        return RelaxedBound(left[1], left[0])
    for n in range(200):
        meet = (left[1] - left[2] * left[0] - right[1] + right[2] * right[0]) / (right[2] - left[2])
        lower = left[1] + left[2] * (meet - left[0])  # no price gives less: both tangents are below D
        best = min(left, right, key=lambda tangent: tangent[1])
        if best[1] - lower <= 1e-13 * best[1] or not left[0] < meet < right[0]:
            break
        if n % 3 == 2:  # tangents alone may creep
            meet = (left[0] + right[0]) / 2.0
        here = _tangent(sites, meet, budget)
        if here[2] < 0.0:
            left = here
        else:
            right = here
    return RelaxedBound(best[1], best[0])


def _tangent(sites: tuple[np.ndarray, ...], price: float, budget: float) -> tuple[float, float, float]:
    """Return the price, D and a slope of D there."""
    income = crawls = 0.0
    for start in range(0, sites[0].size, _CHUNK):
        part = kernel.response_to_price(*sites, price, start, min(start + _CHUNK, sites[0].size))
        income, crawls = income + part[0], crawls + part[1]
    return price, price * budget + income, budget - crawls
