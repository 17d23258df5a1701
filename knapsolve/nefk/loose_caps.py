"""Caps that are surely loose are dropped before items are put in order by group: their groups cost no more than none.

Totals by group are taken in the order of the items, without sorting them, at a price that is surely below the answer's:
what a group takes falls with the price, so a cap that is loose there is loose at the answer too. The other groups are
few unless their caps bind.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk import narrow
from knapsolve.nefk.passes import CHUNK
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import step_beside

Array = NDArray[np.float64]
PART = 8192  # items whose amounts stay in the second-level cache
SAMPLE = 64  # a price is guessed on one in so many items, within the next two
LEAST_SAMPLE, MOST_SAMPLE = 8192, 32768
LARGE = 512  # groups of so many items and more are sampled by items, smaller ones whole
SAMPLE_STEPS = 8
FEW = 32  # items of no group are all sampled if they are at most one in so many
ROUGHLY = 3e-3  # relative gap of the sample's total that ends its search
MARGIN = 0.25  # how far below the last step's end the next price lies, over the step
LEAST_MARGIN, MOST_MARGIN = 3e-3, 0.5  # in log price
ERROR = 1.0  # margin of a sample's price times the square root of its size
NEAR = 4.5e-2  # a step so short ends near the answer
SURE = 1e-8  # relative gap of a plain sum that tells for sure on which side it is
TRIES = 3


@dataclass(frozen=True)
class Found:
    """A price below the answer's, and what every group takes there and its slope, (g + 1,) each."""

    price: float
    total: Array
    slope: Array


