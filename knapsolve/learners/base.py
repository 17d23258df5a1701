"""What every learner from poll logs shares: checking, identifiers, streaming, exact budgets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from knapsolve._arrays import has_rows, set_aside, writeable
from knapsolve._copies import own_copy
from knapsolve._frames import as_table
from knapsolve._identifiers import Positions, encode
from knapsolve._locks import Shared
from knapsolve._validation import (
    check_capacity,
    check_column_key,
    check_integer,
    check_material_numbers,
    check_poll_log,
    resolve_random_state,
)
from knapsolve.nefk.shares import share_out


def _nothing() -> None:
    """Nothing to put back."""


class PollLogLearner(Shared, BaseEstimator):
    """Base of the learners: `fit`, `partial_fit` and `allocate` over a poll log.

    A subclass has the constructor parameters `capacity`, `random_state`, `material`, `elapsed` and
    `n_materials`, keeps its state in the numpy arrays named by `_state_names`, and says

    - `_check_parameters()`: raises on bad constructor parameters;
    - `_start(n)`: sets the state for `n` materials known from the start (0: none yet);
    - `_resize(n)`: makes room in the state for `n` materials in all;
    - `_core()`: the compiled learner, a view over the state.

    Threads may share a learner: who changes or reads its state holds `_lock`.
    """

    capacity: float
    random_state: Any
    material: int | str
    elapsed: int | str
    n_materials: int | None
    materials_: np.ndarray
    _lookup: Positions | None = None  # made when first needed
    _state_names: tuple[str, ...] = ()
    _row_axes: ClassVar[Mapping[str, int | None] | None] = None  # of rows (0: unsaid), if a batch changes its own alone
    _atomic_rows = 65536  # a batch up to this size is learnt and committed in one step: it needs no copy

    # -- public ---------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> PollLogLearner:
        """Forget everything and learn from a poll log.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A material column and an elapsed column (time since that material's previous poll), in time order.
        y : array-like of shape (n_polls,)
            1 where the poll found a change, 0 where not.

        Returns
        -------
        self : object
            The fitted learner.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the learner is as it was.
        """
        return self._learn(X, y, fresh=True)

    def partial_fit(self, X: Any, y: Any = None) -> PollLogLearner:
        """Go on learning from the next part of a poll log; new materials are admitted.

        ``fit(A + B)`` equals ``fit(A)`` followed by ``partial_fit(B)``, bit for bit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A material column and an elapsed column, in time order.
        y : array-like of shape (n_polls,)
            1 where the poll found a change, 0 where not.

        Returns
        -------
        self : object
            The learner.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the learner is as it was.
        """
        return self._learn(X, y, fresh=False)

    def allocate(self, capacity: float | None = None) -> np.ndarray:
        """Amounts that share out the capacity by what was learnt.

        They are in the proportions learnt, but for learners of rates (`RenewalIndexPolicy`, `RateAllocator`): these
        give what is best at that capacity, which may be 0 where it is scarce.

        Parameters
        ----------
        capacity : float, optional
            Polls per unit of time; the constructor's capacity by default.

        Returns
        -------
        amounts : ndarray of shape (n_materials,)
            Polls per unit of time, in the order of `materials_`; ``math.fsum(amounts) == capacity``.

        Raises
        ------
        NotFittedError
            If the learner has not seen any poll.
        ValueError, TypeError
            If `capacity` is not a positive number, or (InfeasibleError) the learner's bounds do not allow it, or a
            parameter was changed to what `fit` would refuse.
        """
        self._check_ready()
        budget = check_capacity(self.capacity if capacity is None else capacity)
        with self._lock:
            return self._amounts_at(budget)

    @property
    def amounts_(self) -> np.ndarray:
        """Amounts held now, (n_materials,), in polls per unit of time."""
        self._check_ready()
        with self._lock:
            return self._core().amounts()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "materials_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # y is 0 or 1
        return tags

    # -- what subclasses say ----------------------------------------------------

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _start(self, n: int) -> None:
        raise NotImplementedError

    def _resize(self, n: int) -> None:
        raise NotImplementedError

    def _core(self) -> Any:
        raise NotImplementedError

    def _amounts_at(self, capacity: float) -> np.ndarray:
        """What `allocate` gives at a capacity, (n_materials,): the amounts held, in proportion."""
        return share_out(self.amounts_, capacity)

    def _check_materials(self, materials: np.ndarray) -> None:
        """Raise if the constructor parameters do not go with the identifiers (n_materials,)."""

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        """Learn from checked polls (n_polls,) of materials 0..n-1, in time order; then commit."""
        self._core().learn(codes, gaps, changed, self._generator, commit)

    def _check_log(self, X: Any, y: Any) -> tuple[Any, ...]:
        """Material column, elapsed (n_polls,), outcomes (n_polls,) of a log and what else is learnt, or raise."""
        return check_poll_log(X, y, self.material, self.elapsed)

    # -- how learning goes --------------------------------------------------------

    def _begin(self, n: int) -> None:
        """State for a fresh run over materials 0..n-1 (for simulation)."""
        self._check_all_parameters()
        if self.n_materials is not None and self.n_materials != n:
            raise ValueError(f"n_materials must be None or {n}, as in the environment, got {self.n_materials}")
        before = dict(vars(self))
        try:
            self._forget()
            self.materials_ = np.arange(n)
            self._start(n)
            self._check_materials(self.materials_)
        except BaseException:
            self.__dict__ = before
            raise

    def _check_ready(self) -> None:
        """Raise if it is not fitted, or a parameter was changed since to what `fit` would refuse."""
        check_is_fitted(self)
        self._check_all_parameters()

    def _check_all_parameters(self) -> None:
        check_capacity(self.capacity)
        if self.n_materials is not None:
            check_integer("n_materials", self.n_materials, low=1, high=2**30)
        for role in ("material", "elapsed"):
            check_column_key(role, getattr(self, role))
        self._check_parameters()

    def _learn(self, X: Any, y: Any, fresh: bool) -> PollLogLearner:
        with self._lock:
            self._refuse_in_turn()
            self._learn_alone(X, y, fresh or not self.__sklearn_is_fitted__())
        return self

    def _learn_alone(self, X: Any, y: Any, fresh: bool) -> None:
        """Learn a log, or raise with the learner as it was; what the learner holds changes in one step."""
        self._check_all_parameters()
        first = fresh or not hasattr(self, "n_features_in_")  # or a simulation has begun it
        X = as_table(X)
        if not first and len(getattr(X, "shape", ())) == 2:  # else _check_log says what is wrong
            validate_data(self, X, reset=False, skip_check_array=True)
        values, gaps, changed, *more = self._check_log(X, y)
        before = vars(self).copy()
        undo: Callable[[], None] = partial(setattr, self, "__dict__", before)
        materials = None
        try:
            if first:
                validate_data(self, X, y, reset=True, skip_check_array=True)
            if fresh:
                self._forget()
            bits = self._generator.bit_generator
            undo = partial(self._undo, before, bits, bits.state)
            codes, known = self._encode(values)
            if not fresh and gaps.size > self._atomic_rows:
                undo = partial(undo, self._set_aside(before, codes))
            self._resize(known.size)
            self._check_materials(known)
            materials = known.view()  # a new object, which tells whether it was committed
            self._learn_polls(codes, gaps, changed, partial(self.__dict__.update, materials_=materials), *more)
        except BaseException:
            if materials is None or self.materials_ is not materials:
                try:
                    undo()
                finally:  # if that was interrupted too
                    undo()
            raise

    def _set_aside(self, before: dict[str, Any], codes: np.ndarray) -> Callable[[], None]:
        """Copy what a batch of these materials will change; what puts that back."""
        arrays = {name: before[name] for name in self._state_names}
        n = before["materials_"].size
        rows = np.unique(codes[codes < n])
        if self._row_axes is not None and 4 * rows.size < n and has_rows(arrays, n, self._row_axes):
            return set_aside(arrays, rows, self._row_axes)
        self.__dict__.update((name, array.copy()) for name, array in arrays.items())
        return _nothing

    def _undo(
        self, before: dict[str, Any], bits: np.random.BitGenerator, state: Any, put_back: Callable[[], None] = _nothing
    ) -> None:
        """Back to what the learner held before a batch: its random numbers, lookup, state and attributes."""
        bits.state = state
        put_back()
        lookup = before.get("_lookup")
        if lookup is not None:
            lookup.shrink(before["materials_"].size)
        self.__dict__ = before

    def _keep(self, name: str, settings: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What `make` says of these settings, kept until they change; copies and pickles leave it behind."""
        kept = self.__dict__.setdefault("_kept", {})
        if name not in kept or kept[name][0] != settings:
            kept[name] = settings, make()
        return kept[name][1]

    def _forget(self) -> None:
        """Back to the state before the first poll."""
        self._lookup = None
        n = self.n_materials or 0
        self.materials_ = np.arange(n)
        self._generator = resolve_random_state(self.random_state)
        self._start(n)

    def _encode(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the identifiers, and all materials known with them, in order of first appearance."""
        known = self.materials_
        if self.n_materials is not None:
            if known.size != self.n_materials:
                raise ValueError(f"n_materials must stay at {known.size} until fit, got {self.n_materials}")
            return check_material_numbers(np.asarray(values), self.n_materials), known
        codes, known, self._lookup = encode(values, known, self._lookup)
        return codes, known

    def __copy__(self):
        with self._lock:
            return own_copy(self)

    def __setstate__(self, state):
        """As pickled; arrays that were mapped from a file for reading alone become the learner's own."""
        super().__setstate__(state)
        for name in self._state_names:
            if name in self.__dict__:
                self.__dict__[name] = writeable(self.__dict__[name])
