"""Passes in numpy, for criteria that no compiled kernel knows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices, Settled

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
        self.group, self.n_groups = problem.groups, len(problem.caps)

    def __enter__(self) -> ArrayPasses:
        return self

    def __exit__(self, *_: object) -> None:
        pass

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

    def bounds(self) -> tuple[float, float, int, Any]:
        """Sums of lower and of upper bounds, the first item whose bounds cross (or n), the sums by group."""
        crossed = self.lower > self.upper
        first = int(np.argmax(crossed)) if crossed.any() else self.n
        sums = None if self.group is None else self._by_group(self.lower, np.zeros(self.n), self.upper)
        return math.fsum(self.lower), float(self.upper.sum()), first, sums

    def worth(self, amounts: Array) -> tuple[Array, Array]:
        """Weighted value and derivative (n,) of amounts (n,); an item without weight has neither."""
        idle = self.weights == 0
        with np.errstate(invalid="ignore"):
            value, slope = (self.weights * f(amounts) for f in (self.criterion.value, self.criterion.derivative))
        return np.where(idle, 0.0, value), np.where(idle, 0.0, slope)

    def settle(self, prices: Prices, amounts: Any, side: NDArray[np.int8]) -> Settled:
        """Write the amounts and their sides, and check them."""
        self.count += 1
        low, high, share = (self._at(x) for x in (prices.low, prices.high, prices.share))
        x, slope = self._answer(high)
        if (low != high).any():
            other = self._answer(low)[0]
            x = np.minimum(x + share * (other - x), other)
        amounts[:] = x
        side[:] = np.where(x <= self.lower, -1, np.where(x >= self.upper, 1, 0))
        total = math.fsum(x)
        by_group = None if self.group is None else self._by_group(x)[:, 0]
        return Settled(total, float(slope.sum()), math.fsum(self.worth(x)[0]), self._violation(x, high), by_group)

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
