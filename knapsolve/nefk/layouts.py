"""How the items of groups lie in memory: listed group by group, or copied to lie side by side with their tile's.

A tile is a run of groups that fits the second-level cache; larger groups are runs by themselves. Through a list (four
bytes an item) every entry of every column is read at random, and every amount written so. Copies are made and undone in
sequence, each item moved to the end of its run, and within a run all is in the cache; but they take room: amounts are
written over the last column copied, which is copied again if it is needed after that, and another column lies where
the caller wants the amounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve.nefk.passes import parts_of
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import Place

LARGEST_ORDER = 2**32
MOST_ROOM = 24  # bytes an item that a solve may take beyond its input
BY_KEPT, BY_SETTLED = 21, 17  # bytes of tables by group whose cap is kept, until amounts are settled and then
BY_GROUP = 5  # of tables by group of the user's
BESIDE = 3  # bytes an item of the largest group whose cap binds, beside its amounts


def sort_by_group(groups: NDArray[Any], n_groups: int) -> tuple[NDArray[np.uint32] | None, NDArray[np.uint32]]:
    """Items in order by group (n,), None if they are, and where each group, -1 first, starts in it (g + 2,)."""
    n = len(groups)
    if n >= LARGEST_ORDER:
        raise ValueError(f"groups must have less than 2**32 items, got {n}")
    chunks = list(parts_of(n))
    starts = np.zeros(n_groups + 3, dtype=np.uint32)
    in_order = all(groups[part.start - 1] <= groups[part.start] for part in chunks[1:])
    for part in chunks:
        chunk = groups[part].astype(np.intp)
        in_order = in_order and bool((chunk[1:] >= chunk[:-1]).all())
        group_tables.count_groups(chunk, starts[2:])
    np.cumsum(starts, out=starts)
    if in_order:
        return None, starts[1:]
    return _order_by(groups, None, starts), starts[:-1]


def _order_by(groups: Any, names: NDArray[np.int32] | None, starts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Items in order by the names of their groups; names and starts, which change, as those of `lay_out`."""
    order = np.empty(len(groups), dtype=np.uint32)
    for part in parts_of(order.size):  # each start moves on to the next group's
        chunk = np.ascontiguousarray(groups[part], dtype=np.intp)
        group_tables.sort_into_groups(chunk, part.start, starts[1:], order, names)
    return order


def tile_groups(offset: NDArray[np.uint32]) -> tuple[list[tuple[int, int]], list[int]]:
    """Runs of groups [first, last) that fit a tile, and the groups that do not."""
    tiles, large, first, n_groups = [], [], 0, len(offset) - 1
    while first < n_groups:
        room = np.uint32(min(int(offset[first]) + core.TILE, int(offset[-1])))
        last = min(int(np.searchsorted(offset, room, "right")) - 1, first + core.TILE_GROUPS, n_groups)
        if last > first:
            tiles.append((first, last))
        else:
            large.append(first)
        first = max(last, first + 1)
    return tiles, large


