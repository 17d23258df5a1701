"""Crawlers' adaptive intervals, as a baseline that meets a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.adaptive_intervals import AdaptiveIntervals
from knapsolve._validation import check_choice, check_vector
from knapsolve.learners.base import PollLogLearner

RULES = ("nutch", "stormcrawler")


class AdaptiveIntervalPolicy(PollLogLearner):
    """Poll sooner after a poll that found a change, later after one that did not, as crawlers do.

    After each poll of a material its interval I, in units of the mean interval ``n_materials / capacity``, becomes

    - by Nutch's rule, ``0.8 * I`` if a change was found, else ``1.2 * I``;
    - by StormCrawler's rule, ``(I + low) / 2`` if a change was found, else ``1.5 * I``;

    clipped to `bounds`. Crawlers let intervals be what they become, and poll as often as that takes. Here all
    intervals are scaled by one factor, found online, so that the amounts always sum to the capacity: rules and bounds
    act on the scaled intervals, and polls are as many as the budget allows.

    Parameters
    ----------
    rule : {"nutch", "stormcrawler"}, default="nutch"
        Which rule.
    bounds : (float, float), default=(0.01, 20.0)
        Shortest and longest interval, in units of the mean interval; the first below 1, the second above.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from the start.
        By default materials are admitted as they appear in the log; a newcomer takes the mean weight.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll; the rules do not use the latter.

    Attributes
    ----------
    intervals_ : ndarray of shape (n_materials,)
        Intervals held now, in units of time.
    amounts_ : ndarray of shape (n_materials,)
        ``1 / intervals_``, in polls per unit of time; they sum to `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    n_features_in_ : int
        Number of columns seen.

    References
    ----------
    Apache Nutch, class AdaptiveFetchSchedule; StormCrawler, class AdaptiveScheduler.

    Examples
    --------
    >>> from knapsolve import AdaptiveIntervalPolicy
    >>> policy = AdaptiveIntervalPolicy(capacity=2.0).fit([[0, 1], [1, 1], [0, 1], [1, 1]], [1, 0, 1, 0])
    >>> policy.intervals_.round(3).tolist(), policy.allocate().round(3).tolist()
    ([0.778, 1.4], [1.286, 0.714])
    """

    _state_names = ("weights_", "numbers_")

    def __init__(
        self,
        *,
        rule: str = "nutch",
        bounds: tuple[float, float] = (0.01, 20.0),
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.rule = rule
        self.bounds = bounds
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    @property
    def intervals_(self) -> np.ndarray:
        """Intervals held now, (n_materials,), in units of time."""
        return 1 / self.amounts_

    def _check_parameters(self) -> None:
        check_choice("rule", self.rule, RULES)
        low, high = check_vector("bounds", self.bounds, low=0, size=2)
        if not 1e-6 <= low < 1 < high <= 1e6:
            raise ValueError(f"bounds must be a number in [1e-06, 1) and one in (1, 1e+06], got {self.bounds!r}")

    def _start(self, n: int) -> None:
        self.weights_ = np.ones(max(n, 2))
        self.numbers_ = np.array([float(n)])

    def _resize(self, n: int) -> None:
        if n > self.weights_.size:
            self.weights_ = np.concatenate([self.weights_, np.ones(n - self.weights_.size)])

    def _core(self) -> AdaptiveIntervals:
        self._check_parameters()
        low, high = map(float, self.bounds)
        storm = self.rule == "stormcrawler"
        return AdaptiveIntervals(self.weights_, self.numbers_, self.materials_.size, self.capacity, storm, low, high)
