"""How the items of groups lie in memory: listed group by group, or copied to lie side by side with their run's.

Through a list (four bytes an item) every entry of every column is read at random, and every amount written so. Copies
are made and undone in sequence, each item moved to the end of its run, and within a run all is in the cache; but they
take room: amounts are written over the last column copied, which is copied again if it is needed after that, and
another column lies where the caller wants the amounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
import knapsolve.nefk.room as room
from knapsolve.nefk.active_items import Active
from knapsolve.nefk.criterion import Indexed
from knapsolve.nefk.group_order import (
    LARGEST_ORDER,
    are_in_order,
    count_starts,
    from_both_ends,
    order_by,
    sort_by_group,
)
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.runs import Runs

Starts = NDArray[np.uint32] | Runs  # where groups begin, or the runs of groups that are not placed yet
FEW_LISTED = 200_000  # items of which two columns stay in the cache, whatever the order they are read in
MOST_NAMES, WORTH_COPYING = 1 << 20, 0.45  # that caches hold, and the share of items that else must have caps


class Listed:
    """Items group by group, through their positions `order` (n,); None if they lie so. Those alone that are active, if
    that is known; the others take nothing.
    """

    member: Any = None
    most_rough = LARGEST_ORDER

    def __init__(
        self, problem: Problem, order: NDArray[np.uint32] | None, runs: Runs, active: Active | None = None
    ) -> None:
        self.problem = self.given = problem
        self.order, self.runs, self.active = order, runs, active

    def restore(self) -> None:
        """Nothing was written over."""

    def has_room_for(self, part: Problem, copies: int) -> bool:
        """Whether so many copies of some of the items fit beside the list and the answer."""
        return room.may_copy(part, copies, self.given.n, len(self.runs.starts))

    def target(self, place: Place) -> NDArray[Any]:
        """Where a settling pass writes amounts."""
        amounts = place.amounts()
        if self.active is not None:
            amounts[:] = 0.0
        return amounts

    def items_of(self, groups: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Entries of the columns that are items of some groups, which are in order, and of which of them each is."""
        items, which = self.runs.items_of(groups)
        return items if self.order is None else self.order[items], which

    def release(self, place: Place) -> None:
        """Give back the room of amounts that are not the answer."""
        place.clear()

    def deliver(self, place: Place) -> None:
        """The amounts are where they belong: mark their sides."""
        place.mark_sides(self.given.lower, self.given.upper)


def list_items(problem: Problem) -> Listed:
    """The items of a problem, all of whose groups have caps, listed."""
    order, offset = sort_by_group(problem.groups, len(problem.caps))
    return Listed(problem, order, Runs(offset, False))  # of no use to a list


def copy_few(problem: Problem, place: Place, n_jobs: int) -> Tiled | None:
    """The items of a problem, all of whose groups have caps, in tiles, where they are so few that room for that is no
    matter, but enough for it to be worth it; else None.
    """
    columns = problem.columns()
    if not (room.are_few(problem) and any(column.dtype == place.dtype for column in columns.values())):
        return None
    if are_in_order(problem.groups):
        return None
    runs = Runs(count_starts(problem.groups, len(problem.caps))[1:])
    entries = _entries_of(None, runs, room.have_table(runs, problem.n))
    return Tiled(problem, columns, entries, runs, place, n_jobs, LARGEST_ORDER)


