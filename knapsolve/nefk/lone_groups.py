"""Groups of one item each: their caps are upper bounds, and their prices what the items are worth there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve.nefk.passes import parts_of
from knapsolve.nefk.problem import Problem

FEW = 2  # items for every group from which on no look is worth it
SURE = 5  # times the square root of the number of groups: so many items seldom have one each, if groups have two


def as_bounds(problem: Problem) -> Problem | None:
    """The problem with upper bounds in place of caps; None if a group has several items or asks for an error."""
    if problem.n > FEW * len(problem.caps):
        return None
    few = SURE * math.isqrt(len(problem.caps))  # before there is a table, of which they would touch most pages
    first = problem.groups[:few]
    first = np.sort(first[first >= 0])
    if (first[1:] == first[:-1]).any():
        return None
    count = np.zeros(len(problem.caps) + 1, dtype=np.uint32)
    for part in parts_of(problem.n):
        groups = np.ascontiguousarray(problem.groups[part], dtype=np.intp)
        group_layout.count_groups(groups, count)
        if (count[1 + groups[groups >= 0]] > 1).any():
            return None
    del count
    upper = np.empty(problem.n)
    for part in parts_of(problem.n):
        cap = _caps(problem, part)
        if (cap < _part_of(problem.lower, part)).any():
            return None
        np.minimum(_part_of(problem.upper, part), cap, out=upper[part])
    return replace(problem, groups=None, upper=upper)


def price_caps(problem: Problem, side: NDArray[np.int8]) -> NDArray[np.float64]:
    """Own prices of the groups (g,), NaN where a cap is loose, of amounts at these sides of the bounds of `as_bounds`.

    `side` changes to that of the problem's own bounds.
    """
    own = np.full(len(problem.caps), np.nan)
    for part in parts_of(problem.n):
        cap, place = _caps(problem, part), side[part]
        fixed = (place == -1) & (cap <= _part_of(problem.lower, part))
        which = np.flatnonzero(((place == 1) | fixed) & (cap < _part_of(problem.upper, part)))
        place[which[place[which] == 1]] = 0
        if which.size:
            passes = problem.take(part.start + which, 1.0).passes()
            own[problem.groups[part][which]] = passes.worth(cap[which])[1]
    return own


def _part_of(column: Any, part: slice) -> Any:
    return column[part] if isinstance(column, np.ndarray) else column


def _caps(problem: Problem, part: slice) -> NDArray[np.float64]:
    """Caps of the groups of the items of a part, infinite without a group."""
    groups = problem.groups[part]
    return np.where(groups >= 0, problem.caps[groups], np.inf)
