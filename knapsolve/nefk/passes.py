"""Passes over compiled items in fixed chunks: sums depend on the items alone, whatever the threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core

CHUNK = 32768  # items that one compiled call covers: a fraction of a millisecond
STRIPE = 4 * CHUNK  # items that one thread takes at a time
MOST_STEPS = 100  # passes over a chunk in one compiled call: tens of milliseconds
MOST_ROUGH = 4  # one in so many items of a chunk may be rough
GROUP_STRIPES = 8  # with groups, sums by group are kept for at most so many stripes


@dataclass(frozen=True)
class Prices:
    """Where the answer lies: x(high) + share (x(low) - x(high)); numbers, or one entry per group (g + 1,).

    Entry 0 of a table is for items without a group. Neighbouring doubles where the total jumps, else equal.
    """

    low: Any
    high: Any
    share: Any = 0.0


@dataclass(frozen=True)
class Settled:
    """What a settling pass found: totals of amount, slope and value, the violation, amounts by group (g + 1,)."""

    total: float
    slope: float
    value: float
    residual: float
    by_group: Any


class Passes:
    """The compiled items of one problem, and who works on them. Use as a context manager."""

    def __init__(
        self,
        items: core.Items,
        n: int,
        n_jobs: int = 1,
        group: NDArray[np.intp] | None = None,
        n_groups: int = 0,
    ) -> None:
        self.items, self.n, self.shape, self.count = items, n, items.shape, 0
        self.group, self.n_groups = group, n_groups
        stripe = STRIPE
        if group is not None:  # few enough stripes that their sums take less memory than the items
            stripes = max(1, min(GROUP_STRIPES, n // (4 * (n_groups + 1))))
            stripe = max(STRIPE, -(-n // (stripes * CHUNK)) * CHUNK)
        self._stripes = [(start, min(start + stripe, n)) for start in range(0, n, stripe)]
        jobs = min(n_jobs, len(self._stripes))
        self._pool = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def __enter__(self) -> Passes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _run(self, work: Callable[[int, int, Any], tuple], by_group: bool) -> tuple[list[tuple], Any]:
        """`work(start, stop, groups)` of every chunk in order, and the sums by group (g + 1, 3)."""
        self.count += 1
        tables: Any = np.zeros((len(self._stripes), self.n_groups + 1, 3)) if by_group else [None] * len(self._stripes)

        def stripe(bounds: tuple[int, int], table: Any) -> list[tuple]:
            starts = range(bounds[0], bounds[1], CHUNK)
            return [work(start, min(start + CHUNK, bounds[1]), table) for start in starts]

        run: Any = map if self._pool is None else self._pool.map
        parts = [part for chunk in run(stripe, self._stripes, tables) for part in chunk]
        if not by_group:
            return parts, None
        for table in tables[1:]:
            tables[0] += table
        return parts, tables[0]

    def _column(self, price: Any) -> core.Column:
        return core.Column(price, self.group) if isinstance(price, np.ndarray) else core.Column(float(price))

    def search(self, search: NDArray[np.float64]) -> None:
        """Take a search (8,) some steps further in one compiled call, where that does not take long."""
        if self.n <= CHUNK and self.group is None:
            self.count += core.search(self.items, self.n, search, MOST_STEPS)

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount at a price, and minus its derivative by log price (quadratic: by price)."""
        column = self._column(price)
        parts, _ = self._run(lambda a, b, _: core.respond(self.items, column, a, b), False)
        return fold(parts, 0), fold(parts, 2)

    def respond_by_group(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Amount, its low part, and slope by group (g + 1, 3), each group at its own price (g + 1,)."""
        column = self._column(prices)
        return self._run(lambda a, b, sums: core.respond(self.items, column, a, b, None, sums), True)[1]

    def settle(self, prices: Prices, amounts: np.ndarray, side: NDArray[np.int8]) -> Settled:
        """Write the amounts and their sides, and check them."""
        low, high, share = (self._column(x) for x in (prices.low, prices.high, prices.share))
        wide, narrow = (None, amounts) if amounts.dtype == np.float32 else (amounts, None)
        parts, sums = self._run(
            lambda a, b, groups: core.settle(self.items, low, high, share, a, b, wide, narrow, side, groups),
            self.group is not None,
        )
        by_group = None if sums is None else sums[:, 0] + sums[:, 1]
        residual = max((part[6] for part in parts), key=lambda x: (math.isnan(x), x))
        return Settled(fold(parts, 0), fold(parts, 2), fold(parts, 4), residual, by_group)

    def narrow(self, low: float, high: float, width: float, tolerance: float) -> tuple[Any, tuple[float, ...]]:
        """Items that are rough between two prices, and the others' amount and slope at the low, then the high one.

        None for the items if there are too many.
        """

        def work(a: int, b: int, _: Any) -> tuple:
            rough = np.empty(CHUNK // MOST_ROUGH, dtype=np.intp)
            found = core.narrow(self.items, low, high, width, tolerance, a, b, rough)
            return (*found[1:], rough[: found[0]].copy(), found[0] > len(rough))

        parts, _ = self._run(work, False)
        self.count += 1  # two prices
        sums = tuple(fold(parts, position) for position in (0, 2, 4, 6))
        return (None if any(part[9] for part in parts) else np.concatenate([part[8] for part in parts])), sums

    def bounds(self) -> tuple[float, float, int, Any]:
        """Sums of lower and of upper bounds, the first item whose bounds cross (or n), the sums by group."""
        parts, sums = self._run(
            lambda a, b, groups: (a, b, *core.bounds(self.items, a, b, groups)), self.group is not None
        )
        self.count -= 1  # a look at the bounds, not at the items
        crossed = next((part[6] for part in parts if part[6] < part[1]), self.n)
        return fold(parts, 2), fold(parts, 4), crossed, sums

    def worth(self, amounts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weighted value and derivative (n,) of amounts (n,)."""
        value, slope = np.empty(self.n), np.empty(self.n)
        self._run(lambda a, b, _: core.worth(self.items, a, b, amounts, value, slope) or (), False)
        return value, slope


def fold(parts: list[tuple], position: int) -> float:
    """The exact sum, rounded once, of the (high, low) pairs at a position of every part."""
    if not all(math.isfinite(part[position]) for part in parts):
        return sum(part[position] for part in parts)
    return math.fsum(term for part in parts for term in part[position : position + 2])
