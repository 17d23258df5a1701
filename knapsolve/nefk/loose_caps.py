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
from knapsolve.nefk.passes import CHUNK, parts_of, sum_where
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LINEAR, step_beside

Array = NDArray[np.float64]
Slopes = NDArray[np.floating[Any]]  # they guide steps: single precision does where room is short
PART = 16384  # items whose amounts stay in the second-level cache
SAMPLE = 128  # a price is guessed on one in so many items, within the next two
LEAST_SAMPLE, MOST_SAMPLE = 4096, 32768
LARGE = 512  # groups of so many items and more are sampled by items, smaller ones whole
SAMPLE_STEPS = 8
FEW = 32  # items of no group are all sampled if they are at most one in so many
ROUGHLY = 1e-3  # relative gap of the sample's total that ends its search
MARGIN = 0.4  # how far below the last step's end the next price lies, over the step
LEAST_MARGIN, MOST_MARGIN = 3e-3, 0.5  # in log price
ERROR = 1.0  # margin of a sample's price times the square root of its size
NEAR = 4.5e-2  # a step so short ends near the answer
SURE = 1e-8  # relative gap of a plain sum that tells for sure on which side it is
ALIKE = 1e-12  # share of the variance of caps in their squares that is none
TRIES = 4
FURTHEST = 16.0  # of a step on a sample, over the price
WORTH_NAMING = 0.6  # share of kept groups above which all are: copies of what they have would take too much room


class GroupTotals:
    """Totals by group of items in the order in which they are. Answers prices as GroupPasses do."""

    def __init__(self, problem: Problem, items: Any, n_jobs: int = 1) -> None:
        self.problem, self.items, self.shape, self.n_jobs, self.count = problem, items, items.shape, n_jobs, 0
        self.caps = problem.caps
        counts, self.in_order, last = np.zeros(len(self.caps) + 1, dtype=np.uint32), True, -1
        for part in parts_of(problem.n):
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
        lower, upper = self.sizes.astype(np.float64), np.zeros(len(self.sizes))
        np.multiply(lower, self.problem.upper, out=upper, where=lower > 0.0)
        np.multiply(lower, self.problem.lower, out=lower)
        return lower, upper

    def respond(self, price: float) -> Array:
        """What every group takes at a price beside minus its derivative, (g + 1, 2); summed in the items' order."""
        sums = np.zeros((len(self.sizes), 2))
        self.count += 1
        for part, taken in self._amounts(price):
            core.add_by_group(self.groups(part), taken, sums)
        return sums

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

        parts = parts_of(self.problem.n, size)
        if jobs < 2:
            yield from map(fill, parts, itertools.repeat(buffers[0]))
            return
        with ThreadPoolExecutor(jobs) as pool:
            while wave := list(itertools.islice(parts, jobs)):
                yield from list(pool.map(fill, wave, buffers))


