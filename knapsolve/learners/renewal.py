"""The renewal index policy: what to poll now, by how likely and how useful it is to find a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from knapsolve._core.renewal import RenewalIndex
from knapsolve._validation import check_integer, check_real, check_vector
from knapsolve.criteria import Detection
from knapsolve.learners.base import PollLogLearner, share_out
from knapsolve.nefk import solve_nefk
from knapsolve.schedulers.shortlist import Shortlist, largest

STATE = 9  # numbers an item: counts (3), exposures (3), time of the last poll, rate, slot of the last poll
LEAST_RATIO, LARGEST_RATIO = 1e-100, 1e100  # of the capacity to that at the first poll


class RenewalIndexPolicy(PollLogLearner):
    """Poll one item every ``1 / capacity``: always the one whose index is the largest.

    Each item's rate L of changes is followed by a cascade of forgetting Gamma filters, which shrinks it towards the
    pooled rate P of all items. With ``u = L * (time since its last poll)`` and each item's share of the polls
    ``B = capacity / n_materials``, its index is ::

        (1 - (1 + u) * exp(-u)) * ((1 - balance) + balance * min(P, B / 4) / L)

    The first bracket is the gain in changes found from one more poll; over L, in time that the copy is current. Being
    current for the mean time 1 / P between changes is worth balance / (1 - balance) changes found, or less where there
    are not four polls for each change: then it is changes that count. Changes come in bursts that run through many
    items: time runs by the changes that the last polls found over those that were expected.

    The budget is met exactly. Times count in units of mean gaps between an item's polls, so that nothing depends on
    the clock's unit. There is nothing to tune to the data, and no training: it polls from a cold start, and items may
    come at any time.

    Parameters
    ----------
    balance : float, default=0.8
        What is wanted: 0, as many detected changes as possible; 1, copies that are current as long as possible.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from the start.
        By default materials are admitted as they appear in the log.
    capacity : float, default=1.0
        Polls per unit of time. Poll k of a log is taken to have been made at time ``k / capacity``.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    rates_ : ndarray of shape (n_materials,)
        Change rates that polling goes by, in changes per unit of time; of a material that was never polled,
        four times the pooled rate. The latest polls count most, and quiet materials' rates are held too high, so that
        none is forgotten: `ChangeRateEstimator` estimates rates from the same log.
    amounts_ : ndarray of shape (n_materials,)
        Long-run amounts at these rates, in polls per unit of time; they sum to `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    n_features_in_ : int
        Number of columns seen.

    References
    ----------
    Cho and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28(4), 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve import RenewalIndexPolicy
    >>> X = np.array([["news", 1.0], ["rules", 2.0], ["news", 2.0], ["rules", 2.0]], dtype=object)
    >>> policy = RenewalIndexPolicy(capacity=1.0).fit(X, [1, 0, 1, 0])
    >>> policy.materials_[policy.suggest()].tolist()
    ['news']
    """

    _state_names = ("items_", "numbers_")

    def __init__(
        self,
        *,
        balance: float = 0.8,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.balance = balance
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    @property
    def rates_(self) -> np.ndarray:
        """Change rates that polling goes by, (n_materials,), in changes per unit of time."""
        check_is_fitted(self)
        with self._lock:
            return _times(self._core().rates(), self._first_capacity)

    def suggest(self, n: int = 1, *, ages: Any = None) -> np.ndarray:
        """What to poll now.

        Parameters
        ----------
        n : int, default=1
            How many materials.
        ages : array-like of shape (n_materials,), optional
            Time since each material's last poll. By default they follow from the order of the polls, one every
            ``1 / capacity``, and from what they found.

        Returns
        -------
        materials : ndarray of shape (n,), intp
            Positions in `materials_`, the largest index first; of equal ones the longest unpolled, then the first.
            Before the first poll, if `n_materials` is given, the first `n`.

        Raises
        ------
        NotFittedError
            If the policy has not seen any poll and `n_materials` is not given.
        ValueError, TypeError
            If `n` is not an integer from 1 to the number of materials, an age is negative, or a parameter was changed
            to what `fit` would refuse.

        Examples
        --------
        >>> from knapsolve import RenewalIndexPolicy
        >>> policy = RenewalIndexPolicy().fit([[0, 1], [1, 2], [0, 2], [2, 3]], [1, 0, 1, 0])
        >>> policy.suggest(2).tolist(), policy.suggest(ages=[0, 9, 0]).tolist()
        ([0, 1], [1])
        """
        if not self.__sklearn_is_fitted__() and self.n_materials is not None:
            self._check_all_parameters()
            return np.arange(check_integer("n", n, low=1, high=self.n_materials))
        check_is_fitted(self, msg="%(name)s is not fitted yet: call fit or partial_fit, or give n_materials")
        self._check_all_parameters()
        with self._lock:
            return self._best(n, ages)

    def _best(self, n: int, ages: Any) -> np.ndarray:
        """The n materials of the largest index."""
        size = self.materials_.size
        n = check_integer("n", n, low=1, high=size)
        if ages is not None:
            slots = _times(check_vector("ages", ages, low=0, high=1e100, size=size), self._first_capacity)
            return largest(self._core().indices(slots), -slots, np.arange(size), n)
        shortlist = self.__dict__.setdefault("_shortlist", Shortlist())
        return shortlist.best(self._core(), self.items_[:size], self._settings(), n)

    def _settings(self) -> tuple:
        """What the indices follow from beside the items: number, balance and capacities first."""
        fixed = (self.materials_.size, self.balance, self.capacity, self._first_capacity)
        return (*fixed, *self.numbers_.tolist())

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        before = self._settings()
        super()._learn_polls(codes, gaps, changed, commit, *more)
        if "_shortlist" in self.__dict__:
            self._shortlist.polled(before, self._settings(), codes)

    def _amounts_at(self, capacity: float) -> np.ndarray:
        return share_out(self._core().long_run(_ratio(capacity, self._first_capacity)), capacity)

    def _check_parameters(self) -> None:
        check_real("balance", self.balance, low=0, high=1)

    def _start(self, n: int) -> None:
        self._first_capacity = float(self.capacity)
        self.numbers_ = np.zeros(6)
        self.items_ = np.zeros((max(n, 2), STATE))

    def _resize(self, n: int) -> None:
        if n > self.items_.shape[0]:
            items = np.zeros((n, STATE))
            items[: self.items_.shape[0]] = self.items_
            self.items_ = items

    def _core(self) -> _Index:
        self._check_parameters()
        ratio = _ratio(self.capacity, self._first_capacity)
        return _Index(self.items_, self.numbers_, self.materials_.size, self.balance, self._first_capacity, ratio)


class _Index(RenewalIndex):
    """The compiled policy. Its amounts are those of the long run: every item polled when its index reaches a price."""

    def amounts(self) -> np.ndarray:
        return self.long_run(self.ratio) * self.slots

    def long_run(self, budget: float) -> np.ndarray:
        """Amounts (n_materials,) a slot whose sum is `budget`, in slots: an index is a weight times what one more
        poll a unit of time detects.
        """
        return solve_nefk(Detection(self.rates()), budget, weights=self.weights()).amounts


def _ratio(capacity: float, first: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.clip(np.float64(capacity) / first, LEAST_RATIO, LARGEST_RATIO))


def _times(values: np.ndarray, factor: float) -> np.ndarray:
    """The product, within the range of floats."""
    with np.errstate(over="ignore", under="ignore"):
        return np.minimum(values * factor, np.finfo(float).max)