class Listed:
    """Items group by group, through their positions `order` (n,); None if they lie so."""

    member = None

    def __init__(self, problem: Problem, order: NDArray[np.uint32] | None, offset: NDArray[np.uint32]) -> None:
        self.problem = self.given = problem
        self.order, self.offset = order, offset
        self.tiles, self.large = tile_groups(offset)

    def restore(self) -> None:
        """Nothing was written over."""

    def target(self, place: Place) -> tuple[Any, Any]:
        """Where a settling pass writes amounts and sides."""
        return place()

    def items_of(self, groups: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Entries of the columns that are items of some groups, which are in order, and of which of them each is."""
        which = np.concatenate([np.arange(self.offset[g], self.offset[g + 1]) for g in groups])
        sizes = np.diff(self.offset)[groups]
        return which if self.order is None else self.order[which], np.repeat(np.arange(groups.size), sizes)

    def release(self, place: Place) -> None:
        """Give back the room of amounts that are not the answer."""
        place.clear()

    def deliver(self, place: Place) -> None:
        """The amounts are where they belong."""


class Tiled:
    """Copies of the items' columns, tile by tile. `runs` (g + 1,) says of groups, -1 first, where their items go: the
    number of their run (a tile or a large group), and their own within it in the last bits.
    """

    order = None

    def __init__(self, problem: Problem, runs: NDArray[np.uint32], offset: NDArray[np.uint32], place: Place) -> None:
        self.given, self._runs, self.offset = problem, runs, offset
        self.tiles, self.large = tile_groups(offset)
        columns, n = _columns(problem), problem.n
        same = [name for name, column in columns.items() if column.dtype == place.dtype]
        rooms = {name: np.empty(n, column.dtype) for name, column in columns.items() if name not in same[:-1]}
        rooms |= {name: place.amounts() for name in same[:-1]}
        self.member, self.side = np.empty(n, np.uint16), np.empty(0, np.int8)  # sides: made when they are needed
        self._over = same[-1]  # the column that amounts are written over
        self.amounts = rooms[self._over]
        self._is_over = False
        moves = [(columns[name], room) for name, room in rooms.items()]
        for part, groups, following in self._parts():
            a, b = [(given[part], room) for given, room in moves] + [None] * (2 - len(moves))
            group_tables.move_to_runs(groups, runs, following, a, b, self.member)
        self._problem = problem.with_columns(rooms.get("parameter"), rooms.get("weights"))

    def _parts(self) -> Iterator[tuple[slice, NDArray[np.intp], NDArray[np.uint32]]]:
        """Parts of the items, their groups, and where the next item of each run goes, which has to move on."""
        firsts = sorted([first for first, _ in self.tiles] + self.large)
        following = self.offset[firsts]
        for part in parts_of(self.given.n):
            yield part, np.ascontiguousarray(self.given.groups[part], dtype=np.intp), following

    @property
    def problem(self) -> Problem:
        """The problem of the copies."""
        self.restore()
        return self._problem

    def restore(self) -> None:
        """Bring back the column that amounts were written over, if they were."""
        if self._is_over:
            column = _columns(self.given)[self._over]
            for part, groups, following in self._parts():
                group_tables.move_to_runs(groups, self._runs, following, (column[part], self.amounts), None)
        self._is_over = False

    def target(self, place: Place) -> tuple[Any, Any]:
        """Where a settling pass writes amounts and sides."""
        self.restore()
        self._is_over = True
        if not self.side.size:
            self.side = np.empty(self.given.n, np.int8)
        return self.amounts, self.side

    def items_of(self, groups: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Entries of the columns that are items of some groups, which are in order, and of which of them each is."""
        items, labels = [], []
        for first, last in self.tiles:
            a, b = np.searchsorted(groups, [first, last])
            if a < b:
                chosen = np.zeros(last - first, dtype=bool)
                chosen[groups[a:b] - first] = True
                start, stop = int(self.offset[first]), int(self.offset[last])
                found = start + np.flatnonzero(chosen[self.member[start:stop]])
                items.append(found)
                labels.append(np.searchsorted(groups, first + self.member[found].astype(np.intp)))
        return np.concatenate(items), np.concatenate(labels)

    def release(self, place: Place) -> None:
        """The room of the amounts is in use."""

    def deliver(self, place: Place) -> None:
        """Bring the amounts and their sides where they belong; there are no passes after that."""
        del self.member, self._problem  # room for the amounts
        here, there = (self.amounts, self.side), place()
        for part, groups, following in self._parts():
            a, b = ((x, y[part]) for x, y in zip(here, there))
            group_tables.move_back(groups, self._runs, following, a, b)


def _columns(problem: Problem) -> dict[str, Any]:
    """The columns that are arrays, bounds aside."""
    columns = {"parameter": problem.criterion._parameter, "weights": problem.weights}
    return {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}


def lay_out(
    problem: Problem, names: NDArray[np.int32] | None, starts: NDArray[np.uint32], place: Place
) -> Listed | Tiled:
    """The items of a problem in tiles if there is room for copies, else listed.

    `names` (g + 1,) are the numbers of the groups, -1 first, None if they are their own; `starts` (k + 3,), which
    changes, says where each begins, after two zeros.
    """
    offset = starts[1:]
    if _room(problem, names, offset, place) <= MOST_ROOM * problem.n:
        return Tiled(problem, _runs_of(names, offset), offset, place)
    return Listed(problem, _order_by(problem.groups, names, starts), starts[:-1])


def _room(problem: Problem, names: Any, offset: NDArray[np.uint32], place: Place) -> float:
    """Bytes that a solve with copies takes, but for the threads' working space; infinite if amounts are not of a
    column's type and can't be written over it.
    """
    width, groups = place.dtype.itemsize, len(offset) if names is None else len(names)
    copies = [column.dtype.itemsize for column in _columns(problem).values()]
    if width not in copies:
        return np.inf
    searching = 2 + sum(copies)  # one of two lies in the room of the amounts
    largest = int(np.diff(offset[1:]).max(initial=0))  # it is solved beside the copies
    beside = (width + BESIDE) * largest if largest > core.TILE else 0
    by_item = max(searching * problem.n + BY_KEPT * len(offset), (searching + 1) * problem.n + BY_SETTLED * len(offset))
    return max(by_item, (2 * width + 2) * problem.n + BY_SETTLED * len(offset)) + beside + BY_GROUP * groups


def _runs_of(names: NDArray[np.int32] | None, offset: NDArray[np.uint32]) -> NDArray[np.uint32]:
    tiles, large = tile_groups(offset)
    firsts = np.sort(np.array([first for first, _ in tiles] + large, dtype=np.uint32))
    sizes = np.diff(firsts, append=np.uint32(len(offset) - 1))
    runs = np.arange(len(offset) - 1, dtype=np.uint32)
    runs += np.repeat((np.arange(firsts.size, dtype=np.uint32) << np.uint32(core.TILE_BITS)) - firsts, sizes)
    return runs if names is None else runs[names + np.int32(1)]