class SampledTotals:
    """T of a sample of the items, scaled up: some small groups whole, and some items of every large one.

    Items of no group, if they are few, are all in it: where caps bind, the price depends on them. What small groups
    take goes with their caps, whose sum is known: what the sample has too much of them is taken off T as far.
    """

    def __init__(self, totals: GroupTotals) -> None:
        problem, sizes = totals.problem, totals.sizes
        every = -(-problem.n // min(max(problem.n // SAMPLE, LEAST_SAMPLE), MOST_SAMPLE))
        large = sizes >= LARGE
        large[0] = int(sizes[0]) * FEW > problem.n  # its items are no group
        chosen = large.copy()
        chosen[0], chosen[1::every] = True, True
        which = _sampled_items(totals, large, chosen, every)
        names = np.cumsum(chosen, dtype=np.int32)  # counted from 2, those without a group from 1
        caps = problem.caps[chosen[1:]]
        caps[large[1:][chosen[1:]]] /= every
        groups = names[problem.groups[which].astype(np.intp) + 1] - 2
        part = replace(problem.take(which, problem.capacity), groups=groups, caps=caps)
        self.small = np.flatnonzero(~large[1:][chosen[1:]])
        with np.errstate(all="ignore"):
            sampled = float(caps[self.small].sum())
            self.away = caps[self.small] - sampled / max(self.small.size, 1)
            self.missing = sum_where(~large[1:], problem.caps) - every * sampled
            self.spread = float(self.away @ self.away) if math.isfinite(self.missing) else 0.0
            if not self.spread > ALIKE * float(caps[self.small] @ caps[self.small]):
                self.spread = 0.0  # but for rounding, caps are the same: the sample has its part of them
        self.totals = GroupTotals(part, part.criterion._items_of(part, None))
        self.every, self.ungrouped = float(every), float(every if large[0] else 1)

    def respond(self, price: float) -> tuple[float, float, float]:
        """T, its slope and its part that caps hold at a price, roughly."""
        total, slope = self.totals.respond(price).T
        sums, more = [self.every * x for x in capped_sums(self.totals, total, slope)], self.ungrouped - self.every
        if 0.0 < self.spread < math.inf:
            taken = np.minimum(total[1:], self.totals.caps)[self.small]
            sums[0] += float(taken @ self.away) / self.spread * self.missing
        return sums[0] + more * float(total[0]), sums[1] + more * float(slope[0]), sums[2]


def capped_sums(passes: Any, total: Array, slope: Slopes) -> tuple[float, float, float]:
    """T and its slope from those of the groups (g + 1,), and the part of T that caps hold."""
    sums: tuple[float, float, float] = core.capped_sums(total, slope, passes.caps)
    return sums


def _sampled_items(totals: GroupTotals, large: Any, chosen: Any, every: int) -> NDArray[np.intp]:
    """Positions of all items of the chosen small groups, and of one in `every` items of large ones; the tables
    (g + 1,) begin with the items of no group.
    """
    problem, small = totals.problem, chosen & ~large
    some = np.arange(0, problem.n, every)
    some = some[large[problem.groups[some].astype(np.intp) + 1]]
    found, count = np.empty(int(totals.sizes[small].sum()) + 1, dtype=np.intp), 0
    for part in parts_of(problem.n if len(found) > 1 else 0):
        count = core.items_of(totals.groups(part), small.view(np.uint8), part.start, found, count)
    return np.sort(np.concatenate([some, found[:count]]))


def below_the_answer(totals: GroupTotals, search: Array) -> tuple[float, Array] | None:
    """A price that is surely below the answer's and near it, and what groups take there beside minus its derivative
    (g + 1, 2); None if a sample and a few steps do not lead to one.
    """
    sample, rough, shape = SampledTotals(totals), search.copy(), totals.shape
    rough[core.TOLERANCE] = ROUGHLY
    for _ in range(SAMPLE_STEPS):
        price = float(rough[core.PRICE])
        if rough[core.STATE] != core.RUNNING or not narrow.has_bracket(shape, price):
            break
        step_beside(rough, shape, *sample.respond(price))
        if shape not in LINEAR:  # what is known to be fixed, of all groups, may be more than the sample's total
            rough[core.PRICE] = min(max(rough[core.PRICE], price / FURTHEST), price * FURTHEST)
    price, margin = float(rough[core.PRICE]), ERROR / math.sqrt(sample.totals.problem.n)
    for more in reversed(range(TRIES)):
        if not narrow.has_bracket(shape, price):
            return None
        low = narrow.bracket(shape, price, margin * narrow.size_of(shape, price))[0]
        if not (narrow.has_bracket(shape, low) and search[core.LOW] < low < search[core.HIGH]):
            return None
        taken = None  # room for the next
        taken, after = totals.respond(low), search.copy()
        total, slope, fixed = capped_sums(totals, *taken.T)
        after[core.PRICE] = low
        step_beside(after, shape, total, slope, fixed)
        price = float(after[core.PRICE])
        moved = narrow.moved_by(shape, low, price)
        if total > search[core.TARGET] * (1.0 + SURE) and (moved <= NEAR or not more):
            return low, taken
        margin = min(max(MARGIN * moved, LEAST_MARGIN), MOST_MARGIN)
    return None


@dataclass(frozen=True)
class Reduced:
    """A problem of which only the caps of the groups `kept` (g,), of which there are k, are left.

    `names` and `starts` are those that `layouts.lay_out` asks for; the table is taken out for use, as it is large.
    """

    kept: NDArray[np.bool_]
    caps: Array
    known: list[tuple[Array, Slopes]]  # totals and slopes (k + 1,) at the search's price, taken out for use
    search: Array
    tables: list[tuple[NDArray[np.int32] | None, NDArray[np.uint32]]]  # names and starts, taken out for use
    count: int


def without_loose_caps(totals: GroupTotals, price: float, taken: Array, search: Array) -> Reduced:
    """Drop the caps that are loose at a price below the answer's.

    The table of what groups take (g + 1, 2) is used up, and so are the totals' sizes.
    """
    problem, kept = totals.problem, np.empty(len(totals.caps), dtype=bool)
    for part in parts_of(kept.size):
        kept[part] = taken[1:][part, 0] > totals.caps[part] * (1.0 - SURE)
    if np.count_nonzero(kept) > WORTH_NAMING * kept.size:
        kept = np.broadcast_to(True, kept.shape)  # takes no room
    known, k = [_split(taken, kept)], np.count_nonzero(kept)
    names, caps, sizes = None, totals.caps, totals.sizes[1:]
    if k < kept.size:
        which = np.flatnonzero(kept)
        caps, sizes = caps[which], sizes[which]
        names = np.zeros(kept.size + 1, dtype=np.int32)  # of groups, -1 first
        np.cumsum(kept, out=names[1:])
        names[1:] *= kept
        names -= 1
        del which
    starts = np.zeros(k + 3, dtype=np.uint32)
    np.cumsum(sizes, out=starts[3:])
    starts[2:] += np.uint32(problem.n - int(starts[-1]))
    del totals.sizes
    search[core.PRICE] = price
    return Reduced(kept, caps, known, search, [(names, starts)], totals.count)


def _split(taken: Array, kept: NDArray[np.bool_]) -> tuple[Array, Slopes]:
    """The two columns of a table (g + 1, 2): first what those not kept sum to, then the entries that are.

    The first ends up in the room of the table, which becomes smaller.
    """
    every = bool(kept.all())
    rest = [column[0] + (0.0 if every else sum_where(~kept, column[1:])) for column in taken.T]
    first, k = taken.reshape(-1), 1
    second = np.empty(1 + np.count_nonzero(kept), dtype=np.float32)
    for part in parts_of(kept.size):
        some = taken[1:][part]
        some = some.copy() if every else some.take(np.flatnonzero(kept[part]), axis=0)  # faster than a mask
        with np.errstate(over="ignore", under="ignore"):
            first[k : k + len(some)], second[k : k + len(some)] = some.T
        k += len(some)
    with np.errstate(over="ignore", under="ignore"):
        first[0], second[0] = rest
    del first
    taken.resize(k, refcheck=False)
    return taken, second
