"""Classical policies: uniform, proportional, estimator, optimal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from knapsolve._core.policies import EstimateThenFix, FixedAmounts
from knapsolve._validation import check_choice, check_integer, check_vector, shown
from knapsolve.learners.base import PollLogLearner, share_out
from knapsolve.rates import censored_rates

ESTIMATES = ("mle", "detection-rate")


class _Policy(PollLogLearner):
    """Keeps the polls that it learns from as a list of (materials, elapsed, changed) parts."""

    def __init__(
        self,
        *,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def _check_parameters(self) -> None:
        pass

    def _start(self, n: int) -> None:
        self._log: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()

    def _resize(self, n: int) -> None:
        pass

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        parts = [*self._log, (codes.astype(np.int32), gaps.copy(), changed.copy())]
        while len(parts) > 1 and parts[-1][0].size >= parts[-2][0].size:  # few parts, however short the batches
            (a, b, c), (d, e, f) = parts.pop(-2), parts.pop()
            parts.append((np.concatenate([a, d]), np.concatenate([b, e]), np.concatenate([c, f])))
        self._log = tuple(parts)
        commit()

    def _logged(self, limit: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first `limit` polls learnt from, in one piece."""
        parts = self._log or ((np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8)),)
        columns = [np.concatenate(column) for column in zip(*parts)]
        filled = columns[0] >= 0
        material, gaps, changed = (column[filled][:limit] for column in columns)
        return material, gaps, changed

    def _weights(self) -> np.ndarray:
        """Positive numbers (n_materials,) in proportion to which the capacity is shared out."""
        raise NotImplementedError

    @property
    def amounts_(self) -> np.ndarray:
        """Amounts held now, (n_materials,), in polls per unit of time."""
        check_is_fitted(self)
        return share_out(self._weights(), self.capacity)

    def _core(self) -> FixedAmounts:
        return FixedAmounts(self.amounts_)


class UniformPolicy(_Policy):
    """Poll every material equally often.

    Parameters
    ----------
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
        ``capacity / n_materials`` each.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo et al. (2007), section III.C.

    Examples
    --------
    >>> from knapsolve import UniformPolicy
    >>> UniformPolicy(capacity=3).fit([[0, 1], [1, 1]], [0, 1]).allocate().tolist()
    [1.5, 1.5]
    """

    def _weights(self) -> np.ndarray:
        return np.ones(self.materials_.size)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        commit()


class ProportionalPolicy(_Policy):
    """Poll in proportion to the probability of a change in one unit of time.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,) or mapping, optional
        Probability that a material stays unchanged for one unit of time, in the order of `materials_` or by
        identifier. By default the shares of changed polls in the log stand in, with half a poll of each kind
        added.
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
        ``capacity * (1 - unchanged) / sum(1 - unchanged)``.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo et al. (2007), section III.C.

    Examples
    --------
    >>> from knapsolve import ProportionalPolicy
    >>> ProportionalPolicy(unchanged=[.25, .75]).fit([[0, 1], [1, 1]], [0, 1]).allocate().tolist()
    [0.75, 0.25]
    """

    def __init__(
        self,
        *,
        unchanged: Any = None,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        super().__init__(n_materials=n_materials, capacity=capacity, random_state=random_state,
                         material=material, elapsed=elapsed)  # fmt: skip
        self.unchanged = unchanged

    def _check_parameters(self) -> None:
        if self.unchanged is not None and not isinstance(self.unchanged, Mapping):
            check_vector("unchanged", self.unchanged, low=0, high=1, size=self.n_materials)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        if self.unchanged is None:
            super()._learn_polls(codes, gaps, changed, commit)
        else:  # all is known
            commit()

    def _check_materials(self, materials: np.ndarray) -> None:
        if self.unchanged is not None:
            self._known(materials)

    def _known(self, materials: np.ndarray) -> np.ndarray:
        if not isinstance(self.unchanged, Mapping):
            return check_vector("unchanged", self.unchanged, low=0, high=1, size=materials.size)
        missing = [m for m in materials.tolist() if m not in self.unchanged]
        if missing:
            raise ValueError(
                f"unchanged must say a probability for every material, got none for {shown(missing[0])}"
            )
        return check_vector("unchanged", [self.unchanged[m] for m in materials.tolist()], low=0, high=1)

    def _weights(self) -> np.ndarray:
        if self.unchanged is not None:
            return 1 - self._known(self.materials_)
        materials, _, changed = self._logged()
        return _detection_rates(materials, changed, self.materials_.size)


class OptimalPolicy(ProportionalPolicy):
    """Poll so that the expected number of changes found is the largest possible.

    For equally important materials that means amounts in proportion to the change rates ``-ln(unchanged)``.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,) or mapping, optional
        Probability that a material stays unchanged for one unit of time, in the order of `materials_` or by
        identifier. By default the rates are estimated from the log by censored maximum likelihood.
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
        ``capacity * ln(unchanged) / sum(ln(unchanged))``. Materials that always change (0) share everything.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo et al. (2007), section III.B: at the optimum all detection probabilities 1 - q^(1/x) are equal.

    Examples
    --------
    >>> from knapsolve import OptimalPolicy
    >>> OptimalPolicy(unchanged=[.25, .5]).fit([[0, 1], [1, 1]], [0, 1]).allocate(6).tolist()
    [4.0, 2.0]
    """

    def _weights(self) -> np.ndarray:
        if self.unchanged is None:
            materials, gaps, changed = self._logged()
            return censored_rates(materials, gaps, changed, self.materials_.size)
        unchanged = self._known(self.materials_)
        if (unchanged == 0).any():
            return (unchanged == 0).astype(float)
        return -np.log(unchanged)


class EstimatorPolicy(_Policy):
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
    Granmo et al. (2007), section III.C.

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
        return _detection_rates(materials, changed, n)

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


def _detection_rates(materials: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """Share of polls that found a change, with half a poll of each kind added."""
    polls = np.bincount(materials, minlength=n)
    return (np.bincount(materials, weights=changed, minlength=n) + 0.5) / (polls + 1)
