"""Groups whose items mostly start at one price, as a host's pages of one rate and weight: those are one item.

What an item of detection or freshness takes is its rate times a function of the price over the one at which it starts.
Items of a group that start alike take together what one item of all their rates does, of which each has its share by
rate. Where all do, the cap is that one's upper bound: a problem without groups, of as many items as there are groups.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_sums as group_sums
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.alike_items import AlikeItems, even_rates, even_starts, find_alike, groups_of
from knapsolve.nefk.beside_filled import DOUBTFUL, Solve
from knapsolve.nefk.criteria import Detection
from knapsolve.nefk.narrow import narrows
from knapsolve.nefk.passes import Prices, Settled, parts_of
from knapsolve.nefk.problem import Problem, check_feasible
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.room import MOST_ROOM, has_no_bounds
from knapsolve.nefk.search import STARTING

Array = NDArray[np.float64]
BY_ITEM = 60  # bytes of a group, or of an item beside others, as these are solved and their amounts shared out
PASSES = 2  # over all items, beside one that shares out: how they start, and what groups take in the end


def solve_alike(
    problem: Problem, passes: Any, n_jobs: int, place: Place, solve: Solve
) -> tuple[Prices, Settled, int, Array] | None:
    """Prices, how the amounts settled, passes over the data, and own prices of groups (g,), NaN where a cap is loose;
    None where most items of a group differ, or that is not worth it. `solve` answers the smaller problem.
    """
    is_one_of_these = narrows(problem, passes) and problem.criterion._shape in STARTING and has_no_bounds(problem)
    if not (is_one_of_these and place.dtype == np.float64 and problem.order is None and problem.capacity > 0.0):
        return None
    alike = find_alike(problem, int(MOST_ROOM / BY_ITEM * problem.n))
    if alike is None:
        return None
    others, which = alike.others, problem.groups[alike.others].astype(np.intp, copy=False)
    in_groups = bool((which >= 0).any())
    has_all = bool((which >= 0).all())
    most = float(problem.caps[~np.isnan(alike.starts)].sum()) if has_all else math.inf
    check_feasible(problem, passes, (np.zeros(1), most))
    one, has_rate = _as_items(problem, alike, which), alike.rates > 0.0
    del alike
    try:
        answer = solve(one, n_jobs, Place(one.n, None), math.nan)
    except InfeasibleError:  # by the rounding of sums
        return None
    if not answer.residual <= DOUBTFUL:
        return None
    price, count = answer.price, PASSES + math.ceil(answer.n_passes * one.n / problem.n)
    few, total = answer.amounts[: others.size].copy(), float(answer.amounts.sum())
    own, table = _price_groups(problem, has_rate, answer, one)
    del answer, one  # room
    if in_groups:  # a table of those that have their amounts follows
        np.add(which, len(problem.caps), out=which, where=which >= 0)
        table = np.vstack([table, np.column_stack([np.full(len(problem.caps), np.nan), table[1:, 1]])])
    amounts, side = place()
    amounts[others] = few
    settled = passes.share(partial(_rows_of, problem, others, which), table, amounts, side)
    del table
    settled = replace(settled, over=_over(problem, own, amounts))
    is_all = abs(settled.total - total) <= DOUBTFUL * problem.capacity
    if not (is_all and settled.residual <= DOUBTFUL and settled.over <= DOUBTFUL):
        place.clear()
        return None
    return Prices(price, price), settled, count, own


def _as_items(problem: Problem, alike: AlikeItems, which: NDArray[Any]) -> Problem:
    """The problem of the others, of some groups (m,), and of one item for every group that has a rate: what is left at
    price 0 is for items. In groups, unless no group has others: then with upper bounds.
    """
    starts, rates, has_rate = alike.starts, alike.rates, alike.rates > 0.0
    caps, has_all = problem.caps, has_rate.all()
    if not has_all:
        starts, rates = starts[has_rate], rates[has_rate]
    if which.size:
        alone = problem.take(alike.others, problem.capacity)
        starts, rates = np.append(even_starts(alone), starts), np.append(even_rates(alone), rates)
        del alone  # room
    one = replace(problem, criterion=Detection(rates), n=rates.size, weights=starts)
    if (which >= 0).any():
        return replace(one, groups=np.append(which, np.flatnonzero(has_rate)))
    upper = caps if has_all else caps[has_rate]
    if which.size:
        upper = np.append(np.full(which.size, np.inf), upper)
    return replace(one, groups=None, caps=np.empty(0), upper=upper)


def _price_groups(
    problem: Problem, has_rate: NDArray[np.bool_], answer: NEFKResult, one: Problem
) -> tuple[Array, Array]:
    """Own prices of groups (g,), NaN where a cap is loose, and a table (g + 1, 2) as csrc/nefk_kernel.h has it, of the
    answer of a problem whose last items are these, as far as they have a rate.
    """
    groups, at = len(problem.caps), one.n - int(np.count_nonzero(has_rate))
    own, table = np.full(groups, np.nan), np.zeros((groups + 1, 2))
    table[0] = np.nan, answer.price
    for part in parts_of(groups):
        some = part.start + np.flatnonzero(has_rate[part])
        here = slice(at, at := at + some.size)
        taken = answer.amounts[here]
        table[1 + some, 0] = taken / even_rates(one, here)
        if answer.group_prices is None:
            binds = taken >= problem.caps[some]
            own[some[binds]] = one.take(here, one.capacity).passes().worth(taken)[1][binds]
        else:
            binds = answer.group_prices[part] > 0.0
            own[part][binds] = answer.price + answer.group_prices[part][binds]
    np.fmax(own, answer.price, out=table[1:, 1])
    return own, table


def _rows_of(problem: Problem, others: NDArray[np.intp], rows: NDArray[np.intp], part: slice) -> NDArray[np.intp]:
    """Groups of a part of the items, but for the others, of which these rows tell."""
    groups, (first, last) = groups_of(problem, part), others.searchsorted([part.start, part.stop])
    if last > first:
        groups = groups.copy()
        groups[others[first:last] - part.start] = rows[first:last]
    return groups


def _over(problem: Problem, own: Array, amounts: Array) -> float:
    """The largest relative error of a group's total where its cap binds, and excess where not."""
    sums, lost = np.zeros((2, len(problem.caps) + 1))
    for part in parts_of(problem.n):
        group_sums.add_by_group(groups_of(problem, part), amounts[part], sums, lost)
    np.add(sums, lost, out=sums)
    gap = np.subtract(sums[1:], problem.caps, out=lost[1:])
    with np.errstate(all="ignore"):
        gap /= problem.caps
    np.abs(gap, out=gap, where=~np.isnan(own))
    gap[(problem.caps == np.inf) | (sums[1:] == 0.0)] = 0.0  # any other NaN stays
    return float(np.max(gap, initial=0.0))
