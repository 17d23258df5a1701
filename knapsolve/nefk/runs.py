"""Groups cut into runs: tiles, which fit the second-level cache, and large groups, which do not, by themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.passes import parts_of

SELDOM = 4  # items whose guesses are right to one whose run is the next
LEAST_BITS = 2  # of groups to a guess, from which on guesses are few beside a table of all
MOST_GUESSES = 1 << 16  # entries that take little room, and that caches hold
FILLED = (31 / 32, 7 / 8, 3 / 4)  # of a tile, by groups of their mean size: tried in turn
MOST_EVEN = 1.4  # runs of the same number of groups, over tiles that all items fill
MOST_AT_ONCE = 4  # one in so many items may be in a large group that is worked on beside another
AT_ONCE = 16  # tiles of which a thread places the groups at a time
MOST_DIVIDED = 2**31  # numbers of groups that one multiplication divides


class Run(NamedTuple):
    """Groups [first, last), 0 for the items of no group, and their items [begin, end)."""

    first: int
    last: int
    begin: int
    end: int


class Runs:
    """Runs of groups (g,) whose items lie in order by group, or at least by run.

    `table` has a row (first, last, begin, end) for each, in order, `places` rows of those that fit the cache, which are
    tiles, and `large` are those of one group that does not. Where the items of a group start within its run, `starts`
    (g,), takes half the room of where they start at all.

    Where sizes allow it, all runs have the same number of groups, so that which one a group is in takes no table: then
    `even` is their width and, if the items of no group are a run by themselves, that less 1 (csrc/nefk_layout.h).
    """

    def __init__(self, offset: NDArray[np.uint32], may_be_even: bool = True) -> None:
        """`offset` (g + 1,) says where the items of each group start, and where the last ones end."""
        self.even = _even_width(offset) if may_be_even else None
        width, lead = self.even or (0, 0)
        starts = np.empty(len(offset) - 1, dtype=np.uint16)
        cut = group_tables.cut_into_runs(offset, core.TILE, core.TILE_GROUPS, width - lead, width, starts)
        self._set(np.array(cut, dtype=np.intp), starts, True)

    @classmethod
    def of_blocks(
        cls, counts: NDArray[np.uint32], bits: int, n_groups: int, in_long: Callable[[int], int]
    ) -> Runs | None:
        """Runs of blocks of 2^bits groups each, of `counts` items, those of no group first; None if sizes differ too
        much. Where groups start, `place_groups` finds out; `in_long` is an estimate that stays `count_in_long`.
        """
        blocks, begin = counts[1:].astype(np.int64), int(counts[0])
        n_items = int(blocks.sum())
        most = min(core.TILE_GROUPS, core.TILE * n_groups // max(n_items, 1))
        for filled in FILLED:
            width = int(filled * most) >> bits << bits
            if not width or n_groups >= MOST_DIVIDED:
                return None
            sizes = np.add.reduceat(blocks, np.arange(0, blocks.size, width >> bits))
            if sizes.size > MOST_EVEN * max(n_items / core.TILE, n_groups / core.TILE_GROUPS) + 1.0:
                return None
            if sizes.max() <= core.TILE:
                break
        else:
            return None
        ends = begin + np.append(0, np.cumsum(sizes))
        firsts = np.append(np.arange(1, 1 + n_groups, width), n_groups + 1)
        table = np.stack([firsts[:-1], firsts[1:], ends[:-1], ends[1:]], axis=1)
        out = cls.__new__(cls)
        out.even = width, width - 1
        out._set(np.vstack([[0, 1, 0, begin], table]), np.empty(n_groups + 1, dtype=np.uint16), False)
        out._estimate = in_long
        return out

    def _set(self, table: NDArray[np.intp], starts: NDArray[np.uint16], are_placed: bool) -> None:
        self.table = table = np.ascontiguousarray(table, dtype=np.intp)
        self.starts, self.are_placed = starts, are_placed
        fit = table[:, 3] - table[:, 2] <= core.TILE
        self.places, self.large = table[fit], [Run(*row) for row in table[~fit].tolist()]
        self._in_long: dict[int, int] = {}
        self._estimate: Callable[[int], int] | None = None
        self._guesses: tuple[NDArray[np.uint32], NDArray[np.uint32], int, bool] | None = None

    @property
    def every(self) -> list[Run]:
        """All in order: made when asked for, as they may be many."""
        return [Run(*row) for row in self.table.tolist()]

    def at_once(self) -> int:
        """How many large groups may be worked on at a time: two, unless one is much of all items, or of them."""
        sizes = [run.end - run.begin for run in self.large] or [0]
        return 2 if MOST_AT_ONCE * max(sizes) <= self.table[-1, 3] and 2 * max(sizes) <= sum(sizes) else 1

    def place_groups(self, member: NDArray[np.uint16], n_jobs: int) -> None:
        """Find where groups start, unless that is known, of items of which `member` (n,) says which of their run's
        groups they are in.
        """
        if not self.are_placed:
            parts = list(parts_of(len(self.places), AT_ONCE))
            work_through(lambda part: group_layout.find_starts(member, self.places[part], self.starts), parts, n_jobs)
            for run in self.large:
                self.starts[run.first] = 0
        self.are_placed = True

    @property
    def guesses(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
        """How the run of a group is found without a look at a table of all: the first run of every 2^bits groups, the
        first group of every run and a number beyond all, and the bits.
        """
        if self._guesses is None:
            self._guesses = self._guess()
        return self._guesses[:3]

    @property
    def are_guessed(self) -> bool:
        """Whether guesses are the runs of most items, and few."""
        if self._guesses is None:
            self._guesses = self._guess()
        return self._guesses[3]

    def _guess(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int, bool]:
        firsts = np.append(self.table[:, 0], 2**32 - 1).astype(np.uint32)
        items, own, groups = self.table[:, 3] - self.table[:, 2], np.arange(len(self.table)), len(self.starts)

        def are_right(bits: int) -> bool:
            guesses = firsts.searchsorted(firsts[:-1] >> bits << bits, "right") - 1  # of each run's first group
            away = int((items * (own - guesses)).sum())  # runs beyond the guess, at most
            return away * SELDOM <= items.sum()

        most = groups.bit_length()
        least = next((bits for bits in range(most, 0, -1) if 2 * -(-groups >> bits) > MOST_GUESSES), 0)
        bits = most - bisect_left(range(most, least, -1), True, key=are_right)
        begins = np.append(-(-self.table[:, 0] >> bits), -(-groups >> bits))  # of runs, in guesses
        are_few = bits >= LEAST_BITS and are_right(bits)
        return own.astype(np.uint32).repeat(np.diff(begins)), firsts, bits, are_few

    def sizes(self, scale: float = 1.0) -> NDArray[np.float64]:
        """How many items groups have (g,), times a scale."""
        sizes = np.empty(len(self.starts))
        group_tables.sizes_of(self.starts, self.table, scale, sizes)
        return sizes

    def count_in_long(self, most: int) -> int:
        """Items of groups that have more than so many, of those that have a cap."""
        if self._estimate:
            return self._estimate(most)
        if most not in self._in_long:
            self._in_long[most] = group_tables.count_in_long(self.starts, self.table, most)
        return self._in_long[most]

    def ungrouped(self) -> int:
        """Items of the first group, which is none."""
        _, last, begin, end = self.table[0].tolist()
        return int(self.starts[1]) if last > 1 else end - begin  # before groups are placed, too

    def find(self, groups: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the items of some groups start, and how many they are."""
        firsts, lasts, begins, ends = self.table.T
        run = np.searchsorted(firsts, groups, "right") - 1
        following = np.minimum(groups + 1, len(self.starts) - 1)
        stops = np.where(groups + 1 < lasts[run], begins[run] + self.starts[following], ends[run])
        starts = begins[run] + self.starts[groups]
        return starts, stops - starts

    def groups_of(self, items: NDArray[np.intp], member: NDArray[np.uint16]) -> NDArray[np.intp]:
        """Groups of some items, of which `member` (n,) says which of their run's groups they are in."""
        firsts, _, begins, _ = self.table.T
        return firsts[begins.searchsorted(items, "right") - 1] + member[items]

    def items_of(self, groups: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Items of some groups, group by group, and of which of them each is."""
        starts, sizes = self.find(groups)
        items = np.arange(sizes.sum())
        items += np.repeat(starts - np.append(0, np.cumsum(sizes[:-1])), sizes)
        return items, np.repeat(np.arange(groups.size), sizes)

    def having(self, groups: NDArray[np.intp]) -> Iterator[tuple[Run, slice]]:
        """Runs that have some groups, which are in order, and which of them."""
        ends = np.searchsorted(groups, self.table[:, 1])
        for run, a, b in zip(self.every, np.append(0, ends[:-1]), ends):
            if a < b:
                yield run, slice(a, b)


def _even_width(offset: NDArray[np.uint32]) -> tuple[int, int] | None:
    """How many groups all runs may have that fit a tile, or are one group each, and the lead, as `Runs.even`; None if
    sizes differ so much that such runs would be many. `offset` as for Runs.
    """
    ungrouped = int(offset[1]) - int(offset[0])
    starts = offset[1:] if ungrouped else offset
    groups, items = len(starts) - 1, int(offset[-1]) - ungrouped
    if not 0 < groups < MOST_DIVIDED:
        return None
    most, tiles = min(core.TILE_GROUPS, core.TILE * groups // max(items, 1)), items / core.TILE
    for filled in FILLED:
        width = max(int(filled * most), 1)
        sizes = np.diff(starts[:-1:width], append=starts[-1])
        if sizes.size > MOST_EVEN * max(tiles, groups / core.TILE_GROUPS) + 1.0:
            return None
        if width == 1 or sizes.max() <= core.TILE:
            return width, width - 1 if ungrouped else 0
    return None
