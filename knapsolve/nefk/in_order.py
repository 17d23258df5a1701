"""Items that are in order by group as they come: passes over groups leave them where they are, and copy nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve.nefk.room as room
from knapsolve.nefk.group_order import are_in_order
from knapsolve.nefk.layouts import Starts, Tiled
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.runs import Runs


class InOrder(Tiled):
    """The items' own columns, run by run; amounts have room of their own."""

    writes_over = False

    def __init__(self, problem: Problem, runs: Runs, place: Place, n_jobs: int, most_rough: int) -> None:
        self.given, self.runs, self._n_jobs, self.most_rough, self._entries = problem, runs, n_jobs, most_rough, None
        self.amounts = np.empty(0, place.dtype)  # until they are written
        self.member = np.empty(problem.n, np.uint16)
        for run in runs.every:  # the items of no group, -1, are the first one's
            some = slice(run.begin, run.end)
            np.subtract(problem.groups[some], run.first - 1, out=self.member[some], dtype=np.intp, casting="unsafe")
        runs.place_groups(self.member, n_jobs)
        self._problem: Any = problem.with_columns({})

    @property
    def problem(self) -> Problem:
        """The problem of the columns."""
        return self._problem

    def restore(self) -> None:
        """Nothing was written over."""

    def target(self, place: Place) -> NDArray[Any]:
        """Where a settling pass writes amounts."""
        self.amounts = place.amounts()
        return self.amounts

    def take(self, which: NDArray[np.uint32], over: NDArray[Any], capacity: float) -> tuple[Problem, NDArray[Any]]:
        """The problem of some items, by their entries; and what they take."""
        return self._problem.take(which, capacity, self._n_jobs), self.amounts[which]

    def deliver(self, place: Place) -> None:
        """The amounts are where they belong: mark their sides; there are no passes after that."""
        self.forget()
        place.mark_sides(self.given.lower, self.given.upper)


def leave_in_order(
    problem: Problem, tables: list[tuple[NDArray[np.int32] | None, Starts]], place: Place, n_jobs: int, known: bool
) -> InOrder | None:
    """The items of a problem where they are, if they are in order by group, of which all caps are kept; else None.

    The tables are those of `layouts.lay_out`: taken out of their list and used up, or left alone.
    """
    names, starts = tables[0]
    if names is not None or not are_in_order(problem.groups):
        return None
    runs = starts if isinstance(starts, Runs) else Runs(starts[1:])
    most = room.most_rough_in_order(problem, runs, place, known)
    if not room.is_enough(problem, most):
        return None
    tables.pop()
    return InOrder(problem, runs, place, n_jobs, most)
