"""Passes over compiled items in fixed chunks: sums depend on the items alone, whatever the threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through

Slopes = NDArray[np.floating[Any]]  # they, and rough totals, guide steps: single precision does where room is short
CHUNK = 32768  # items that one compiled call covers: a fraction of a millisecond
MOST_CHUNKS, SHARES = 16, 2  # that one thread takes at a time, one in so many of its share of those that are left
FEW_CHUNKS = 8  # up to so many are halved: threads would have very different shares
MOST_STEPS = 100  # passes over a chunk in one compiled call: tens of milliseconds
MOST_ROUGH = 4  # one in so many items of a chunk may be rough


@dataclass(frozen=True)
class Prices:
    """Where the answer lies: x(high) + share (x(low) - x(high)).

    Neighbouring doubles where the total jumps, else equal. Criteria without kernels may have tables, one entry per
    group (g + 1,), of which entry 0 is for items without a group.
    """

    low: Any
    high: Any
    share: Any = 0.0


@dataclass(frozen=True)
class Settled:
    """What a settling pass found: totals of amount and value, the violation, the error of groups' totals."""

    total: float
    value: float
    residual: float
    over: float = 0.0


class Passes:
    """The compiled items of one problem, and how many threads work on them."""

    def __init__(self, items: core.Items, n: int, n_jobs: int = 1, even: tuple[float, float] | None = None) -> None:
        self._even = even  # bounds that are the same for all items
        self._bounds: tuple[float, float, int] | None = None  # known once they were asked for
        self.items, self.n, self.shape, self.count = items, n, items.shape, 0
        self._chunk = CHUNK // 2 if CHUNK < n <= FEW_CHUNKS * CHUNK else CHUNK
        self._jobs = max(min(n_jobs, -(-n // self._chunk)), 1)
        self._stripes = list(stripes_of(n, self._jobs, self._chunk))

    def _run(self, work: Callable[[int, int], tuple]) -> list[tuple]:
        """`work(start, stop)` of every chunk in order."""
        self.count += 1

        def stripe(part: slice) -> list[tuple]:
            starts = range(part.start, part.stop, self._chunk)
            return [work(start, min(start + self._chunk, part.stop)) for start in starts]

        return [part for chunk in work_through(stripe, self._stripes, self._jobs) for part in chunk]

    def search(self, search: NDArray[np.float64]) -> None:
        """Take a search (8,) to its end, or nearly so, in one compiled call, where that does not take long."""
        if self.n <= CHUNK:
            self.count += core.search(self.items, self.n, search, MOST_STEPS)

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount at a price, and minus its derivative by log price (quadratic: by price)."""
        column = core.Column(float(price))
        if self.n <= CHUNK:  # as models ask often
            self.count += 1
            total, low, slope, slope_low = core.respond(self.items, column, 0, self.n)
            return total + low, slope + slope_low if math.isfinite(slope) else slope
        parts = self._run(lambda a, b: core.respond(self.items, column, a, b))
        return fold(parts, 0), fold(parts, 2)

    def respond_sample(self, price: float, every: int) -> tuple[float, float, int]:
        """As `respond`, of one in so many of the items, in runs, and how many these are."""
        parts = self._run(lambda a, b: core.respond_sample(self.items, price, a, b, every * core.SAMPLE_RUN))
        self.count -= 1  # a part of one
        return fold(parts, 0), fold(parts, 2), sum(part[4] for part in parts)

    def respond_upwards(
        self, price: float, factor: float, least: float, most: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A price and others (m,), each `factor` times the one before, and the total at each, until that is no more
        than `least`; of few items. At most so many.
        """
        totals = np.empty(most)
        m = core.respond_upwards(self.items, self.n, price, factor, least, totals)
        self.count += m
        return price * factor ** np.arange(m), totals[:m]

    def settle(self, prices: Prices, amounts: np.ndarray, side: NDArray[np.int8] | None = None) -> Settled:
        """Write the amounts, and their sides unless that is None, and check them."""
        wide, narrow = (None, amounts) if amounts.dtype == np.float32 else (amounts, None)
        low, high, share = prices.low, prices.high, prices.share
        parts = self._run(lambda a, b: core.settle(self.items, low, high, share, a, b, wide, narrow, side))
        return Settled(fold(parts, 0), fold(parts, 2), worst(part[4] for part in parts))

    def share(
        self, groups_of: Callable[[slice], NDArray[np.intp]], table: NDArray[np.float64], amounts: Any, side: Any
    ) -> Settled:
        """Write the amounts that items share of what their groups take, by a table (g + 1, 2) as csrc/nefk_kernel.h has
        it, and their sides, and check them.
        """
        parts = self._run(
            lambda a, b: core.share_groups(self.items, groups_of(slice(a, b)), table, a, amounts, side)
        )
        return Settled(fold(parts, 0), fold(parts, 2), worst(part[4] for part in parts))

    def expand(self, price: float, half: float, tolerance: float) -> tuple[Any, tuple[float, ...]]:
        """Items that are rough within `half` of a price, None if they are too many, and the others' summed series."""

        def work(a: int, b: int) -> tuple:
            rough = np.empty(CHUNK // MOST_ROUGH + 1, dtype=np.intp)
            found = core.expand(self.items, price, half, tolerance, a, b, rough)
            return (*found[1:], rough[: found[0]].copy(), found[0] >= len(rough))

        parts = self._run(work)
        terms = tuple(fold(parts, position) for position in range(0, 10, 2))
        return (None if any(part[11] for part in parts) else np.concatenate([part[10] for part in parts])), terms

    def list_free(self, price: float, at_lower: bool) -> tuple[NDArray[np.intp], float, float]:
        """Items that upper bounds (`at_lower`: lower ones) do not hold at a price; what all take, and the held."""

        def work(a: int, b: int) -> tuple:
            listed = np.empty(b - a + 1, dtype=np.intp)
            count, *sums = core.list_free(self.items, price, at_lower, a, b, listed)
            return (listed[:count].copy(), *sums)

        parts = self._run(work)
        return np.concatenate([part[0] for part in parts]), fold(parts, 1), fold(parts, 3)

    def bounds(self) -> tuple[float, float, int]:
        """Sums of lower and of upper bounds, and the first item whose bounds cross (or n)."""
        if self._even is not None and self._even[0] <= self._even[1]:
            return self.n * self._even[0], self.n * self._even[1], self.n
        if self._bounds is not None:
            return self._bounds
        parts = self._run(lambda a, b: (a, b, *core.bounds(self.items, a, b)))
        self.count -= 1  # a look at the bounds, not at the items
        crossed = next((part[6] for part in parts if part[6] < part[1]), self.n)
        self._bounds = fold(parts, 2), fold(parts, 4), crossed
        return self._bounds

    def worth(self, amounts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weighted value and derivative (n,) of amounts (n,)."""
        value, slope = np.empty(self.n), np.empty(self.n)
        self._run(lambda a, b: core.worth(self.items, a, b, amounts, value, slope) or ())
        return value, slope


def parts_of(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Slices of `size` items, the last one perhaps shorter."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def stripes_of(n: int, jobs: int, chunk: int = CHUNK) -> Iterator[slice]:
    """What one thread takes at a time: large parts, as threads that write to new memory side by side hinder each other,
    but less and less of what is left, so that none is waited for longer than it takes a chunk, if it is at least half
    as fast as the others (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers 36 (1987)).
    """
    start = 0
    while start < n or not start:
        share = -(-(n - start) // (SHARES * jobs * chunk)) if jobs > 1 else MOST_CHUNKS
        size = min(max(share, 1), MOST_CHUNKS) * chunk
        yield slice(start, min(start + size, n))
        start += size


def worst(violations: Iterable[float]) -> float:
    """The largest, or NaN if one is."""
    values = list(violations)
    return math.nan if any(map(math.isnan, values)) else max(values, default=0.0)


def fold(parts: list[tuple], position: int) -> float:
    """The exact sum, rounded once, of the (high, low) pairs at a position of every part."""
    highs, lows = ([part[k] for part in parts] for k in (position, position + 1))
    return math.fsum(highs + lows) if all(map(math.isfinite, highs)) else sum(highs)
