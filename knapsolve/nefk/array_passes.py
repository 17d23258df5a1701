"""Passes in numpy, for criteria that no compiled kernel knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import most_taken

Array = NDArray[np.float64]
CEILING = 1e250  # stands for an amount without end, so that sums stay finite
FEW_ULPS = 1e-15


class ArrayPasses:
    """What Passes do, by the methods of the criterion."""

    shape = core.QUADRATIC

    def __init__(self, problem: Any) -> None:
        self.n, self.criterion, self.count = problem.n, problem.criterion, 0
        self.weights, self.lower, upper = (
            np.broadcast_to(np.asarray(x, dtype=np.float64), problem.n)
            for x in (problem.weights, problem.lower, problem.upper)
        )
        self.upper = np.minimum(upper, self.criterion.limit)
        self.ceiling = np.minimum(self.upper, CEILING)
        self.group: Any = None if problem.groups is None else problem.groups.astype(np.intp)
        self.caps, self.n_groups = problem.caps, len(problem.caps)

    def search(self, search: Array) -> None:
        """Nothing is compiled here."""

    def guess(self, capacity: float) -> tuple[float, float]:
        """A price to begin with: the mean slope where all get the same."""
        even = np.clip(min(capacity / self.n, 1e300), self.lower, self.upper)
        slope = self.worth(np.ascontiguousarray(even))[1]
        slope = slope[np.isfinite(slope)]
        return 1.0, float(slope.mean()) if slope.size else 1.0

    def _at(self, price: Any) -> Array:
        return price[self.group + 1] if isinstance(price, np.ndarray) else np.full(self.n, float(price))

    def _answer(self, price: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            scaled = np.where(self.weights > 0, price / self.weights, np.where(price < 0, -np.inf, np.inf))
            x, slope = self.criterion._answer(scaled)
            slope = np.where((x > self.lower) & (x < self.ceiling), slope / self.weights, 0.0)
        return np.maximum(np.minimum(x, self.ceiling), self.lower), slope

    def _by_group(self, *columns: Array) -> Array:
        return np.column_stack([np.bincount(self.group + 1, x, self.n_groups + 1) for x in columns])

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount at a price, and minus its derivative."""
        self.count += 1
        x, slope = self._answer(self._at(price))
        return math.fsum(x), math.fsum(slope)

    def respond_by_group(self, prices: Array) -> Array:
        """Amount, zero, and slope by group (g + 1, 3), each group at its own price (g + 1,)."""
        self.count += 1
        x, slope = self._answer(self._at(prices))
        return self._by_group(x, np.zeros(self.n), slope)

    def bounds(self) -> tuple[float, float, int]:
        """Sums of lower and of upper bounds, and the first item whose bounds cross (or n)."""
        crossed = self.lower > self.upper
        first = int(np.argmax(crossed)) if crossed.any() else self.n
        return math.fsum(self.lower), float(self.upper.sum()), first

    def bounds_by_group(self) -> tuple[Array, float]:
        """Sums of lower bounds by group (g + 1,), and the most that all can take under their caps."""
        lower, upper = self._by_group(self.lower, self.upper).T
        return lower, most_taken(upper, self.caps)

    def worth(self, amounts: Array) -> tuple[Array, Array]:
        """Weighted value and derivative (n,) of amounts (n,); an item without weight has neither."""
        idle = self.weights == 0
        with np.errstate(invalid="ignore"):
            value, slope = (self.weights * f(amounts) for f in (self.criterion.value, self.criterion.derivative))
        return np.where(idle, 0.0, value), np.where(idle, 0.0, slope)

    def settle(self, prices: Prices, amounts: Any, side: NDArray[np.int8] | None = None) -> Settled:
        """Write the amounts, and their sides unless that is None, and check them."""
        self.count += 1
        low, high, share = (self._at(x) for x in (prices.low, prices.high, prices.share))
        x = self._answer(high)[0]
        if (low != high).any():
            other = self._answer(low)[0]
            x = np.minimum(x + share * (other - x), other)
        amounts[:] = x
        if side is not None:
            side[:] = np.where(x <= self.lower, -1, np.where(x >= self.upper, 1, 0))
        total = math.fsum(x)
        over = 0.0 if self.group is None else self._excess(self._by_group(x)[1:, 0], prices.high)
        return Settled(total, math.fsum(self.worth(x)[0]), self._violation(x, high), over)

    def _excess(self, taken: Array, price: Any) -> float:
        """Largest relative error of a group's total (g,): either way where its own price holds, else above the cap."""
        off = np.maximum(taken - self.caps, 0.0)
        if isinstance(price, np.ndarray):
            off = np.where(price[1:] > price[0], np.abs(taken - self.caps), off)
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.max(np.where(off > 0, off / self.caps, 0.0), initial=0.0))

    def _violation(self, x: Array, price: Array) -> float:
        """Largest relative violation: the price must lie between the slopes a few units to either side of x."""
        before, after = (
            self.worth(np.clip(x * (1.0 + e), 0.0, self.criterion.limit))[1] for e in (-FEW_ULPS, FEW_ULPS)
        )
        scale = np.maximum(np.abs(price), 1e-300)
        with np.errstate(all="ignore"):
            low = np.where((x > self.lower) & (before < price), (price - before) / scale, 0.0)
            high = np.where((x < self.upper) & (after > price), (after - price) / scale, 0.0)
        bad = np.where(self.lower < self.upper, np.maximum(low, high), 0.0)
        return float(np.max(bad))
