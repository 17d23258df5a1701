"""LAKG: a game of learning automata that fills the knapsack."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from knapsolve._core.automata import KnapsackGame
from knapsolve._validation import check_integer, check_real, check_states
from knapsolve.learners.base import PollLogLearner

MAX_RESOLUTION = 2**26  # a table of amounts has as many entries
SMALLEST_BITS = 40  # the smallest amount is at least 2^-40
LARGEST_BITS = 62  # of the sum of all amounts held
FRACTION_BITS = 55  # an amount of 1 is 2^55 units when capacity <= 1; a sum may reach 256 capacities


class LAKG(PollLogLearner):
    """Learning Automata Knapsack Game.

    Each material has an automaton in state ``s`` of ``1..resolution`` and the amount
    ``(s / resolution) ** exponent``. A poll that finds a change moves its automaton up while the knapsack is
    not full; one that finds none moves it down while it is full. At rest every material's chance of a change
    is the same, which maximises the expected number of changes found.

    It must choose the polls itself: it learns from how often the polls *at its own amounts* find a change, and does
    not look at the elapsed time. From a log polled some other way, learn by `OptimalPolicy` or `EstimatorPolicy`.

    Parameters
    ----------
    resolution : int, default=1500
        Number of states of each automaton: finer is more accurate and slower. It must grow with the number of
        materials: ``n_materials * resolution ** -exponent`` may not exceed `capacity`.
    exponent : float, default=1.3
        How much finer small amounts are resolved than large ones (the papers' lambda or gamma).
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from
        the start. By default materials are admitted as they appear in the log.
    capacity : float, default=1.0
        Polls per unit of time; one material gets at most 1 (choose the unit of time accordingly).
    random_state : None, int, RandomState or Generator, default=None
        Not used by LAKG itself, which is deterministic given a log; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    states_ : ndarray of shape (n_materials,), int32
        State of each automaton.
    amounts_ : ndarray of shape (n_materials,)
        Amounts held now, in polls per unit of time; they sum to about `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    n_features_in_ : int
        Number of columns seen.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen, "Determining optimal polling frequency using a learning automata-based
    solution to the fractional knapsack problem", IEEE CIS 2006, section II.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve import LAKG
    >>> X = np.array([["news", 1.0], ["rules", 1.0], ["news", 1.0], ["rules", 1.0]], dtype=object)
    >>> learner = LAKG(resolution=10).fit(X, [1, 0, 1, 0])
    >>> learner.materials_.tolist(), learner.states_.tolist()
    (['news', 'rules'], [8, 3])
    >>> float(learner.allocate(20).sum())
    20.0
    """

    _state_names = ("states_",)

    def __init__(
        self,
        *,
        resolution: int = 1500,
        exponent: float = 1.3,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.resolution = resolution
        self.exponent = exponent
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def _check_parameters(self) -> None:
        check_integer("resolution", self.resolution, low=2, high=MAX_RESOLUTION)
        check_real("exponent", self.exponent, low=0, low_open=True)
        if self.exponent * math.log2(self.resolution) > SMALLEST_BITS:
            highest = SMALLEST_BITS / math.log2(self.resolution)
            raise ValueError(
                f"exponent must be at most {highest:.4g} at resolution={self.resolution}, got {self.exponent!r}"
            )
        if self.n_materials is not None:
            self._check_known(self.n_materials)

    def _check_known(self, n: int) -> None:
        """Raise if the parameters do not go with n materials in all."""
        self._check_resolution(n)
        if self.capacity > n:
            raise ValueError(f"capacity must be at most {self._too_much(n)}")

    def _check_resolution(self, n: int) -> None:
        smallest = float(self.resolution) ** -self.exponent
        if n * smallest > self.capacity * (1 + 1e-12):
            needed = math.exp(min(700.0, math.log(n / self.capacity) / self.exponent))
            for_these = f"for {n} materials at capacity={self.capacity:g}"
            if needed > MAX_RESOLUTION:
                least = math.ceil(1e4 * math.log(n / self.capacity) / math.log(self.resolution)) / 1e4
                asked = f"exponent must be at least {least:.4f} {for_these} and resolution={self.resolution}"
                raise ValueError(f"{asked}, got {self.exponent:g}: even their smallest amounts overfill the knapsack")
            raise ValueError(
                f"resolution must be at least {np.ceil(needed):g} {for_these} and exponent={self.exponent:g}, "
                f"got {self.resolution}: even their smallest amounts overfill the knapsack"
            )

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Amount of each state, as a float and in units."""
        form = (self.resolution, self.exponent)
        table = self._keep("table", form, lambda: (np.arange(self.resolution + 1) / self.resolution) ** self.exponent)
        states = getattr(self, "states_", np.empty(0, dtype=np.int32))
        check_states(states, self.resolution)
        most = min(self.capacity, states.size)  # that can be held
        bits = FRACTION_BITS - max(0, int(np.frexp(most)[1]))
        if LARGEST_BITS - int(np.frexp(states.size)[1]) < bits:  # amounts of 1 would not fit, those held may
            held = float(table[states].sum())  # more than a few capacities only if the capacity was lowered
            bits = min(bits, LARGEST_BITS - int(np.frexp(held)[1]))
        return table, self._keep("units", (*form, bits), lambda: np.rint(np.ldexp(table, bits)).astype(np.uint64))

    def _start(self, n: int) -> None:
        self.states_ = np.empty(0, dtype=np.int32)
        if n:
            self._check_known(n)
            table, _ = self._tables()
            state = max(1, int(np.searchsorted(n * table, self.capacity, side="right")) - 1)
            self.states_ = np.full(n, min(state, self.resolution), dtype=np.int32)

    def _too_much(self, n: int) -> str:
        return (
            f"the number of materials, {n}, since none gets more than 1, got {self.capacity:g}: measure capacity and "
            "elapsed in a shorter unit of time"
        )

    def _resize(self, n: int) -> None:
        self._check_resolution(n)
        if self.capacity > n > 0:  # no error: more materials may come
            message = f"nothing to choose from: capacity exceeds {self._too_much(n)}"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        if n > self.states_.size:
            self.states_ = np.concatenate([self.states_, np.ones(n - self.states_.size, dtype=np.int32)])

    def _core(self) -> KnapsackGame:
        table, units = self._tables()
        return KnapsackGame(self.states_, self.materials_.size, table, units, self.exponent, self.capacity)
