"""The Whittle index of sites with ephemeral content, and its inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import knapsolve._core.whittle_index as kernel
from knapsolve._validation import check_array, check_choice, check_vector, check_whole

__all__ = ["LARGEST_AGE", "inverse_whittle_index", "whittle_index"]

LARGEST_AGE = 2.0**53


def whittle_index(
    state: ArrayLike | None = None,
    *,
    age: ArrayLike | None = None,
    arrival_rate: ArrayLike,
    decay_rate: ArrayLike,
    max_age: ArrayLike = math.inf,
    cost: ArrayLike = 1.0,
) -> Any:
    r"""Whittle index of sites with ephemeral content: what a crawl may cost to be worth it now.

    Content arrives at rate :math:`\lambda`, its interest decays at rate :math:`c`, and what is older than
    :math:`M` steps is gone. With :math:`\alpha = e^{-c}` and :math:`x_k = (\lambda/c)(1 - \alpha^{\min(k,
    M)})`, the index `k` steps after a crawl is :math:`((k+1) x_k - k x_{k+1}) / C`. Exactly one of `state`
    and `age` must be given; arguments broadcast.

    Parameters
    ----------
    state : array_like, optional
        Interest in the content that waits, in items; non-negative. It need not be one of the :math:`x_k`.
        At and above the most that a site can hold the index is `state / cost`.
    age : array_like, optional
        Whole steps since the last crawl, at most 2**53. Faster than `state`.
    arrival_rate : array_like
        Items a step, non-negative.
    decay_rate : array_like
        A step, positive.
    max_age : array_like, default=inf
        Whole steps, at least 1, after which content is dropped; `inf` if it never is.
    cost : array_like, default=1.0
        Of a crawl, positive.

    Returns
    -------
    index : float or ndarray
        Items for a unit of cost, of the arguments' common shape; accurate to about 1e-14 relatively however
        small or large the decay is.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its domain, or the result exceeds the floating-point range.

    References
    ----------
    Avrachenkov and Borkar (2019), "A learning algorithm for the Whittle index policy for scheduling web
    crawlers", eqs (4)-(5).

    Examples
    --------
    >>> from knapsolve import whittle_index
    >>> round(float(whittle_index(100.0, arrival_rate=250, decay_rate=0.7)), 6)
    50.34147
    >>> whittle_index(age=[0, 1, 2], arrival_rate=250, decay_rate=0.35).round(3)
    array([  0.   ,  62.292, 150.085])
    """
    if (state is None) == (age is None):
        raise ValueError("give exactly one of state and age")
    name = "age" if state is None else "state"
    arrays = _broadcast({name: age if state is None else state}, arrival_rate, decay_rate, max_age, cost)
    shape, flat = arrays
    out = np.empty(math.prod(shape))
    if name == "age":
        good = kernel.index_from_age(*flat.values(), out)
    else:
        good = kernel.index_from_state(*flat.values(), out)
    if not good:
        _check_domain(flat)
        raise ValueError("arrival_rate / decay_rate / cost must be within the floating-point range")
    return out.reshape(shape)[()]


def inverse_whittle_index(
    index: ArrayLike,
    *,
    arrival_rate: ArrayLike,
    decay_rate: ArrayLike,
    max_age: ArrayLike = math.inf,
    cost: ArrayLike = 1.0,
    of: str = "age",
) -> Any:
    r"""Age or content at which the Whittle index is reached, the inverse of `whittle_index`.

    Parameters
    ----------
    index : array_like
        Items for a unit of cost; finite.
    arrival_rate, decay_rate, max_age, cost : array_like
        As in `whittle_index`.
    of : {"age", "state"}, default="age"
        Whether to return ages or contents.

    Returns
    -------
    age or state : float or ndarray
        The least whole age whose index is at least `index`, `inf` if none is; or the content whose index it
        is. Negative indices are reached at once, at 0.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its domain, or the result exceeds the floating-point range.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), section III: the threshold :math:`\gamma_i^{-1}`. The age solves
    Lambert's equation; closed form of Barry et al. (2000), refined by Newton steps.

    Examples
    --------
    >>> from knapsolve.restless import inverse_whittle_index
    >>> float(inverse_whittle_index(250.0, arrival_rate=250, decay_rate=0.21))
    4.0
    """
    check_choice("of", of, ("age", "state"))
    shape, flat = _broadcast({"index": index}, arrival_rate, decay_rate, max_age, cost)
    _check_domain(flat)
    out = np.empty(math.prod(shape))
    if of == "age":
        kernel.age_at_index(*flat.values(), out)
    elif not kernel.state_at_index(*flat.values(), out):
        raise ValueError("index * cost must be within the floating-point range")
    return out.reshape(shape)[()]


def _broadcast(
    first: dict[str, Any], arrival_rate: Any, decay_rate: Any, max_age: Any, cost: Any
) -> tuple[tuple[int, ...], dict[str, np.ndarray]]:
    """Return the common shape, and every argument as a vector of that size or of length 1."""
    given = {
        **first,
        "arrival_rate": arrival_rate,
        "decay_rate": decay_rate,
        "max_age": max_age,
        "cost": cost,
    }
    arrays = {name: check_array(name, value) for name, value in given.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"the arguments' shapes do not broadcast: {shapes}") from error
    flat = {
        name: array.reshape(1) if array.size == 1 else np.ascontiguousarray(np.broadcast_to(array, shape)).ravel()
        for name, array in arrays.items()
    }
    return shape, flat


def _check_domain(flat: dict[str, np.ndarray]) -> None:
    """Raise for the first argument that is out of its domain."""
    if "age" in flat:
        check_whole("age", flat["age"])
        check_vector("age", flat["age"], high=LARGEST_AGE)
    if "state" in flat:
        check_vector("state", flat["state"], low=0.0)
    if "index" in flat:
        check_vector("index", flat["index"])
    check_vector("arrival_rate", flat["arrival_rate"], low=0.0)
    check_vector("decay_rate", flat["decay_rate"], low=0.0, low_open=True)
    check_whole("max_age", flat["max_age"], low=1.0, finite=False)
    check_vector("cost", flat["cost"], low=0.0, low_open=True)
    with np.errstate(over="ignore"):
        ceiling = flat["arrival_rate"] / flat["decay_rate"] / flat["cost"]
    if not np.isfinite(ceiling).all():
        raise ValueError("arrival_rate / decay_rate / cost must be within the floating-point range")
