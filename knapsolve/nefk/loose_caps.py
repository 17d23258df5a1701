"""Caps that are surely loose are dropped before items are put in order by group: their groups cost no more than none.

Totals by group are taken in the order of the items, without sorting them, at a price that is surely below the answer's:
what a group takes falls with the price, so a cap that is loose there is loose at the answer too. The other groups are
few unless their caps bind; where a sample says that most do, all are kept, and the first pass happens in tiles.
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

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve.nefk import narrow
from knapsolve.nefk.group_steps import price_by_groups
from knapsolve.nefk.passes import CHUNK, Slopes, parts_of, sum_where
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LINEAR, Secant, step_beside

Array = NDArray[np.float64]
PART = 16384  # items whose amounts stay in the second-level cache
SAMPLE = 128  # a price is guessed on one in so many items, within the next two
LEAST_SAMPLE, MOST_SAMPLE = 4096, 32768
MOST_LISTED = 4  # times as many items as are to be sampled
FEWEST = 256  # items that tell anything
LARGE = 512  # groups of so many items and more are sampled by items, smaller ones whole
SAMPLE_STEPS = 8
FEW = 32  # items of no group are all sampled if they are at most one in so many
ROUGHLY = 1e-4  # relative gap of the sample's total that ends its search
MARGIN = 0.4  # how far below the last step's end the next price lies, over the step
LEAST_MARGIN, MOST_MARGIN = 3e-3, 0.5  # in log price
ERROR = 1.0  # margin of a sample's price times the square root of its size
NEAR = 4.5e-2  # a step so short ends near the answer
SIDE_SURE = 2.0 * core.ROUGH  # relative gap of a rough sum that tells for sure on which side it is
ALIKE = 1e-12  # share of the variance of caps in their squares that is none
TRIES = 4
FURTHEST = 16.0  # of a step on a sample, over the price
WORTH_NAMING = 0.6  # share of kept groups above which all are: copies of what they have would take too much room
BY_NAMED, MOST_NAMED = 18, 9  # bytes of what a kept group of some has as it is settled, and of room by item for that
BY_SPLIT, MOST_SPLIT = 24, 23  # of a group's totals as they are split, and of room by item: else they are taken again


class GroupTotals:
    """Totals by group of items in the order in which they are. Answers prices as GroupPasses do.

    With `every`, `listed` are the items of about one in so many groups, of large ones not all, and those of no group
    unless they are many; None where the numbers of the groups make that too many.
    """

    def __init__(self, problem: Problem, items: Any, n_jobs: int = 1, every: int = 0) -> None:
        self.problem, self.items, self.shape, self.n_jobs, self.count = problem, items, items.shape, n_jobs, 0
        self.caps, self.every = problem.caps, every
        counts, self.in_order, last = np.zeros(len(self.caps) + 1, dtype=np.uint32), True, -1
        listed, found, n_listed = [], np.empty(CHUNK + 1, dtype=np.intp), 0
        most = MOST_LISTED * problem.n // every + problem.n // FEW if every else 0
        for part in parts_of(problem.n):
            chunk = self.groups(part)
            if every and n_listed <= most:
                few = int(counts[0]) * FEW <= problem.n
                m = group_tables.count_and_sample(chunk, counts, part.start, every, LARGE, few, found)
                listed.append(found[:m].copy())
                n_listed += m
            else:
                group_tables.count_groups(chunk, counts)
            self.in_order = self.in_order and bool(last <= chunk[0] and (chunk[1:] >= chunk[:-1]).all())
            last = chunk[-1]
        self.sizes = counts
        self.listed = np.concatenate([*listed, np.empty(0, dtype=np.intp)]) if n_listed <= most else None

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
        """What every group takes at a price beside minus its derivative, (g + 1, 2), each within core.ROUGH of itself;
        summed in the items' order.
        """
        sums = np.zeros((len(self.caps) + 1, 2))
        self.count += 1
        for part, taken in self._amounts(price):
            group_tables.add_by_group(self.groups(part), taken, sums)
        return sums

    def _amounts(self, price: float) -> Iterator[tuple[slice, Array]]:
        """Amounts and slopes (2, m) of one part of the items after the other; good until the next is asked for."""
        jobs = min(self.n_jobs, -(-self.problem.n // CHUNK))
        size = PART if jobs < 2 else CHUNK
        buffers = np.empty((max(jobs, 1), 2, size))

        def fill(part: slice, buffer: Array) -> tuple[slice, Array]:
            m = part.stop - part.start
            taken = buffer if m == size else np.empty((2, m))
            core.respond_each(self.items, price, part.start, part.stop, True, taken)
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
        problem, sizes, every = totals.problem, totals.sizes, totals.every
        large = sizes >= LARGE
        large[0] = int(sizes[0]) * FEW > problem.n  # its items are no group
        which, known = _sampled_items(totals, large)
        chosen = np.union1d(group_tables.sampled_groups(len(problem.caps), every), np.flatnonzero(large[1:]))
        caps, is_large = problem.caps[chosen], large[1 + chosen]
        caps[is_large] /= every
        names = np.empty(len(large), dtype=np.int32)  # of the chosen groups alone
        names[0], names[1 + chosen] = -1, np.arange(chosen.size)
        part = replace(problem.take(which, problem.capacity), groups=names[1 + known], caps=caps)
        self.small = np.flatnonzero(~is_large)
        with np.errstate(all="ignore"):
            sampled = float(caps[self.small].sum())
            self.away = caps[self.small] - sampled / max(self.small.size, 1)
            whole = sum_where(~large[1:], problem.caps) if is_large.any() else float(problem.caps.sum())
            self.missing = whole - every * sampled
            self.spread = float(self.away @ self.away) if math.isfinite(self.missing) else 0.0
            if not self.spread > ALIKE * float(caps[self.small] @ caps[self.small]):
                self.spread = 0.0  # but for rounding, caps are the same: the sample has its part of them
        self.totals = GroupTotals(part, part.criterion._items_of(part, None))
        self.every, self.ungrouped = float(every), float(every if large[0] else 1)
        self.capped = 0.0  # share of the groups whose caps are exceeded at the last price

    def respond(self, price: float) -> tuple[float, float, float]:
        """T, its slope and its part that caps hold at a price, roughly."""
        total, slope = self.totals.respond(price).T
        sums, more = [self.every * x for x in capped_sums(self.totals, total, slope)], self.ungrouped - self.every
        self.capped = float(np.mean(total[1:] > self.totals.caps))
        if 0.0 < self.spread < math.inf:
            taken = np.minimum(total[1:], self.totals.caps)[self.small]
            sums[0] += float(taken @ self.away) / self.spread * self.missing
        return sums[0] + more * float(total[0]), sums[1] + more * float(slope[0]), sums[2]

    def price(self, search: Array) -> float:
        """The price at which T meets a search's target, roughly; NaN if no bracket can be put about it."""
        rough, shape, between = search.copy(), self.totals.shape, Secant(self.totals.shape)
        rough[core.TOLERANCE] = ROUGHLY
        for _ in range(SAMPLE_STEPS):
            price = float(rough[core.PRICE])
            if rough[core.STATE] != core.RUNNING or not narrow.has_bracket(shape, price):
                break
            sums = self.respond(price)
            step_beside(rough, shape, *sums)
            if shape not in LINEAR:  # what is known to be fixed, of all groups, may be more than the sample's total
                rough[core.PRICE] = min(max(rough[core.PRICE], price / FURTHEST), price * FURTHEST)
            if rough[core.STATE] == core.RUNNING:
                between.narrow(rough, price, sums[0])
        price = float(rough[core.PRICE])
        return price if narrow.has_bracket(shape, price) else math.nan


