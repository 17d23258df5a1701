"""Groups whose items all start at one price, as a host's pages of one rate and weight: each is one item.

What an item of detection or freshness takes is its rate times a function of the price over the one at which it starts.
Items of a group that start alike take together what one item of all their rates does, and its cap is that one's upper
bound: the problem without groups of as many items as there are groups, from which each item takes its share by rate.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.beside_filled import DOUBTFUL, Solve
from knapsolve.nefk.criteria import Detection
from knapsolve.nefk.narrow import narrows
from knapsolve.nefk.passes import Prices, Settled, parts_of
from knapsolve.nefk.problem import Problem, check_feasible, odd_stride
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.room import MOST_ROOM, has_no_bounds
from knapsolve.nefk.search import STARTING

Array = NDArray[np.float64]
BY_ITEM = 60  # bytes of a group, or an item of none, as these are solved and their amounts shared out
PAIRS = (2, 8)  # of one group among items that are looked at first, if groups are even, and then
LEAST, MOST = 1e-150, 1e150  # prices at which items start, if they do
PASSES = 2  # over all items, beside one that shares out: how they start, and what groups take in the end


def solve_alike(
    problem: Problem, passes: Any, n_jobs: int, place: Place, solve: Solve
) -> tuple[Prices, Settled, int, Array] | None:
    """Prices, how the amounts settled, passes over the data, and own prices of groups (g,), NaN where a cap is loose;
    None where items of a group differ, or that is not worth it. `solve` answers the problem without groups.
    """
    is_one_of_these = narrows(problem, passes) and problem.criterion._shape in STARTING and has_no_bounds(problem)
    if not (is_one_of_these and place.dtype == np.float64 and problem.order is None and _may_be_alike(problem)):
        return None
    without = _without_group(problem, int(MOST_ROOM / BY_ITEM * problem.n))
    if without is None:
        return None
    summed = _sum_rates(problem)
    if summed is None:
        return None
    starts, rates = summed
    most = math.inf if without.size else float(problem.caps[~np.isnan(starts)].sum())
    check_feasible(problem, passes, (np.zeros(1), most))
    one = _as_items(problem, without, np.nan_to_num(starts, copy=False), rates)
    del summed, starts, rates
    try:
        answer = solve(one, n_jobs, Place(one.n, None), math.nan)
    except InfeasibleError:  # by the rounding of sums
        return None
    if not answer.residual <= DOUBTFUL:
        return None
    own, table = _price_groups(problem, one, answer)
    price, count, alone = answer.price, PASSES + math.ceil(answer.n_passes * one.n / problem.n), without.size
    few, total = answer.amounts[:alone].copy(), float(answer.amounts.sum())
    del answer, one  # room
    amounts, side = place()
    amounts[without] = few
    settled = passes.share(partial(_groups_of, problem), table, amounts, side)
    del table
    settled = replace(settled, over=_over(problem, own, amounts))
    is_all = abs(settled.total - total) <= DOUBTFUL * problem.capacity
    if not (is_all and settled.residual <= DOUBTFUL and settled.over <= DOUBTFUL):
        place.clear()
        return None
    return Prices(price, price), settled, count, own


def _as_items(problem: Problem, without: NDArray[np.intp], starts: Array, rates: Array) -> Problem:
    """The problem of the items that have no group, and of one item for every group, which takes nothing if it has no
    rate: what is left at price 0 is for items.
    """
    upper = problem.caps if (rates > 0.0).all() else np.where(rates > 0.0, problem.caps, 0.0)
    if without.size:
        alone = problem.take(without, problem.capacity)
        starts, rates = np.append(_even(alone.starts(), alone.n), starts), np.append(_rates(alone), rates)
        upper = np.append(np.full(without.size, np.inf), upper)
    one = replace(problem, criterion=Detection(rates), n=rates.size, weights=starts, upper=upper)
    return replace(one, groups=None, caps=np.empty(0))


def _price_groups(problem: Problem, one: Problem, answer: NEFKResult) -> tuple[Array, Array]:
    """Own prices of groups (g,), NaN where a cap is loose, and a table (g + 1, 2) as csrc/nefk_kernel.h has it, of the
    answer of a problem whose last items are these.
    """
    groups = len(problem.caps)
    own, table = np.full(groups, np.nan), np.empty((groups + 1, 2))
    table[0] = 0.0, answer.price
    for part in parts_of(groups):
        here = slice(one.n - groups + part.start, one.n - groups + part.stop)
        items = one.take(here, one.capacity)
        rates, taken = _rates(items), answer.amounts[here]
        binds = (taken >= problem.caps[part]) & (rates > 0.0)
        own[part][binds] = items.passes().worth(taken)[1][binds]
        with np.errstate(all="ignore"):
            table[1:, 0][part] = np.where(rates > 0.0, taken / rates, 0.0)
    np.fmax(own, answer.price, out=table[1:, 1])
    return own, table


def _even(column: Any, size: int) -> Array:
    """A column of so many items, of which one may stand for all, as doubles."""
    return np.ascontiguousarray(np.broadcast_to(column, size), dtype=np.float64)


def _rates(problem: Problem, part: slice = slice(None)) -> Array:
    """Rates of some items."""
    rates = problem.criterion._parameter
    return _even(rates[part] if isinstance(rates, np.ndarray) else rates, len(range(*part.indices(problem.n))))


def _may_be_alike(problem: Problem) -> bool:
    """Whether items of one group that come upon each other among some start alike: if none do, nothing tells. Most
    problems are told by items evenly spread, and those next to them; groups that come in turn, by others by chance.
    """
    n, even, more = problem.n, *(math.isqrt(2 * pairs * len(problem.caps)) + pairs for pairs in PAIRS)
    first = np.arange(0, n - 1, odd_stride(max(2 * n // even, 2)))
    if _tell(problem, np.append(first, first + 1)) is False:
        return False
    first = np.random.default_rng(n).integers(n - 1, size=more // 2)
    return _tell(problem, np.unique(np.append(first, first + 1))) is True


def _tell(problem: Problem, which: NDArray[np.intp]) -> bool | None:
    """Whether those of some items that are of one group start alike; None if there are none."""
    which = which[np.argsort(problem.groups[which])]
    groups = problem.groups[which]
    later = 1 + np.flatnonzero((groups[1:] == groups[:-1]) & (groups[1:] >= 0))
    if not later.size:
        return None
    return bool((problem.starts(which[later - 1]) == problem.starts(which[later])).all())


def _without_group(problem: Problem, most: int) -> NDArray[np.intp] | None:
    """Positions of the items that have no group; None if that and the groups make more than so many."""
    parts, room = [np.empty(0, dtype=np.intp)], most - len(problem.caps)
    for part in parts_of(problem.n) if room >= 0 else ():
        parts.append(part.start + np.flatnonzero(problem.groups[part] < 0))
        room -= parts[-1].size
        if room < 0:
            break
    return np.concatenate(parts) if room >= 0 else None


def _groups_of(problem: Problem, part: slice) -> NDArray[np.intp]:
    return np.ascontiguousarray(problem.groups[part], dtype=np.intp)


def _sum_rates(problem: Problem) -> tuple[Array, Array] | None:
    """Where the items of every group start (g,), NaN of groups without any, and the sums of their rates (g,); None if
    those of one do not start alike.
    """
    table = np.zeros((len(problem.caps), 3))
    table[:, 0] = np.nan
    for part in parts_of(problem.n):
        rates = _rates(problem, part)
        starts = _even(problem.starts(part), rates.size)
        if not group_layout.add_alike(_groups_of(problem, part), starts, rates, table, LEAST, MOST):
            return None
    sums = table[:, 1] + table[:, 2]
    return (table[:, 0].copy(), sums) if np.isfinite(sums).all() else None


def _over(problem: Problem, own: Array, amounts: Array) -> float:
    """The largest relative error of a group's total where its cap binds, and excess where not."""
    sums, lost = np.zeros((2, len(problem.caps) + 1))
    for part in parts_of(problem.n):
        group_layout.add_by_group(_groups_of(problem, part), amounts[part], sums, lost)
    np.add(sums, lost, out=sums)
    gap = np.subtract(sums[1:], problem.caps, out=lost[1:])
    with np.errstate(all="ignore"):
        gap /= problem.caps
    np.abs(gap, out=gap, where=~np.isnan(own))
    gap[(problem.caps == np.inf) | (sums[1:] == 0.0)] = 0.0  # any other NaN stays
    return float(np.max(gap, initial=0.0))
