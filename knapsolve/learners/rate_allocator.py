"""RateAllocator: estimate change rates, then share out the capacity by a criterion."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import knapsolve._core.nefk as nefk_core
from knapsolve._core.rate_learner import RateLearner
from knapsolve._core.refit_learner import RefitLearner
from knapsolve._validation import check_choice, check_poll_log, check_real
from knapsolve.learners.base import PollLogLearner
from knapsolve.rates.columns import group_columns, per_material
from knapsolve.rates.filter_model import FilterModel
from knapsolve.rates.log_model import LogModel
from knapsolve.rates.models import ESTIMATORS, make_model
from knapsolve.rates.parameters import check_elapsed, check_rate_parameters
from knapsolve.rates.polls import Polls, complete_observations
from knapsolve.rates.problem import BALANCE, CRITERIA, RateProblem

SHAPES = {
    "detection": nefk_core.DETECTION,
    "freshness": nefk_core.FRESHNESS,
    "poisson": nefk_core.POISSON,
    "harmonic": nefk_core.HARMONIC,
    "renewal": nefk_core.DETECTION,
}


class RateAllocator(PollLogLearner):
    """Estimate change rates from the polls, then share out the capacity by a criterion.

    In a closed loop (`simulate`) every poll changes one rate; that material's amount follows at a price that is kept
    up to date, so that a poll costs O(1) beside its scheduling, and the amounts sum to the capacity throughout.

    Parameters
    ----------
    capacity : float, default=1.0
        Polls per unit of time.
    estimator : {"recursive", "bayes", "multiplicative", "mle"}, default="recursive"
        How rates are estimated, see `ChangeRateEstimator`. "recursive" notices where rates change and then
        forgets faster; with ``evidence_limit=10`` it always does.
    criterion : {"detection", "freshness", "poisson", "harmonic", "renewal"}, default="detection"
        What amounts are worth: changes found; time that copies are current, with polls at even or at random
        times; harmonic staleness, where no material starves; or the balance between changes found and current copies
        that `knapsolve allocate` strikes by default, see `balance`.
    balance : float, default=0.8
        Of "renewal" alone: a change found at a material that changes at rate L is worth
        ``1 - balance + balance * B / (4 * L)``, with ``B = capacity / n_materials``: from 0 for most changes found
        (as "detection") to 1 for copies that are most current (as "freshness").
    weights : float, array-like of shape (n_materials,) or mapping, optional
        Importance of each material, in the order of `materials_` or by identifier (1 for those not named).
    lower, upper : float, array-like of shape (n_materials,) or mapping, optional
        Bounds of each amount, in polls per unit of time; none by default.
    groups : array-like of shape (n_materials,) or mapping, optional
        Group (host) of each material: a number from 0, or a label of `group_caps`; -1, None or NaN for no group. A
        pandas Series goes by its labels, as a mapping does, unless these are the positions.
    group_caps : float, array-like of shape (n_groups,) or mapping, optional
        Most polls per unit of time that each group may get; one number is every group's.
    exploration : float, default=0.05
        In the closed loop every material is polled at least at this share of ``capacity / n_materials``, so that one
        that a criterion gives nothing at its present estimate is not lost for good. `allocate` gives it nothing. It
        is not needed, and not used, where amounts are in proportion to the rates (detection without weights or bounds).
    memory, gain, evidence_limit, prior, rate_range, n_changes, age
        As in `ChangeRateEstimator`.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    rates_ : ndarray of shape (n_materials,)
        Changes per unit of time.
    amounts_ : ndarray of shape (n_materials,)
        Polls per unit of time that solve the problem at these rates; they sum to `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    J. Cho and H. Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28 (2003).

    Examples
    --------
    >>> from knapsolve import RateAllocator, simulate
    >>> from knapsolve.environments import PollingEnvironment, zipf_unchanged
    >>> allocator = RateAllocator()
    >>> history = simulate(allocator, PollingEnvironment(zipf_unchanged(50, .9, 1.5)), 5_000, random_state=0)
    >>> bool(history.value[0, -1] > .96)
    True
    >>> float(allocator.allocate(10).sum())
    10.0
    """

    _state_names = ("_model",)

    def __init__(
        self,
        capacity: float = 1.0,
        *,
        estimator: str = "recursive",
        criterion: str = "detection",
        balance: float = BALANCE,
        weights: Any = None,
        lower: Any = None,
        upper: Any = None,
        groups: Any = None,
        group_caps: Any = None,
        memory: float | None = None,
        gain: float = 0.2,
        evidence_limit: float | None = None,
        prior: str | tuple[float, float] = "pooled",
        rate_range: tuple[float, float] | None = None,
        exploration: float = 0.05,
        n_changes: int | str | None = None,
        age: int | str | None = None,
        n_materials: int | None = None,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.capacity = capacity
        self.estimator = estimator
        self.criterion = criterion
        self.balance = balance
        self.weights = weights
        self.lower = lower
        self.upper = upper
        self.groups = groups
        self.group_caps = group_caps
        self.memory = memory
        self.gain = gain
        self.evidence_limit = evidence_limit
        self.prior = prior
        self.rate_range = rate_range
        self.exploration = exploration
        self.n_changes = n_changes
        self.age = age
        self.n_materials = n_materials
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    @property
    def rates_(self) -> np.ndarray:
        """Change rates held now, (n_materials,), per unit of time."""
        check_is_fitted(self)
        with self._lock:
            return self._model.rates()

    @property
    def amounts_(self) -> np.ndarray:
        """Amounts that solve the problem at the present rates, (n_materials,), in polls per unit of time."""
        return self.allocate()

    def _amounts_at(self, capacity: float) -> np.ndarray:
        return self._problem(self.materials_).amounts(self.rates_, capacity)

    # -- what PollLogLearner asks for -----------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("estimator", self.estimator, ESTIMATORS)
        check_choice("criterion", self.criterion, tuple(CRITERIA))
        check_real("balance", self.balance, low=0.0, high=1.0)
        check_real("exploration", self.exploration, low=0.0, high=1.0)
        check_rate_parameters(self.memory, self.gain, self.evidence_limit, self.prior, self.rate_range)

    def _check_materials(self, materials: np.ndarray) -> None:
        self._problem(materials)

    def _check_log(self, X: Any, y: Any) -> tuple[Any, ...]:
        values, gaps, changed = check_poll_log(X, y, self.material, self.elapsed)
        check_elapsed(gaps, self.estimator)
        return values, gaps, changed, *complete_observations(X, gaps, changed, self.n_changes, self.age)

    @property
    def _atomic_rows(self) -> int:  # type: ignore[override]
        return self._model.atomic_rows

    def _start(self, n: int) -> None:
        forgetting = (self.memory, self.gain, self.evidence_limit)
        self._model = make_model(self.estimator, *forgetting, self.prior, self.rate_range)
        if n and isinstance(self._model, FilterModel):
            self._model.start(n, self.capacity / n)
        elif n:
            self._model.n_items = n

    def _resize(self, n: int) -> None:
        pass

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        model = self._model.fork()
        n = self.n_materials or int(max(codes.max() + 1, self.materials_.size))
        keep: Any = commit
        model.learn(Polls(codes, gaps, changed, None, *more), n, partial(keep, _model=model))

    def _problem(self, materials: np.ndarray) -> RateProblem:
        """The knapsack of these materials, its columns checked."""
        groups, caps = group_columns(self.groups, self.group_caps, materials)
        return RateProblem(
            self.criterion,
            per_material("weights", self.weights, materials, 1.0, low=0.0, high=1e140),
            per_material("lower", self.lower, materials, 0.0, low=0.0, high=1e140),
            per_material("upper", self.upper, materials, np.inf, low=0.0, finite=False),
            groups,
            caps,
            float(self.balance),
        )

    def _core(self) -> Any:
        capacity, n = float(self.capacity), self.materials_.size
        problem = self._problem(self.materials_).explored(self.exploration, capacity, n)
        if isinstance(self._model, LogModel):
            return self._refitting(problem, capacity)

        def solve() -> tuple[float, Any]:
            result = problem.solve(self._model.rates(), capacity)
            return result.price, np.append(result.group_prices, 0.0)[problem.groups]

        grouped = problem.groups is not None
        price = 1.0 if problem.proportional or grouped else problem.solve(self.rates_, capacity).price
        return RateLearner(
            self._model.view(),
            SHAPES[self.criterion],
            problem.proportional,
            capacity,
            problem.worth(capacity, n),
            problem.weights,
            problem.lower,
            problem.upper,
            price,
            solve if grouped else None,
        )

    def _refitting(self, problem: RateProblem, capacity: float) -> RefitLearner:
        """A compiled learner that fits its log again whenever it has grown by a quarter."""
        model = self._model
        model.n_items = self.materials_.size
        done = sum(int((part.codes >= 0).sum()) for part in model.parts)

        seldom = 0.0 if self.criterion == "harmonic" else problem.lower  # by it, nobody is lost
        bounds = [np.array(np.broadcast_to(each, model.n_items)) for each in (seldom, problem.upper)]

        def finish(*log: np.ndarray) -> np.ndarray:
            nonlocal done
            done += log[0].size
            rates = model.rates()
            learner.log_in(*model.open_part(max(model.n_items, done // 4)))
            learner.expect(rates, *bounds)
            return problem.amounts(rates, capacity)

        rates = model.rates()
        first = model.open_part(max(model.n_items, done // 4))
        learner = RefitLearner(problem.amounts(rates, capacity), *first, 0, finish)
        learner.expect(rates, *bounds)
        return learner
