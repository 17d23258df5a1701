"""What every group takes at a price, of items in the order in which they are, and what that comes to under the caps."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_sums as group_sums
import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.passes import CHUNK, Slopes, parts_of
from knapsolve.nefk.problem import Problem, most_taken
from knapsolve.nefk.runs import Runs

Array = NDArray[np.float64]
MOST_LISTED = 4  # times as many items as are to be sampled
LARGE = 512  # groups of so many items and more are sampled by items, smaller ones whole
MANY_GROUPS, IN_BYTES = 1 << 17, 1 << 14  # that are counted in blocks, and in tables of single bytes
FEWEST_SHARED, MOST_SHARED = 1 << 20, 2**32  # groups of a table that is too large for caches; items of one
MOST_COUNTING = 4  # threads that have a table of groups each
BY_TABLE, FEWEST_BY_TABLE, MOST_TABLES = 16, 4, 8  # items to a group and a table of sums; to a group for two tables
BLOCK, LARGEST_BLOCK = 256, 1 << 12  # items that blocks of groups have in the mean, and groups of one
MOST_IN_BLOCK, BY_CHANCE = 512, 16  # items of a block that are no reason to count its groups; more among the first
FEW = 32  # items of no group are all sampled if they are at most one in so many
SURELY, ROUNDED = 2.0 * core.ROUGH, 1e-13  # relative errors of a rough sum that are surely larger than its own


class _Counted(NamedTuple):
    """Items that lie side by side: how many of each group (g + 1,) or block of groups, of no group first, in one or two
    tables together; those to be sampled, None if they are too many; and 1 for groups that have any, of blocks.
    """

    tables: list[NDArray[Any]]
    listed: list[NDArray[np.intp]] | None  # positions, and groups (2, m)
    used: NDArray[np.int8] | None


class GroupTotals:
    """Totals by group of items in the order in which they are. Answers prices as GroupPasses do.

    With `every`, `listed` (2, m) are the items of about one in so many groups, of large ones not all, and those of no
    group unless they are many, and their groups; None where the numbers of the groups make that too many.

    How many items each group has is counted where that is asked for. Of many small groups without bounds, it may not
    be: if `in_blocks` then says so, blocks of them are first, whose numbers fit in the cache.
    """

    def __init__(
        self,
        problem: Problem,
        items: Any,
        n_jobs: int = 1,
        every: int = 0,
        in_blocks: Callable[[], bool] = lambda: True,
    ) -> None:
        self.problem, self.items, self.shape, self.n_jobs, self.count = problem, items, items.shape, n_jobs, 0
        self.caps, self.every = problem.caps, every
        self.sampled = _sampled_groups(len(self.caps), every, n_jobs) if every else np.empty(0, dtype=np.intp)
        self._most = MOST_LISTED * problem.n // every if every else 0
        self.listed: NDArray[np.intp] | None = None
        self._sizes: NDArray[np.uint32] | None = None
        self._bits = _bits_of_blocks(problem) if every else 0
        if self._bits and not in_blocks():
            self._bits = 0
        self._sum_of_caps: float | None = None
        self._sum_of_used_caps: float | None = None
        self._used: NDArray[np.int8] | None = None  # 1 for groups (g + 1,) that have items, where blocks are counted
        self._blocks = self._count_blocks() if self._bits else None
        if every and self._blocks is None:
            self._sizes = self._count_all(0)
        self.ungrouped = int(self.sizes[0] if self._blocks is None else self._blocks[0])

    @property
    def sizes(self) -> NDArray[np.uint32]:
        """How many items groups have (g + 1,), of no group first."""
        if self._sizes is None:
            self._sizes = self._count_all(0)
        return self._sizes

    @property
    def are_counted(self) -> bool:
        """Whether it is known how many items groups have."""
        return self._sizes is not None

    def counted(self, bits: int) -> NDArray[np.uint32] | None:
        """How many items groups have, or blocks of 2^bits of them, of no group first, where that is known."""
        return self._sizes if not bits else self._blocks if bits == self._bits else None

    def forget_sizes(self) -> None:
        """Give their room back."""
        self._sizes = None

    def _count_blocks(self) -> NDArray[np.uint32] | None:
        """Items of blocks of groups, of no group first; None where some group may be large."""
        n = self.problem.n
        first = self._count(slice(0, min(CHUNK, n)), self._bits).tables[0]
        if first[1:].max() > BY_CHANCE + MOST_IN_BLOCK * CHUNK / n:
            return None
        blocks = self._count_all(self._bits)
        return blocks if blocks[1:].max() < LARGE else None

    def _count_all(self, bits: int) -> NDArray[np.uint32]:
        """Count the items of groups, or of blocks of 2^bits, and list those to be sampled."""
        jobs = min(self.n_jobs, MOST_COUNTING) if len(self.caps) < self.problem.n else 1
        every_job = max(-(-self.problem.n // (CHUNK * jobs)), 1) * CHUNK
        shares = list(parts_of(self.problem.n, every_job)) or [slice(0, 0)]
        counted = work_through(lambda share: self._count(share, bits), shares, jobs)
        sizes, *others = (x for part in counted for x in part.tables)

        def merge(some: slice) -> None:
            for table in others:
                sizes[some] += table[some]

        work_through(merge, list(parts_of(sizes.size)), jobs)
        self._used, *tables = (part.used for part in counted)
        for table in tables if self._used is not None else ():
            self._used |= table
        if not self.every:
            return sizes
        self.listed = None
        if not any(part.listed is None for part in counted):
            listed = np.concatenate([x for part in counted for x in part.listed or ()], axis=1)
            if bits:
                are_few = int(np.count_nonzero(listed[1] >= 0)) <= self._most
            else:  # of large groups, threads list more than one does
                are_few = int(np.minimum(sizes[1 + self.sampled], LARGE).sum()) <= self._most
            self.listed = listed if are_few else None
        return sizes

    def _count(self, some: slice, bits: int) -> _Counted:
        """The same of some of all items."""
        problem, n_listed = self.problem, 0
        most = self._most + problem.n // FEW + CHUNK  # with those of no group
        n_sizes = ((len(self.caps) - 1) >> bits) + 2
        used = np.zeros(len(self.caps) + 1, dtype=np.int8) if bits else None
        sizes, found = np.zeros(n_sizes, dtype=np.uint32), np.empty((2, CHUNK + 1), dtype=np.intp)
        rest = np.zeros(sizes.size, dtype=np.uint8) if self.every and sizes.size > IN_BYTES and not bits else None
        listed: list[NDArray[np.intp]] = []
        for start in range(some.start, some.stop, CHUNK):
            chunk = self.groups(slice(start, min(start + CHUNK, some.stop)))
            if self.every and n_listed <= most:
                few = (int(sizes[0]) + (0 if rest is None else int(rest[0]))) * FEW <= problem.n
                if bits:
                    m = group_layout.count_blocks_and_sample(chunk, sizes, used, bits, start, self.every, few, found)
                else:
                    m = group_layout.count_and_sample(chunk, sizes, start, self.every, LARGE, few, found, rest)
                listed.append(found[:, :m].copy())
                n_listed += m
            elif bits:
                group_layout.count_blocks_and_sample(chunk, sizes, used, bits, start, self.every, False, found)
            else:
                group_layout.count_groups(chunk, sizes)
        tables: list[NDArray[Any]] = [sizes] if rest is None else [sizes, rest]
        return _Counted(tables, listed if n_listed <= most else None, used)

    def sum_of_caps(self) -> float:
        """The sum of all caps."""
        if self._sum_of_caps is None:
            self._sum_of_caps = float(group_tables.sum_marked(self.caps, None, self.n_jobs))
        return self._sum_of_caps

    def sum_of_used_caps(self) -> float:
        """The sum of the caps of groups that have items."""
        if self._sum_of_used_caps is None and self._used is not None:
            self._sum_of_used_caps = float(group_tables.sum_marked(self.caps, self._used[1:], self.n_jobs))
            self._used = None  # room
        elif self._sum_of_used_caps is None:
            used = group_tables.most_under_caps(self.sizes[1:], math.inf, self.caps, self.n_jobs)
            self._sum_of_used_caps = float(used)
        return self._sum_of_used_caps

    def ungrouped_items(self) -> NDArray[np.intp] | None:
        """Positions of the items of no group; None where these are not listed, or too many: then threads differ."""
        if self.listed is None or self.ungrouped * FEW > self.problem.n:
            return None
        return self.listed[0].take(np.flatnonzero(self.listed[1] < 0))

    @property
    def has_large(self) -> bool:
        """Whether some groups may be large."""
        return self._blocks is None

    def are_large(self) -> NDArray[np.bool_]:
        """Which groups (g + 1,) are, of no group first."""
        return self.sizes >= LARGE if self.has_large else np.zeros(len(self.caps) + 1, dtype=bool)

    def largest(self) -> int:
        """How many items one group has at most, or those of none."""
        return int(self.sizes[1:].max(initial=0)) if self.has_large else LARGE

    @property
    def bits_of_blocks(self) -> int:
        """In blocks of how many groups items are counted, as a power of two: 0 where groups are."""
        return 0 if self._blocks is None or self._sizes is not None else self._bits

    def even_runs(self, sizes: NDArray[Any], counts: NDArray[np.uint32] | None = None) -> Runs | None:
        """Runs of the same number of blocks; None if no blocks are counted, or they differ too much. `sizes` are those
        of some groups by chance; with `counts`, of blocks, of so many items.
        """
        blocks = self._blocks if counts is None else counts
        if blocks is None or not self.bits_of_blocks:
            return None
        n = int(blocks[1:].sum())
        sizes = sizes * (n / max(self.problem.n - self.ungrouped, 1))

        def in_long(most: int) -> int:
            return round(n * float(sizes[sizes > most].sum() / max(sizes.sum(), 1)))

        return Runs.of_blocks(blocks, self._bits, len(self.caps), in_long)

    def groups(self, part: slice) -> NDArray[np.intp]:
        """Groups of the items of a part."""
        return np.ascontiguousarray(self.problem.groups[part], dtype=np.intp)

    def bounds_by_group(self) -> tuple[Array, float]:
        """Sums of lower bounds by group (g + 1,), and the most that all can take under their caps and upper bounds."""
        low, high = self.problem.lower, self.problem.upper
        if isinstance(high, np.ndarray):
            most = most_taken(self.sums_of(high), self.caps)
        elif high == math.inf:
            most = math.inf if self.ungrouped else self.sum_of_used_caps()
        else:
            ungrouped = self.ungrouped * high if self.ungrouped else 0.0
            most = ungrouped + group_tables.most_under_caps(self.sizes[1:], high, self.caps, self.n_jobs)
        if isinstance(low, np.ndarray):
            return self.sums_of(low), most
        return self.sizes * low if low else np.broadcast_to(0.0, len(self.caps) + 1), most

    def sums_of(self, column: NDArray[Any]) -> Array:
        """Sums of a column (n,) by group (g + 1,), as good as rounded once."""
        sums, lost = np.zeros((2, len(self.caps) + 1))
        for part in parts_of(self.problem.n):
            group_sums.add_by_group(self.groups(part), column[part], sums, lost)
        return np.add(sums, lost, out=sums)

    def respond(self, price: float) -> Array:
        """What every group takes at a price beside minus its derivative, (g + 1, 2), each within core.ROUGH of itself.

        Summed in the items' order, in tables of their own of as many shares as the numbers of items and groups allow,
        whatever the number of threads: where there are more of these, they share a table by groups.
        """
        self.count += 1
        n, rows = self.problem.n, len(self.caps) + 1
        if n <= CHUNK:  # as of samples, which are asked many times
            sums = np.zeros((rows, 2))
            core.respond_by_group(self.items, self.groups(slice(0, n)), 0, price, sums)
            return sums
        tables = min(max(n // (BY_TABLE * rows), 2 if n >= FEWEST_BY_TABLE * rows else 1), MOST_TABLES)
        shares = list(parts_of(n, -(-n // (tables * CHUNK)) * CHUNK))
        ends = self._shares_of_groups(len(shares))

        def add(work: tuple[slice, Array, int, int]) -> None:
            share, sums, first, last = work
            for start in range(share.start, share.stop, CHUNK):
                groups = self.groups(slice(start, min(start + CHUNK, share.stop)))
                if len(ends) > 2:
                    core.respond_some_by_group(self.items, groups, start, price, first, last, sums)
                else:
                    core.respond_by_group(self.items, groups, start, price, sums)

        all_sums = [np.zeros((rows, 2)) for _ in shares]
        work_through(add, [(*one, *two) for one in zip(shares, all_sums) for two in pairwise(ends)], self.n_jobs)
        sums, *others = all_sums
        for more in others:
            sums += more
        return sums

    def amounts(self, price: float) -> Array:
        """What the items (n,) take at a price, of few items."""
        amounts = np.empty((2, self.problem.n))
        core.respond_each(self.items, price, 0, self.problem.n, True, amounts)
        return amounts[0]

    def _shares_of_groups(self, n_shares: int) -> list[int]:
        """Where the shares of groups begin that threads take beside so many of items, and the last one ends."""
        n, groups = self.problem.n, len(self.caps)
        is_alone = groups < FEWEST_SHARED or n >= MOST_SHARED or self.problem.order is not None
        parts = 1 if is_alone else min(-(-self.n_jobs // n_shares), MOST_COUNTING)
        return [-1, *(groups * part // parts for part in range(1, parts)), groups]


def _bits_of_blocks(problem: Problem) -> int:
    """In blocks of how many groups, as a power of two, items are to be counted; 0 if groups are to be."""
    has_bounds = is_column(problem.lower) or is_column(problem.upper) or problem.lower or problem.upper < math.inf
    if has_bounds or len(problem.caps) <= MANY_GROUPS:
        return 0
    return max(min(BLOCK * len(problem.caps) // problem.n, LARGEST_BLOCK).bit_length() - 1, 0)


def _sampled_groups(n_groups: int, every: int, n_jobs: int) -> NDArray[np.intp]:
    """Numbers of about one in `every` groups, in order."""
    parts = list(parts_of(n_groups)) or [slice(0, 0)]
    some = work_through(lambda part: group_layout.sampled_groups(part.start, part.stop, every), parts, n_jobs)
    return np.concatenate(some)


def capped_sums(passes: Any, total: Slopes, slope: Slopes | None) -> tuple[float, float, float]:
    """T and its slope from those of the groups (g + 1,), and the part of T that caps hold."""
    sums: tuple[float, float, float] = group_tables.capped_sums(total, slope, passes.caps, passes.n_jobs)
    return sums


def error_of(passes: Any, total: Slopes, whole: float) -> float:
    """What T, of which the whole is known, may be off, as totals (g + 1,) are rough: where caps hold, it is exact."""
    return SURELY * float(group_tables.not_surely_capped(total, passes.caps, passes.n_jobs)) + ROUNDED * whole
