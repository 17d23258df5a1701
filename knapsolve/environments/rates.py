"""Environments with known change rates: the papers' Bernoulli one, and pages that change."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.environments import Bernoulli, Pages
from knapsolve._validation import check_integer, check_vector


class _RateEnvironment:
    """Materials that change at rates ``-ln(unchanged)``, whose ranks may switch."""

    _kind: Any

    def __init__(self, unchanged: Any, *, switch_every: int | None = None):
        self.unchanged = check_vector("unchanged", unchanged, low=0, high=1).copy()
        if self.unchanged.size < 2:
            raise ValueError(f"unchanged must hold at least 2 materials, got {self.unchanged.size}")
        if switch_every is not None:
            switch_every = check_integer("switch_every", switch_every, low=1, high=2**62)
        self.switch_every = switch_every

    @property
    def n_materials(self) -> int:
        """Number of materials."""
        return self.unchanged.size

    def _core(self) -> Any:
        """A compiled environment at its start."""
        with np.errstate(divide="ignore"):
            rates = -np.log(self.unchanged)
        at_rank = np.argsort(self.unchanged, kind="stable").astype(np.int32)
        cumulative = np.cumsum(1 - self.unchanged[at_rank])
        return self._kind(rates, self.switch_every or 0, cumulative, at_rank)

    def value(self, amounts: Any) -> float:
        """Expected number of changes found per unit of time, ``sum x (1 - unchanged ** (1 / x))``.

        Parameters
        ----------
        amounts : array-like of shape (n_materials,)
            Polls per unit of time of each material, non-negative.

        Returns
        -------
        value : float
            Changes found per unit of time at the environment's first ranking.

        Raises
        ------
        ValueError, TypeError
            If amounts are not as described.

        References
        ----------
        Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.A.
        """
        amounts = check_vector("amounts", amounts, low=0, size=self.n_materials)
        return expected_detections(amounts, self._core().rates())

    def __repr__(self) -> str:
        switching = "" if self.switch_every is None else f", switch_every={self.switch_every}"
        return f"{type(self).__name__}(<{self.n_materials} materials>{switching})"


class BernoulliEnvironment(_RateEnvironment):
    """A poll finds a change with probability ``1 - unchanged ** (1 / x)`` at the amount x now allocated.

    This is the environment of the papers' theory. A poll's elapsed time is 1 / x.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,)
        Probability that a material stays unchanged for one unit of time, in [0, 1].
    switch_every : int, optional
        After every so many polls, a material drawn in proportion to the change probabilities swaps them with
        the next one in rank.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), sections II and III.C.2.

    Examples
    --------
    >>> from knapsolve.environments import BernoulliEnvironment
    >>> round(BernoulliEnvironment([.5, .5]).value([.5, .5]), 3)
    0.75
    """

    _kind = Bernoulli


class PollingEnvironment(_RateEnvironment):
    """Pages that change at random; a poll finds a change if there was one since the page's last poll.

    This is what a crawler meets: ``P(change found) = 1 - unchanged ** elapsed``.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,)
        Probability that a page stays unchanged for one unit of time, in [0, 1].
    switch_every : int, optional
        After every so many polls, a page drawn in proportion to the change probabilities swaps them with the
        next one in rank.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.A and III.C.2.

    Examples
    --------
    >>> from knapsolve.environments import PollingEnvironment
    >>> PollingEnvironment([.9, .1], switch_every=1000)
    PollingEnvironment(<2 materials>, switch_every=1000)
    """

    _kind = Pages


def expected_detections(amounts: np.ndarray, rates: np.ndarray) -> float:
    """``sum x (1 - exp(-rate / x))``, with nothing found where x is 0."""
    polled = amounts > 0
    x = amounts[polled]
    return float((x * -np.expm1(-rates[polled] / x)).sum())
