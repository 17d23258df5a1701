"""Groups whose items mostly start at one price, as a host's pages of one rate and weight: those are one item.

What an item takes is its scale times a function of the price over the one at which it starts. Items of a group that
start alike take together what one item of all their scales does, of which each has its share by scale. Where all do,
the cap is that one's upper bound: a problem without groups, of as many items as there are groups.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.alike_items import SHAPES, AlikeItems, as_items, find_alike, groups_of, scales_of, starts_of
from knapsolve.nefk.beside_filled import DOUBTFUL, Solve
from knapsolve.nefk.criterion import LARGEST
from knapsolve.nefk.narrow import are_many
from knapsolve.nefk.passes import Prices, Settled, parts_of
from knapsolve.nefk.problem import Problem, check_feasible
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.room import MOST_ROOM, has_no_bounds
from knapsolve.nefk.search import STARTING

Array = NDArray[np.float64]
ALONE, BESIDE, IN_GROUPS = 47.7, 60.0, 70.0  # bytes of a group as it is solved and its amount shared out; if there are
# items beside them, of both; if these have groups
LEAST_SHARE = 1e-290  # of an item, and over its scale: less loses digits; as in csrc/nefk_kernel.c
PASSES = 1  # over all items, beside one that shares out: how they start
BY_ROUNDING = 1e-15  # over what a group takes: more than its items' shares, which have all digits, are off together


def solve_alike(
    problem: Problem, passes: Any, n_jobs: int, place: Place, solve: Solve
) -> tuple[Prices, Settled, int, Array] | None:
    """Prices, how the amounts settled, passes over the data, and own prices of groups (g,), NaN where a cap is loose;
    None where most items of a group differ, or that is not worth it. `solve` answers the smaller problem.
    """
    is_one_of_these = are_many(problem, passes) and problem.criterion._shape in SHAPES and has_no_bounds(problem)
    if not (is_one_of_these and place.dtype == np.float64 and problem.order is None and problem.capacity > 0.0):
        return None
    room = MOST_ROOM * problem.n
    alike = find_alike(problem, int(room / ALONE), int(room / BESIDE))
    if alike is None:
        return None
    others, which = alike.others, problem.groups[alike.others].astype(np.intp, copy=False)
    in_groups = bool((which >= 0).any())
    has_all = bool((which >= 0).all())
    most = float(problem.caps[alike.has_items].sum()) if has_all else math.inf
    check_feasible(problem, passes, (np.zeros(1), most))
    has_scale, one = alike.has_scale, _as_items(problem, alike, which)
    del alike
    if not _is_allowed(one) or (in_groups and one.n * IN_GROUPS > room):
        return None
    try:
        answer = solve(one, n_jobs, Place(one.n, None), math.nan)
    except InfeasibleError:  # by the rounding of sums
        return None
    if not answer.residual <= DOUBTFUL:
        return None
    over = answer.budget_residual + BY_ROUNDING
    price, count = answer.price, PASSES + math.ceil(answer.n_passes * one.n / problem.n)
    few, total = answer.amounts[: others.size].copy(), float(answer.amounts.sum())
    own, taken = _own_prices(problem, has_scale, answer, one), answer.amounts[others.size :]
    if not _share_by_scale(taken, scales_of(one, slice(others.size, None))):
        return None
    del answer, one  # room
    table = _table_of(has_scale, taken, own, price, in_groups)
    del taken
    if in_groups:  # their rows have no amounts, as they have theirs
        np.add(which, has_scale.size, out=which, where=which >= 0)
    amounts, side = place()
    amounts[others] = few
    settled = passes.share(partial(_rows_of, problem, others, which), table, amounts, side)
    settled = replace(settled, over=over)
    if not (abs(settled.total - total) <= DOUBTFUL * problem.capacity and settled.residual <= DOUBTFUL):
        place.clear()
        return None
    return Prices(price, price), settled, count, own


def _as_items(problem: Problem, alike: AlikeItems, which: NDArray[Any]) -> Problem:
    """The problem of the others, of some groups (m,), and of one item for every group that has a scale: what is left at
    price 0 is for items. In groups, unless no group has others: then with upper bounds. Scales and starts are used up.
    """
    scales, starts, caps = alike.scales, alike.starts, problem.caps
    if which.size:
        scales = np.append(scales_of(problem, alike.others), scales)
        starts = np.append(starts_of(problem, alike.others), starts)
    one = as_items(problem, scales, starts)
    if (which >= 0).any():
        return replace(one, groups=np.append(which, np.flatnonzero(alike.has_scale)), caps=caps)
    upper = caps if alike.has_scale.all() else caps[alike.has_scale]
    return replace(one, upper=np.append(np.full(which.size, np.inf), upper) if which.size else upper)


def _is_allowed(one: Problem) -> bool:
    """Whether parameters and weights are none that would overflow, or NaN; infinite rates of detection are other
    items', and known to be allowed.
    """
    columns = [one.weights] if one.criterion._shape in STARTING else [one.weights, one.criterion._parameter]
    return all(bool(np.max(column) <= LARGEST) for column in columns)


def _share_by_scale(taken: Array, scales: Array) -> bool:
    """Divide what groups take by their scales, (k,) each; False if quotients have lost digits."""
    for part in parts_of(taken.size):
        takes = taken[part] > 0.0
        taken[part] /= scales[part]
        if (takes & (taken[part] < LEAST_SHARE)).any():
            return False
    return True


def _own_prices(problem: Problem, has_scale: NDArray[np.bool_], answer: NEFKResult, one: Problem) -> Array:
    """Own prices of groups (g,), NaN where a cap is loose, of the answer of a problem whose last items are these, as
    far as they have a scale.
    """
    own, at = np.full(has_scale.size, np.nan), one.n - int(np.count_nonzero(has_scale))
    for part in parts_of(has_scale.size):
        some = part.start + np.flatnonzero(has_scale[part])
        here = slice(at, at := at + some.size)
        if answer.group_prices is None:
            taken = answer.amounts[here]
            binds = taken >= problem.caps[some]
            own[some[binds]] = one.take(here, one.capacity).passes().worth(taken)[1][binds]
        else:
            binds = answer.group_prices[part] > 0.0
            own[part][binds] = answer.price + answer.group_prices[part][binds]
    return own


def _table_of(has_scale: NDArray[np.bool_], taken: Array, own: Array, price: float, twice: bool) -> Array:
    """A table (g + 1, 2) as csrc/nefk_kernel.h has it, of what groups that have a scale take over that, of own prices,
    NaN where a cap is loose, and the budget's. If `twice`, rows of all groups without amounts follow.
    """
    groups = has_scale.size
    table = np.zeros(((2 if twice else 1) * groups + 1, 2))
    table[0] = np.nan, price
    table[1 : 1 + groups, 0][has_scale] = taken
    np.fmax(own, price, out=table[1 : 1 + groups, 1])
    if twice:
        table[1 + groups :, 0] = np.nan
        table[1 + groups :, 1] = table[1 : 1 + groups, 1]
    return table


def _rows_of(problem: Problem, others: NDArray[np.intp], rows: NDArray[np.intp], part: slice) -> NDArray[np.intp]:
    """Groups of a part of the items, but for the others, of which these rows tell."""
    groups, (first, last) = groups_of(problem, part), others.searchsorted([part.start, part.stop])
    if last > first:
        groups = groups.copy()
        groups[others[first:last] - part.start] = rows[first:last]
    return groups