class Tiled:
    """Copies of some of the items' columns, run by run, beside a list of where the others' entries are. `entries`
    (g + 1,) says of groups, -1 first, where their items go: the number of their run, and their own within it in the
    last bits; or how that is found, as `Runs.even` or `Runs.guesses` has it.

    With several jobs, items are moved from both ends: the copies are the same. If it is known which items are `active`,
    the others are left out, and take nothing.
    """

    order = None
    active: Active | None = None
    writes_over = True  # amounts over a column

    def __init__(
        self,
        problem: Problem,
        columns: dict[str, NDArray[Any]],
        entries: Any,
        runs: Runs,
        place: Place,
        n_jobs: int,
        most_rough: int,
        active: Active | None = None,
    ) -> None:
        self.given, self._entries, self.runs, self._n_jobs = problem, entries, runs, n_jobs
        self.most_rough, self.active = most_rough, active  # items that a model has room for
        same = [name for name, column in columns.items() if column.dtype == place.dtype]
        there = same[0] if len(same) > 1 else None  # the column that lies where the caller wants the amounts
        n = problem.n if active is None else active.n
        rooms = {name: place.amounts()[:n] if name == there else np.empty(n, x.dtype) for name, x in columns.items()}
        self.member: Any = np.empty(n, np.uint16)
        self._given = columns
        self._over = same[-1]  # the column that amounts are written over
        self.amounts = rooms[self._over]
        self._is_over = False
        others = [name for name in problem.columns() if name not in columns]
        listed = np.empty(n if others else 0, np.uint32)
        moves: list[tuple[Any, NDArray[Any]]] = [(columns[name], room) for name, room in rooms.items()]
        moves += [(None, listed)] if others else []

        def move(part: slice, groups: Any, entries: Any, following: Any, *how: Any) -> None:
            numbers = np.arange(part.start, part.stop, dtype=np.uint32) if others else None
            pairs = [(numbers if given is None else given[part], room) for given, room in moves]
            for first in range(0, len(pairs), 2):
                own, member = following if first + 2 >= len(pairs) else following.copy(), None if first else self.member
                a, b = (*pairs[first : first + 2], None)[:2]
                group_layout.move_to_runs(groups, entries, own, *how, a, b, member)

        self._move(move)
        runs.place_groups(self.member, n_jobs)
        indexed = {name: Indexed(problem.columns()[name], listed) for name in others}
        self._problem: Any = replace(problem.with_columns(rooms | indexed), n=n)

    def _move(self, work: Callable[..., None]) -> None:
        """`work(part, groups, entries, following, down, active)` of all parts of the items, their groups, where these
        go, where the next item of each run does, which has to move on, whether the parts are taken from the last one
        back, and which items are active.
        """

        def work_all(parts: Iterator[slice], down: bool) -> None:
            following = self.runs.table[:, 3 if down else 2].astype(np.uint32)
            for part in parts:
                groups = np.ascontiguousarray(self.given.groups[part], dtype=np.intp)
                active = None if self.active is None else self.active.of(part)
                work(part, groups, self._entries, following, down, active)

        from_both_ends(work_all, self.given.n, self._n_jobs)

    @property
    def problem(self) -> Problem:
        """The problem of the copies."""
        self.restore()
        return self._problem

    def restore(self) -> None:
        """Bring back the column that amounts were written over, if they were."""
        if self._is_over:
            column = self._given[self._over]
            self._move(lambda part, *where: group_layout.move_to_runs(*where, (column[part], self.amounts), None))
        self._is_over = False

    def target(self, place: Place) -> NDArray[Any]:
        """Where a settling pass writes amounts."""
        self.restore()
        self._is_over = True
        return self.amounts

    def items_of(self, groups: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Entries of the columns that are items of some groups, which are in order, and of which of them each is."""
        items, labels = [], []
        for run, some in self.runs.having(groups):
            chosen = np.zeros(run.last - run.first, dtype=bool)
            chosen[groups[some] - run.first] = True
            found = run.begin + np.flatnonzero(chosen[self.member[run.begin : run.end]])
            items.append(found)
            labels.append(np.searchsorted(groups, run.first + self.member[found].astype(np.intp)))
        return np.concatenate(items), np.concatenate(labels)

    def release(self, place: Place) -> None:
        """The room of the amounts is in use."""

    def take(self, which: NDArray[np.uint32], over: NDArray[Any], capacity: float) -> tuple[Problem, NDArray[Any]]:
        """The problem of some items, by their entries and what amounts were written over of them; and these amounts."""
        some = self._problem.take(which, capacity, self._n_jobs)
        return some.with_columns({self._over: over}), some.columns()[self._over]

    @property
    def table_bytes(self) -> int:
        """What the table of where items go takes, if there is one."""
        return self._entries.nbytes if isinstance(self._entries, np.ndarray) else 0

    def forget_groups(self) -> None:
        """Give back the room of what is known of groups; there are no passes after that."""
        self.member, self.runs.starts = None, np.empty(0, np.uint16)

    def forget(self) -> None:
        """Give the room of the items back, too."""
        self.forget_groups()
        self._problem = None

    def deliver(self, place: Place) -> None:
        """Bring the amounts where they belong, and mark their sides; there are no passes after that."""
        self.forget()  # room for the amounts
        there, _ = place()

        def move(part: slice, *where: Any) -> None:
            if self.active is not None:
                there[part] = 0.0
            group_layout.move_back(*where, (self.amounts, there[part]))
            place.mark_part(part, self.given.lower, self.given.upper)  # while they are in the cache

        self._move(move)
        self.amounts, self._entries = there, None  # room


def lay_out(
    problem: Problem,
    tables: list[tuple[NDArray[np.int32] | None, Starts]],
    place: Place,
    n_jobs: int = 1,
    known: bool = False,
    active: Active | None = None,
    keeps_used: bool = False,
) -> Listed | Tiled:
    """The items of a problem in tiles if there is room for copies, but for those that are not active, else listed.

    Of the tables, which are taken out of their list and used up, the first are names (g + 1,) of the groups, -1 first,
    None if they are their own; the second (k + 3,) says where each begins, after two zeros, or are the runs. Totals may
    be `known`. With `keeps_used`, all groups that have items keep their caps.
    """
    names, starts = tables.pop()
    runs = starts if isinstance(starts, Runs) else Runs(starts[1:])
    if keeps_used or _is_worth_it(problem, names, runs):
        has_table = names is None and room.have_table(runs, problem.n)
        for columns, by_table in product(room.columns_to_copy(problem), (True, False) if has_table else (False,)):
            most = room.most_rough(problem, columns, names, runs, place, known, by_table)
            if room.is_enough(problem, most):
                del starts  # room for copies
                return Tiled(problem, columns, _entries_of(names, runs, by_table), runs, place, n_jobs, most, active)
    if isinstance(starts, Runs):
        return list_items(problem)
    if names is None and are_in_order(problem.groups):
        return Listed(problem, None, runs)
    order = order_by(problem.groups, names, starts, n_jobs, None if active is None else active.bits)
    if active is not None:
        active.forget_bits()
    return Listed(problem, order, runs, active)


def _is_worth_it(problem: Problem, names: Any, runs: Runs) -> bool:
    """Whether copies cost less than a list: all items are moved and back, while only those of groups are listed."""
    if names is None:
        return True
    if problem.n <= FEW_LISTED and len(problem.columns()) <= 2:
        return False
    if len(names) <= MOST_NAMES:
        return True
    return problem.n - runs.ungrouped() >= WORTH_COPYING * problem.n


def _entries_of(names: NDArray[np.int32] | None, runs: Runs, by_table: bool) -> Any:
    """Where items of groups go, as Tiled asks for it: written over the names, or in a table if there are none."""
    if names is None and not by_table:
        return runs.even or runs.guesses
    entries = np.arange(len(runs.starts), dtype=np.uint32)
    for number, run in enumerate(runs.every):
        entries[run.first : run.last] += np.uint32((number << core.TILE_BITS) - run.first & 0xFFFFFFFF)
    if names is None:
        return entries
    group_tables.take_named(names, entries)
    return names.view(np.uint32)