class GroupTotals:
    """Totals by group of items in the order in which they are. Answers prices as GroupPasses do."""

    def __init__(self, problem: Problem, items: Any, n_jobs: int = 1) -> None:
        self.problem, self.items, self.shape, self.n_jobs, self.count = problem, items, items.shape, n_jobs, 0
        self.caps = np.concatenate([[np.inf], problem.caps])
        counts, self.in_order, last = np.zeros(len(self.caps), dtype=np.uint32), True, -1
        for part in _parts(problem.n, CHUNK):
            chunk = self.groups(part)
            core.count_groups(chunk, counts)
            self.in_order = self.in_order and bool(last <= chunk[0] and (chunk[1:] >= chunk[:-1]).all())
            last = chunk[-1]
        self.sizes = counts

    def groups(self, part: slice) -> NDArray[np.intp]:
        """Groups of the items of a part."""
        return np.ascontiguousarray(self.problem.groups[part], dtype=np.intp)

    def bounds_by_group(self) -> tuple[Array, Array]:
        """Sums of lower and of upper bounds, which are one number for all items, by group (g + 1,) each."""
        lower, upper = self.sizes.astype(np.float64), np.zeros(len(self.caps))
        np.multiply(lower, self.problem.upper, out=upper, where=lower > 0.0)
        np.multiply(lower, self.problem.lower, out=lower)
        return lower, upper

    def respond(self, price: float) -> tuple[Array, Array]:
        """What every group takes at a price, and minus its derivative, (g + 1,) each; summed in the items' order."""
        sums = np.zeros((len(self.caps), 2))
        self.count += 1
        for part, taken in self._amounts(price):
            core.add_by_group(self.groups(part), taken, sums)
        return sums[:, 0], sums[:, 1]

    def _amounts(self, price: float) -> Iterator[tuple[slice, Array]]:
        """Amounts and slopes (2, m) of one part of the items after the other; good until the next is asked for."""
        jobs = min(self.n_jobs, -(-self.problem.n // CHUNK))
        size = PART if jobs < 2 else CHUNK
        buffers = np.empty((max(jobs, 1), 2, size))

        def fill(part: slice, buffer: Array) -> tuple[slice, Array]:
            m = part.stop - part.start
            taken = buffer if m == size else np.empty((2, m))
            core.respond_each(self.items, price, part.start, part.stop, taken)
            return part, taken

        parts = _parts(self.problem.n, size)
        if jobs < 2:
            yield from map(fill, parts, itertools.repeat(buffers[0]))
            return
        with ThreadPoolExecutor(jobs) as pool:
            while wave := list(itertools.islice(parts, jobs)):
                yield from list(pool.map(fill, wave, buffers))


def _parts(n: int, size: int) -> Iterator[slice]:
    """Slices of `size` items, the last one perhaps shorter."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


class SampledTotals:
    """T of a sample of the items, scaled up: some small groups whole, and some items of every large one.

    Items of no group, if they are few, are all in it: where caps bind, the price depends on them.
    """

    def __init__(self, totals: GroupTotals) -> None:
        problem, sizes = totals.problem, totals.sizes
        every = -(-problem.n // min(max(problem.n // SAMPLE, LEAST_SAMPLE), MOST_SAMPLE))
        large = sizes >= LARGE
        large[0] = sizes[0] * FEW > problem.n  # its items are no group
        chosen = large.copy()
        chosen[0], chosen[1::every] = True, True
        which = _sampled_items(problem, np.roll(large, -1), np.roll(chosen, -1), every)
        names = np.roll(np.cumsum(chosen) - 2, -1)
        caps = np.where(large, totals.caps / every, totals.caps)[1:][chosen[1:]]
        part = replace(problem.take(which, problem.capacity), groups=names[problem.groups[which]], caps=caps)
        self.totals = GroupTotals(part, part.criterion._items_of(part, None))
        self.every, self.ungrouped = float(every), float(every if large[0] else 1)

    def respond(self, price: float) -> tuple[float, float, float]:
        """T, its slope and its part that caps hold at a price, roughly."""
        total, slope = self.totals.respond(price)
        sums, more = [self.every * x for x in capped_sums(self.totals, total, slope)], self.ungrouped - self.every
        return sums[0] + more * float(total[0]), sums[1] + more * float(slope[0]), sums[2]


def capped_sums(passes: Any, total: Array, slope: Array) -> tuple[float, float, float]:
    """T and its slope from those of the groups (g + 1,), and the part of T that caps hold."""
    loose = total <= passes.caps
    fixed = float(np.sum(passes.caps, where=~loose))
    return float(np.sum(total, where=loose)) + fixed, float(np.sum(slope, where=loose)), fixed


def _sampled_items(problem: Problem, large: Any, chosen: Any, every: int) -> NDArray[np.intp]:
    """Positions of all items of the chosen small groups, and of one in `every` items of large ones; the tables
    (g + 1,) end with the items of no group.
    """
    small, found = chosen & ~large, [np.arange(0, problem.n, every)]
    found[0] = found[0][large[problem.groups[found[0]]]]
    for part in _parts(problem.n if small.any() else 0, CHUNK):
        found.append(part.start + np.flatnonzero(small[problem.groups[part]]))
    return np.sort(np.concatenate(found))


def below_the_answer(totals: GroupTotals, search: Array) -> Found | None:
    """A price that is surely below the answer's and near it; None if a sample and a few steps do not lead to one."""
    sample, rough, shape = SampledTotals(totals), search.copy(), totals.shape
    rough[core.TOLERANCE] = ROUGHLY
    for _ in range(SAMPLE_STEPS):
        price = float(rough[core.PRICE])
        if rough[core.STATE] != core.RUNNING or not narrow.has_bracket(shape, price):
            break
        step_beside(rough, shape, *sample.respond(price))
    price, margin = float(rough[core.PRICE]), ERROR / math.sqrt(sample.totals.problem.n)
    for more in reversed(range(TRIES)):
        if not narrow.has_bracket(shape, price):
            return None
        low = narrow.bracket(shape, price, margin * narrow.size_of(shape, price))[0]
        if not (narrow.has_bracket(shape, low) and search[core.LOW] < low < search[core.HIGH]):
            return None
        found = None  # room for the next
        found, after = Found(low, *totals.respond(low)), search.copy()
        total, slope, fixed = capped_sums(totals, found.total, found.slope)
        after[core.PRICE] = low
        step_beside(after, shape, total, slope, fixed)
        price = float(after[core.PRICE])
        moved = narrow.moved_by(shape, low, price)
        if total > search[core.TARGET] * (1.0 + SURE) and (moved <= NEAR or not more):
            return found
        margin = min(max(MARGIN * moved, LEAST_MARGIN), MOST_MARGIN)
    return None


@dataclass(frozen=True)
class Reduced:
    """A problem of which only the caps of groups `kept` (k,) are left, and a price below its answer's."""

    kept: NDArray[np.intp]
    caps: Array
    found: list[Found]  # taken out when it has been used: it is large
    search: Array
    order: NDArray[np.uint32]
    offset: NDArray[np.uint32]
    count: int


def without_loose_caps(totals: GroupTotals, found: Found, search: Array) -> Reduced:
    """Drop the caps that are loose at a price below the answer's; put the items of the other groups in order."""
    problem, tight = totals.problem, found.total > totals.caps * (1.0 - SURE)
    kept = np.flatnonzero(tight[1:])
    names = np.full(len(totals.caps), -1, dtype=np.int32)  # of groups, -1 first
    names[1 + kept] = np.arange(kept.size)
    offset = np.zeros(kept.size + 2, dtype=np.uint32)
    np.cumsum(totals.sizes[1 + kept], out=offset[2:])
    offset[1:] += np.uint32(problem.n - int(offset[-1]))
    order, fill = np.empty(problem.n if kept.size else 0, dtype=np.uint32), offset[:-1].copy()
    for part in _parts(order.size, CHUNK):
        core.sort_into_groups(totals.groups(part), part.start, fill, order, names)
    at_price = [np.concatenate([[np.sum(sums, where=~tight)], sums[1 + kept]]) for sums in (found.total, found.slope)]
    search[core.PRICE] = found.price
    left = [Found(found.price, *at_price)]
    return Reduced(kept, problem.caps[kept], left, search, order, offset, totals.count)
