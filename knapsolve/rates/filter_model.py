"""Rates kept up to date poll by poll, in a row of numbers an item."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from knapsolve._core.rate_filters import CHUNK, FIXED_COLUMNS, KINDS, POOL, RateFilter, pooled_rate
from knapsolve.rates.polls import Polls

GRID_POINTS = 73  # of the Bayes filter: eight a decade over nine decades
GRID_DECADES = (-4.0, 5.0)  # of the rates, relative to the first guess
PRIOR_CHANGES = {"recursive": 0.05, "bayes": 0.05, "multiplicative": 0.05}
SHARP = 2.0  # second difference of a log posterior from which it is sharper than the grid
PRESSED = 1.0  # rise of a log posterior in the last step towards an end of the grid, from which rates may lie beyond
QUANTILE_ROWS = 4096  # whose posteriors are looked at together
LOWEST, HIGHEST = 1e-140, 1e140  # rates of a filter
VALUE, QUIET, CURVATURE = 0, 1, 3  # columns of a recursive filter's rows, see csrc/rate_filter.h

Array = NDArray[np.float64]


class FilterModel:
    """A row of numbers an item, brought up to date poll by poll: O(1) a poll, whatever has gone before."""

    def __init__(
        self, estimator: str, memory: float, gain: float, limit: float, rate_range: tuple[float, float] | None
    ) -> None:
        self.estimator, self.memory, self.gain, self.limit = estimator, memory, gain, limit
        self.rate_range = rate_range
        self.n_items = 0  # in all; those before the first time that passes have no row yet
        self.n_rows = 0
        self.pool = np.zeros(POOL)  # changes, exposure, time of half a change to begin with (0: none yet), surprises
        self.rows = np.empty((0, FIXED_COLUMNS + (GRID_POINTS if estimator == "bayes" else 0)))

    def copy(self) -> FilterModel:
        """One that may change without changing this."""
        other = object.__new__(FilterModel)
        other.__dict__.update(vars(self), pool=self.pool.copy(), rows=self.rows.copy())
        return other

    def fork(self) -> FilterModel:
        """One that learns in this one's place: it shares the rows, and knows alone of those that it adds."""
        other = object.__new__(FilterModel)
        other.__dict__.update(vars(self))
        return other

    @property
    def atomic_rows(self) -> int:
        """Polls that the compiled filter learns without a look at signals."""
        return CHUNK // (1 + (self.rows.shape[1] - FIXED_COLUMNS) // 4)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "rows": self.rows[: self.n_rows].copy()}

    def start(self, n: int, guess: float) -> None:
        """Know n items from the start, each at the rate `guess`."""
        self.pool[2] = 0.5 / guess
        self.n_items = n
        self.reserve(n)
        self.view().admit(n)
        self.n_rows = n

    def reserve(self, n: int) -> None:
        """Room for n rows in all."""
        if n > self.rows.shape[0]:
            rows = np.zeros((max(n, min(2 * self.n_rows, n + 2**20)), self.rows.shape[1]))
            rows[: self.n_rows] = self.rows[: self.n_rows]
            self.rows = rows
        elif not self.rows.flags.writeable:  # loaded as a read-only memory map
            self.rows = self.rows.copy()
        if not self.pool.flags.writeable:
            self.pool = self.pool.copy()

    def grid(self) -> Array:
        """Rates of the Bayes filter's grid."""
        if self.estimator != "bayes":
            return np.empty(0)
        if self.rate_range is not None:
            return np.geomspace(*self.rate_range, GRID_POINTS)
        return 0.5 / self.pool[2] * np.logspace(*GRID_DECADES, GRID_POINTS)

    def view(self) -> RateFilter:
        """The compiled filter over this state."""
        return RateFilter(KINDS[self.estimator], self.rows, self.n_rows, self.pool, self.grid(),
                          PRIOR_CHANGES[self.estimator], self.memory, self.gain, self.limit)  # fmt: skip

    def learn(self, polls: Polls, n_items: int, commit: Callable[[], None]) -> None:
        """Learn from a batch. Polls before the first time that passes tell nothing: no rate has a unit yet."""
        first = 0
        if self.pool[2] == 0.0:
            passing = polls.elapsed > 0 if polls.weights is None else (polls.elapsed > 0) & (polls.weights > 0)
            first = int(np.argmax(passing)) if passing.any() else passing.size
            if first < passing.size:
                self.pool = np.zeros(POOL)
                self.pool[2] = 0.5 * polls.elapsed[first]
        known = max(self.n_items, int(polls.codes[:first].max(initial=-1)) + 1)
        self.n_items = n_items
        if self.pool[2] == 0.0:
            commit()
            return
        self.reserve(n_items)
        view = self.view()
        view.admit(known)
        rest = polls if first == 0 else polls.part(slice(first, None))

        self.n_rows = n_items
        view.learn(rest.codes, rest.elapsed, rest.changed, commit, rest.weights, rest.counts, rest.exposures)

    def rates(self) -> Array:
        """Rates (n_items,), per unit of time; 1 as long as no time has passed."""
        if self.estimator == "bayes" and self.n_rows:
            self._look_beyond()
        return self.rows[: self.n_rows, VALUE].clip(LOWEST, HIGHEST) if self.n_rows else np.ones(self.n_items)

    def _look_beyond(self) -> None:
        """Warn of posteriors that rise towards an end of the grid."""
        evidence = self.rows[: self.n_rows, FIXED_COLUMNS:]
        low, high = evidence[:, 0] - evidence[:, 1] > PRESSED, evidence[:, -1] - evidence[:, -2] > PRESSED
        if (low | high).any():
            ends = self.grid()[[0, -1]]
            warnings.warn(
                f"rate_range must reach the rates: {np.count_nonzero(low)} of {self.n_rows} seem to be below "
                f"{ends[0]:g} and {np.count_nonzero(high)} above {ends[1]:g}, where the grid of 'bayes' ends",
                stacklevel=4,
            )

    def new_rate(self) -> float:
        """The rate at which a new item would start."""
        return pooled_rate(self.pool) if self.pool[2] else 1.0

    def interval(self, shares: Array) -> Array:
        """Posterior quantiles (n_items, m) at ascending shares (m,)."""
        if self.estimator == "bayes" and self.n_rows:
            self._look_beyond()
            return self._grid_quantiles(shares)
        rates = self.rates()
        known = np.full(rates.size, PRIOR_CHANGES[self.estimator])
        if self.n_rows:
            known += self.rows[: self.n_rows, QUIET] + self.rows[: self.n_rows, CURVATURE]
        return gammaincinv(known[:, None], shares[None, :]) * (rates / known)[:, None]

    def _grid_quantiles(self, shares: Array) -> Array:
        """Quantiles of the posterior: linear in log L between grid points, normal where it is sharper than the grid."""
        points = np.log(self.grid())
        apart = points[1] - points[0]
        edges = np.concatenate([[points[0]], (points[1:] + points[:-1]) / 2, [points[-1]]])
        result = np.empty((self.n_rows, shares.size))
        for start in range(0, self.n_rows, QUANTILE_ROWS):
            evidence = self.rows[start : min(start + QUANTILE_ROWS, self.n_rows), FIXED_COLUMNS:]
            top = evidence.argmax(axis=1)
            mass = np.exp(evidence - evidence.max(axis=1, keepdims=True))
            below = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
            below = np.column_stack([np.zeros(len(below)), below])
            for k, row in enumerate(below):
                result[start + k] = np.interp(shares, row, edges)
            inner = np.clip(top, 1, points.size - 2)
            around = np.take_along_axis(evidence, inner[:, None] + np.array([-1, 0, 1]), axis=1)
            left, right = around[:, 1] - around[:, 0], around[:, 1] - around[:, 2]
            bend = left + right
            sharp = (inner == top) & (bend > SHARP)
            mode = points[inner] + apart * 0.5 * (left - right) / np.where(sharp, bend, 1.0)
            normal = mode[:, None] + apart * ndtri(shares) / np.sqrt(np.where(sharp, bend, 1.0))[:, None]
            result[start : start + len(below)][sharp] = normal[sharp]
        return np.exp(result)
