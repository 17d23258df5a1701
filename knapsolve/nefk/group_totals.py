"""What every group takes at a price, of items in the order in which they are, and what that comes to under the caps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.passes import CHUNK, Slopes, parts_of
from knapsolve.nefk.problem import Problem, most_taken

Array = NDArray[np.float64]
MOST_LISTED = 4  # times as many items as are to be sampled
LARGE = 512  # groups of so many items and more are sampled by items, smaller ones whole
MANY_GROUPS = 1 << 16  # whose sizes are counted in tables of single bytes
MOST_COUNTING = 4  # threads that have a table of groups each
BY_TABLE, FEWEST_BY_TABLE, MOST_TABLES = 16, 4, 8  # items to a group and a table of sums; to a group for two tables
FEW = 32  # items of no group are all sampled if they are at most one in so many
SURELY, ROUNDED = 2.0 * core.ROUGH, 1e-13  # relative errors of a rough sum that are surely larger than its own


class _Counted(NamedTuple):
    """Items that lie side by side: how many each group (g + 1,) has, in two tables together, those to be sampled, and
    whether they are in order.
    """

    sizes: NDArray[np.uint32]
    rest: NDArray[np.uint8] | None
    listed: list[NDArray[np.intp]]
    in_order: bool


class GroupTotals:
    """Totals by group of items in the order in which they are. Answers prices as GroupPasses do.

    With `every`, `listed` are the items of about one in so many groups, of large ones not all, and those of no group
    unless they are many; None where the numbers of the groups make that too many.
    """

    def __init__(self, problem: Problem, items: Any, n_jobs: int = 1, every: int = 0) -> None:
        self.problem, self.items, self.shape, self.n_jobs, self.count = problem, items, items.shape, n_jobs, 0
        self.caps, self.every = problem.caps, every
        self.sampled = _sampled_groups(len(self.caps), every, n_jobs) if every else np.empty(0, dtype=np.intp)
        self._most = MOST_LISTED * problem.n // every if every else 0
        jobs = min(n_jobs, MOST_COUNTING) if len(self.caps) < problem.n else 1
        every_job = max(-(-problem.n // (CHUNK * jobs)), 1) * CHUNK
        shares, groups = list(parts_of(problem.n, every_job)) or [slice(0, 0)], problem.groups
        counted = work_through(self._count, shares, jobs)
        self.in_order = all(part.in_order for part in counted)
        self.in_order &= all(bool(groups[share.start - 1] <= groups[share.start]) for share in shares[1:])
        self.sizes = counted[0].sizes
        tables = [x for part in counted for x in (part.sizes, part.rest) if x is not None]

        def merge(some: slice) -> None:
            for table in tables[1:]:
                self.sizes[some] += table[some]

        work_through(merge, list(parts_of(self.sizes.size)), jobs)
        self.listed = np.concatenate([x for part in counted for x in part.listed]) if self._are_few() else None

    def _count(self, some: slice) -> _Counted:
        """Count the items of groups among some of all, and list those to be sampled, as far as they are few."""
        problem, n_listed, in_order, last = self.problem, 0, True, -1
        most = self._most + problem.n // FEW + CHUNK  # with those of no group
        sizes, listed, found = np.zeros(len(self.caps) + 1, dtype=np.uint32), [], np.empty(CHUNK + 1, dtype=np.intp)
        rest = np.zeros(sizes.size, dtype=np.uint8) if self.every and sizes.size > MANY_GROUPS else None
        for start in range(some.start, some.stop, CHUNK):
            chunk = self.groups(slice(start, min(start + CHUNK, some.stop)))
            if self.every and n_listed <= most:
                few = (int(sizes[0]) + (0 if rest is None else int(rest[0]))) * FEW <= problem.n
                m = group_layout.count_and_sample(chunk, sizes, start, self.every, LARGE, few, found, rest)
                listed.append(found[:m].copy())
                n_listed += m
            else:
                group_layout.count_groups(chunk, sizes)
            in_order = in_order and bool(last <= chunk[0] and (chunk[1:] >= chunk[:-1]).all())
            last = chunk[-1]
        return _Counted(sizes, rest, listed, in_order)

    def _are_few(self) -> bool:
        """Whether all items that are to be sampled are listed: no thread has found more where they are few."""
        return self.every > 0 and int(np.minimum(self.sizes[1 + self.sampled], LARGE).sum()) <= self._most

    def groups(self, part: slice) -> NDArray[np.intp]:
        """Groups of the items of a part."""
        return np.ascontiguousarray(self.problem.groups[part], dtype=np.intp)

    def bounds_by_group(self) -> tuple[Array, float]:
        """Sums of lower bounds by group (g + 1,), and the most that all can take under their caps and upper bounds."""
        low, high = self.problem.lower, self.problem.upper
        if isinstance(high, np.ndarray):
            most = most_taken(self._sums_of(high), self.caps)
        else:
            ungrouped = float(self.sizes[0]) * high if self.sizes[0] else 0.0
            most = ungrouped + group_tables.most_under_caps(self.sizes[1:], high, self.caps, self.n_jobs)
        if isinstance(low, np.ndarray):
            return self._sums_of(low), most
        return self.sizes * low if low else np.broadcast_to(0.0, len(self.sizes)), most

    def _sums_of(self, column: NDArray[Any]) -> Array:
        """Sums of a column (n,) by group (g + 1,), as good as rounded once."""
        sums, lost = np.zeros(len(self.sizes)), np.zeros(len(self.sizes))
        for part in parts_of(self.problem.n):
            group_layout.add_by_group(self.groups(part), column[part], sums, lost)
        return np.add(sums, lost, out=sums)

    def respond(self, price: float) -> Array:
        """What every group takes at a price beside minus its derivative, (g + 1, 2), each within core.ROUGH of itself.

        Summed in the items' order, in tables of their own of as many shares as the numbers of items and groups allow,
        whatever the number of threads.
        """
        self.count += 1
        n, rows = self.problem.n, len(self.sizes)
        tables = min(max(n // (BY_TABLE * rows), 2 if n >= FEWEST_BY_TABLE * rows else 1), MOST_TABLES)
        shares = list(parts_of(n, -(-n // (tables * CHUNK)) * CHUNK))

        def add(share: slice) -> Array:
            sums = np.zeros((rows, 2))
            for start in range(share.start, share.stop, CHUNK):
                groups = self.groups(slice(start, min(start + CHUNK, share.stop)))
                core.respond_by_group(self.items, groups, start, price, sums)
            return sums

        sums, *others = work_through(add, shares, self.n_jobs)
        for more in others:
            sums += more
        return sums


def _sampled_groups(n_groups: int, every: int, n_jobs: int) -> NDArray[np.intp]:
    """Numbers of about one in `every` groups, in order."""
    parts = list(parts_of(n_groups)) or [slice(0, 0)]
    return np.concatenate(work_through(lambda part: group_layout.sampled_groups(part.start, part.stop, every), parts, n_jobs))


def capped_sums(passes: Any, total: Slopes, slope: Slopes | None) -> tuple[float, float, float]:
    """T and its slope from those of the groups (g + 1,), and the part of T that caps hold."""
    sums: tuple[float, float, float] = group_tables.capped_sums(total, slope, passes.caps, passes.n_jobs)
    return sums


def error_of(passes: Any, total: Slopes, whole: float) -> float:
    """What T, of which the whole is known, may be off, as totals (g + 1,) are rough: where caps hold, it is exact."""
    return SURELY * float(group_tables.not_surely_capped(total, passes.caps, passes.n_jobs)) + ROUNDED * whole
