"""A policy that polls uniformly for a phase, and goes by what that showed from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from knapsolve._core.policies import EstimateThenFix
from knapsolve._validation import check_choice, check_integer
from knapsolve.learners.policy_base import LoggedPolicy, detection_rates
from knapsolve.nefk.shares import share_out
from knapsolve.rates import censored_rates

ESTIMATES = ("mle", "detection-rate")


class EstimatorPolicy(LoggedPolicy):
    """Poll uniformly for a phase, then in proportion to what the phase showed.

    Parameters
    ----------
    phase : int, default=10000
        Number of polls to estimate from.
    estimate : {"mle", "detection-rate"}, default="mle"
        Censored maximum likelihood estimate of the change rate, or the papers' naive one: the share of polls
        that found a change.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    amounts_ : ndarray of shape (n_materials,)
        Uniform during the phase, in proportion to the estimates after it.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.C.

    Examples
    --------
    >>> from knapsolve import EstimatorPolicy
    >>> policy = EstimatorPolicy(phase=4, estimate="detection-rate")
    >>> policy.fit([[0, 1], [1, 1], [0, 1], [1, 1]], [1, 0, 1, 0]).allocate().round(3).tolist()
    [0.833, 0.167]
    """

    def __init__(
        self,
        *,
        phase: int = 10_000,
        estimate: str = "mle",
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        super().__init__(n_materials=n_materials, capacity=capacity, random_state=random_state,
                         material=material, elapsed=elapsed)  # fmt: skip
        self.phase = phase
        self.estimate = estimate

    def _check_parameters(self) -> None:
        check_integer("phase", self.phase, low=1, high=10**8)
        check_choice("estimate", self.estimate, ESTIMATES)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        if sum((part[0] >= 0).sum() for part in self._log) < self.phase:
            super()._learn_polls(codes, gaps, changed, commit)
        else:
            commit()

    def _estimates(self, materials: np.ndarray, gaps: np.ndarray, changed: np.ndarray) -> np.ndarray:
        n = self.materials_.size
        if self.estimate == "mle":
            return censored_rates(materials, gaps, changed, n)
        return detection_rates(materials, changed, n)

    def _weights(self) -> np.ndarray:
        materials, gaps, changed = self._logged(self.phase)
        if materials.size < self.phase:
            return np.ones(self.materials_.size)
        return self._estimates(materials, gaps, changed)

    def _core(self) -> EstimateThenFix:
        materials: np.ndarray = np.full(self.phase, -1, dtype=np.int32)  # -1: rows not filled yet
        gaps: np.ndarray = np.zeros(self.phase)
        changed: np.ndarray = np.zeros(self.phase, dtype=np.int8)
        log, done = (materials, gaps, changed), self._logged(self.phase)
        for column, values in zip(log, done):
            column[: values.size] = values
        self._log = (log,)  # the compiled policy goes on writing here
        return EstimateThenFix(self.amounts_, *log, done[0].size, self._finish)

    def _finish(self, materials: np.ndarray, gaps: np.ndarray, changed: np.ndarray) -> np.ndarray:
        return share_out(self._estimates(materials, gaps, changed), self.capacity)
