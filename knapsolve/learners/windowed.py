"""Rates fitted anew on the latest polls, now and then, and amounts that are best for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from knapsolve._core.policies import FixAnew
from knapsolve._validation import check_choice, check_integer
from knapsolve.criteria import Harmonic
from knapsolve.learners.base import PollLogLearner, share_out
from knapsolve.nefk import solve_nefk
from knapsolve.rates import censored_rates

RATIOS = 1e-100, 1e100  # of a rate to the capacity
# changes by which a rate is drawn towards the pooled one; an item in proportion to too low a rate is never looked at
PRIORS = {"harmonic": 0.5, "proportional": 1.0}
Log = tuple[np.ndarray, np.ndarray, np.ndarray]  # materials, elapsed, changed


class WindowedRatePolicy(PollLogLearner):
    """Fit every rate anew after so many polls, on the latest polls alone, and poll by what is best for the rates.

    Until the first fit all materials are polled equally often. With ``window == every`` and ``max_fits=1`` the rates
    are fitted once: LambdaCrawl's policy of complete information, by the harmonic criterion.

    Parameters
    ----------
    criterion : {"harmonic", "proportional"}, default="harmonic"
        Amounts of least harmonic staleness at the fitted rates, or in proportion to them.
    window : int, default=10000
        Number of polls that a fit looks back on.
    every : int, default=1000
        Polls between two fits; at most `window`.
    max_fits : int, optional
        Number of fits after which amounts stay; no limit by default.
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
        Amounts held now, in polls per unit of time; a newcomer has the mean one until the next fit.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Kolobov et al., "Staying up to date with online content changes using reinforcement learning for scheduling",
    NeurIPS 2019. Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003.

    Examples
    --------
    >>> from knapsolve.learners import WindowedRatePolicy
    >>> policy = WindowedRatePolicy(window=4, every=4, criterion="proportional")
    >>> policy.fit([[0, 1], [1, 1], [0, 1], [1, 1]], [1, 0, 1, 0]).allocate().round(3).tolist()
    [0.906, 0.094]
    """

    def __init__(
        self,
        *,
        criterion: str = "harmonic",
        window: int = 10_000,
        every: int = 1_000,
        max_fits: int | None = None,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.criterion = criterion
        self.window = window
        self.every = every
        self.max_fits = max_fits
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    @property
    def amounts_(self) -> np.ndarray:
        """Amounts held now, (n_materials,), in polls per unit of time."""
        self._check_ready()
        with self._lock:
            shares: np.ndarray = np.full(self.materials_.size, self._shares.mean() if self._shares.size else 1.0)
            shares[: self._shares.size] = self._shares
            return share_out(shares, self.capacity)

    def _check_parameters(self) -> None:
        check_choice("criterion", self.criterion, PRIORS)
        check_integer("window", self.window, low=1, high=10**8)
        check_integer("every", self.every, low=1, high=self.window)
        if self.max_fits is not None:
            check_integer("max_fits", self.max_fits, low=1)

    def _start(self, n: int) -> None:
        self._log: Log = (np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8))  # complete blocks of `every`
        self._block: Log = self._log  # polls since; rows that a simulation has not filled hold material -1
        self._shares: np.ndarray = np.empty(0)
        self._n_blocks = 0

    def _resize(self, n: int) -> None:
        pass

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None]
    ) -> None:
        polls = codes.astype(np.int32), gaps.copy(), changed.astype(np.int8)
        block = _joined(_filled(self._block), polls)
        whole = block[0].size // self.every
        log, n_blocks = _joined(self._log, block), self._n_blocks + whole
        last = n_blocks if self.max_fits is None else min(n_blocks, self.max_fits)  # the fit that counts
        shares = self._shares
        if last > self._n_blocks:
            end = self._log[0].size + (last - self._n_blocks) * self.every
            shares = self._fit_shares(_part(log, slice(0, end)))
        end = self._log[0].size + whole * self.every
        kept = _part(_part(log, slice(0, end)), slice(-self.window, None))
        self._log, self._block = kept, _part(log, slice(end, None))
        self._n_blocks, self._shares = n_blocks, shares
        commit()

    def _fit_shares(self, log: Log) -> np.ndarray:
        """Shares of the capacity at the end of `log`, for all materials known by then."""
        n = max(self.materials_.size, int(log[0].max()) + 1)
        rates = censored_rates(*_part(log, slice(-self.window, None)), n, PRIORS[self.criterion])
        if self.criterion == "proportional" or n < 2:
            return rates / rates.sum()
        with np.errstate(over="ignore", under="ignore"):
            per_poll = np.clip(rates / self.capacity, *RATIOS)
        return solve_nefk(Harmonic(per_poll), 1.0).amounts

    def _core(self) -> FixAnew:
        if _filled(self._block)[0].size >= self.every:  # that was lowered since
            self._learn_polls(*_part(self._log, slice(0)), lambda: None)
        block = _filled(self._block)
        done, missing = block[0].size, self.every - block[0].size
        empty = np.full(missing, -1, np.int32), np.zeros(missing), np.zeros(missing, np.int8)
        self._block = _joined(block, empty)  # the compiled policy goes on writing here
        return FixAnew(self.amounts_, *self._block, done, self._finish)

    def _finish(self, materials: np.ndarray, gaps: np.ndarray, changed: np.ndarray) -> np.ndarray:
        """Take over a full block, and return the amounts from now on."""
        log = _joined(self._log, (materials, gaps, changed))
        if self.max_fits is None or self._n_blocks < self.max_fits:
            self._shares = self._fit_shares(log)
        self._log = _part(log, slice(-self.window, None))
        self._n_blocks += 1
        self._block[0][:] = -1
        return self.amounts_


def _filled(log: Log) -> Log:
    filled = log[0] >= 0
    return log[0][filled], log[1][filled], log[2][filled]


def _joined(log: Log, more: Log) -> Log:
    material, gaps, changed = (np.concatenate(pair) for pair in zip(log, more))
    return material, gaps, changed


def _part(log: Log, rows: slice) -> Log:
    return log[0][rows], log[1][rows], log[2][rows]