def capped_sums(passes: Any, total: Array, slope: Slopes) -> tuple[float, float, float]:
    """T and its slope from those of the groups (g + 1,), and the part of T that caps hold."""
    sums: tuple[float, float, float] = group_tables.capped_sums(total, slope, passes.caps)
    return sums


def sampled_groups_of(n: int) -> int:
    """One in how many groups is sampled, of n items."""
    return -(-n // min(max(n // SAMPLE, LEAST_SAMPLE), MOST_SAMPLE))


def _sampled_items(totals: GroupTotals, large: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of all items of the chosen groups that are small, then of one in so many items of large ones, and
    their groups; the table (g + 1,) begins with the items of no group.
    """
    some, listed = np.arange(0, totals.problem.n, totals.every), np.asarray(totals.listed)
    groups, others = (totals.problem.groups[x].astype(np.intp) for x in (listed, some))
    small, others_large = ~large[1 + groups], large[1 + others]
    which = np.concatenate([listed[small], some[others_large]])
    return which, np.concatenate([groups[small], others[others_large]])


def below(search: Array, shape: int, price: float, margin: float) -> float:
    """A price that lies a margin below another, within a search's bracket; NaN if there is none."""
    if not narrow.has_bracket(shape, price):
        return math.nan
    low = narrow.bracket(shape, price, margin * narrow.size_of(shape, price))[0]
    return low if narrow.has_bracket(shape, low) and search[core.LOW] < low < search[core.HIGH] else math.nan


def reduce(totals: GroupTotals, search: Array) -> Reduced | None:
    """The problem without the caps that are surely loose, or with all if most are not; None if no price tells.

    The totals' table of sizes is used up.
    """
    sample = SampledTotals(totals) if totals.listed is not None else None
    if sample is None or sample.totals.problem.n < FEWEST:
        return None
    price, margin = sample.price(search), ERROR / math.sqrt(sample.totals.problem.n)
    if sample.capped <= WORTH_NAMING:
        del sample  # takes room
        found = below_the_answer(totals, search, price, margin)
        return without_loose_caps(totals, *found, search) if found else None
    low = below(search, totals.shape, price, margin)
    if math.isnan(low):
        return None
    search[core.PRICE] = low
    kept = np.broadcast_to(True, totals.caps.shape)  # takes no room
    return Reduced(kept, totals.caps, [], search, [(None, _starts(totals, totals.sizes[1:]))], totals.count)


def below_the_answer(totals: GroupTotals, search: Array, price: float, margin: float) -> tuple[float, Array] | None:
    """A price that is surely below the answer's and near it, and what groups take there beside minus its derivative
    (g + 1, 2); None if a few steps from a guess, less a margin, do not lead to one.
    """
    shape = totals.shape
    for more in reversed(range(TRIES)):
        low, taken = below(search, shape, price, margin), None  # room for the next
        if math.isnan(low):
            return None
        taken, after = totals.respond(low), search.copy()
        total, slope, fixed = capped_sums(totals, *taken.T)
        after[core.PRICE] = low
        step_beside(after, shape, total, slope, fixed)
        price = float(after[core.PRICE])
        moved = narrow.moved_by(shape, low, price)
        if not moved <= NEAR and shape not in LINEAR:
            known = price_by_groups(totals.problem, taken[:, 0], taken[:, 1], total, low, float(search[core.TARGET]))
            if not math.isnan(known):
                price, moved = known, narrow.moved_by(shape, low, known)
        if total > search[core.TARGET] * (1.0 + SIDE_SURE) and (moved <= NEAR or not more):
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
    kept = np.empty(len(totals.caps), dtype=bool)
    for part in parts_of(kept.size):
        kept[part] = taken[1:][part, 0] > totals.caps[part] * (1.0 - SIDE_SURE)
    k = np.count_nonzero(kept)
    if k > WORTH_NAMING * kept.size or BY_NAMED * k + kept.size > MOST_NAMED * totals.problem.n:
        kept = np.broadcast_to(True, kept.shape)  # takes no room
    names, caps, sizes, known = None, totals.caps, totals.sizes[1:], []
    if kept.all() and BY_SPLIT * kept.size > MOST_SPLIT * totals.problem.n:
        taken.resize((0, 2), refcheck=False)
    else:
        known.append(_split(taken, kept))
    if not kept.all():
        caps, sizes = _take(caps, kept), _take(sizes, kept)
    starts = _starts(totals, sizes)
    if not kept.all():
        names = np.zeros(kept.size + 1, dtype=np.int32)  # of groups, -1 first
        np.cumsum(kept, out=names[1:])
        names[1:] *= kept
        names -= 1
    search[core.PRICE] = price
    return Reduced(kept, caps, known, search, [(names, starts)], totals.count)


def _take(table: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """Entries (k,) of a table (g,) that are kept."""
    out = np.empty(np.count_nonzero(kept), table.dtype)
    for some, which in _places(kept):
        out[some] = table[which]
    return out


def put_back(table: Array, kept: NDArray[np.bool_]) -> Array:
    """The table (g,) of which the entries that are kept are those of another (k,), and all others NaN."""
    out = np.full(kept.size, np.nan)
    for some, which in _places(kept):
        out[which] = table[some]
    return out


def _places(kept: NDArray[np.bool_]) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Parts of the entries that are kept: the numbers that they get, and those that they have."""
    k = 0
    for part in parts_of(kept.size):
        which = part.start + np.flatnonzero(kept[part])
        yield slice(k, k + which.size), which
        k += which.size


def _starts(totals: GroupTotals, sizes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Where groups of some sizes (k,) start, after all others: (k + 3,), two zeros first. Uses up the totals' sizes."""
    starts = np.zeros(len(sizes) + 3, dtype=np.uint32)
    np.cumsum(sizes, out=starts[3:], dtype=np.uint32)
    starts[2:] += np.uint32(totals.problem.n - int(starts[-1]))
    del totals.sizes
    return starts


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
