"""Solves with groups but without the caps that are surely loose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.all_but import set_aside
from knapsolve.nefk.beside_filled import Solve
from knapsolve.nefk.first_prices import price_beside_caps
from knapsolve.nefk.group_order import LARGEST_ORDER
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_totals import SURELY, GroupTotals, capped_sums
from knapsolve.nefk.groups import LowAnswer, solve_groups
from knapsolve.nefk.in_order import leave_in_order
from knapsolve.nefk.kept_caps import Reduced, named_groups
from knapsolve.nefk.kept_groups import put_back
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.loose_caps import ROUGH, reduce
from knapsolve.nefk.narrow import are_many
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem, check_feasible
from knapsolve.nefk.result import Place
from knapsolve.nefk.room import room_beside_copies, share_beside_filled
from knapsolve.nefk.sampled_items import sampled_groups_of
from knapsolve.nefk.search import SUBNORMAL, step
from knapsolve.nefk.single import find_and_settle, new_search
from knapsolve.nefk.tight_caps import fill_and_solve, may_fill

Array = NDArray[np.float64]
MOST_GUESSED = 3200  # items of which a first price is guessed, as a sample of groups follows
ABOVE = 1e-3  # of a price that is known within a thousandth of that
EXPECTED = 1.6  # error of a sample's price times the square root of its size, where all caps are likely to be kept


def solve_reduced(
    problem: Problem,
    passes: Any,
    n_jobs: int,
    place: Place,
    solve: Solve,
    fills: bool = True,
    leaves_out: bool = True,
) -> tuple[Prices, Settled, int, Array] | None:
    """Prices, how the amounts settled, passes over the data beside those of `passes`, and own prices of groups (g,),
    NaN where a cap is loose; None where that is not worth it.

    What a sample makes likely is tried, and given up where it misleads: with `fills`, caps that are likely to bind are
    filled first where they are most, and `solve` answers the rest; if it `leaves_out`, items that are likely to take
    nothing are not looked at.
    """
    reduced = _reduce(problem, passes, n_jobs, place, fills, leaves_out)
    if reduced is None:
        return None
    kept, own = reduced.kept, np.empty(0)
    some = replace(problem, caps=reduced.caps)
    if some.caps.size:
        found = _solve_with_caps(some, reduced, n_jobs, place, solve if fills else None)
        if found is None:
            fills = fills and reduced.active is not None
            del some, reduced, kept  # room
            return solve_reduced(problem, passes, n_jobs, place, solve, fills, False)
        prices, settled, count, own = found
    else:
        prices, settled = _solve_without_caps(some, passes, reduced, n_jobs, place)
        count = 0
    count += reduced.count
    del some, reduced  # room for the prices
    return prices, settled, count, own if own.size == kept.size else put_back(own, kept, n_jobs)


def _reduce(
    problem: Problem, passes: Any, n_jobs: int, place: Place, fills: bool, leaves_out: bool
) -> Reduced | None:
    """The problem without the caps that are surely loose; None where no price tells, or capacity may be left over
    that a negative price would use.
    """
    if not (are_many(problem, passes) and problem.n < LARGEST_ORDER):
        return None
    every = sampled_groups_of(problem.n)
    expected = ROUGH * EXPECTED * math.sqrt(every * problem.n)
    totals = GroupTotals(
        problem, passes.items, n_jobs, every, lambda: room_beside_copies(problem, 0, place) > expected
    )
    least, most = check_feasible(problem, passes, totals.bounds_by_group()).whole()
    if least >= problem.capacity * (1 - SLACK):
        return None
    beside = price_beside_caps(problem, totals.sum_of_caps(), totals.ungrouped_items, n_jobs)
    search = new_search(problem, passes, beside, most, MOST_GUESSED)
    is_met = search[core.STATE] == core.MET
    if passes.shape == core.QUADRATIC and not (problem.equality or is_met):  # its price could be negative
        if capped_sums(totals, *totals.respond(0.0).T)[0] * (1.0 - SURELY) <= problem.capacity:
            return None
        search[core.LOW], search[core.PRICE] = 0.0, abs(search[core.PRICE])
    named, largest, highest = named_groups(totals), totals.largest(), math.nan
    room = room_beside_copies(problem, largest, place, named)
    if named is not None and not room:  # names take room, too
        named, room = None, room_beside_copies(problem, largest, place)
    if fills:  # a price beside caps is that of all items of no group here: see ungrouped_items
        highest = SUBNORMAL if is_met else beside * (1.0 + ABOVE)
    if not (is_met or search[core.STATE] == core.RUNNING):
        return None
    most_left = share_beside_filled(problem, place, named=named) if fills else -1.0
    return reduce(totals, search, room, highest, most_left, leaves_out, named is not None)


def _solve_without_caps(
    some: Problem, passes: Any, reduced: Reduced, n_jobs: int, place: Place
) -> tuple[Prices, Settled]:
    """The answer where all caps are loose."""
    search = reduced.search
    before, sums = float(search[core.PRICE]), reduced.known.pop()
    step(search, passes.shape, *(float(x[0]) for x in sums))
    amounts, side = place()
    is_rounded = amounts.dtype != np.float64  # then sides are those after that
    alone = replace(some, groups=None)
    found = find_and_settle(alone, passes, search, amounts, None if is_rounded else side, n_jobs, before)
    if is_rounded:
        place.mark_sides(some.lower, some.upper)
    return found


def _solve_with_caps(
    some: Problem, reduced: Reduced, n_jobs: int, place: Place, solve: Solve | None
) -> tuple[Prices, Settled, int, Array] | None:
    """The answer, with own prices of the groups that are left (k,): few items of them are set aside, unless that costs
    digits. With `solve`, None if caps were filled and too few of them bind, or if items were left out that take
    something.
    """
    count, first = 0, reduced.search.copy()
    layout: Any = set_aside(some, reduced.tables, reduced.known, n_jobs, reduced.listed, reduced.active is None)
    while True:
        is_aside, search = layout is not None, first.copy()
        is_known, keeps_used = bool(reduced.known), reduced.keeps_used
        layout = layout or leave_in_order(some, reduced.tables, place, n_jobs, is_known)
        layout = layout or lay_out(some, reduced.tables, place, n_jobs, is_known, reduced.active, keeps_used)
        if solve and reduced.above and may_fill(layout):
            between = float(search[core.PRICE]), reduced.above
            named = reduced.kept if some.caps.size < reduced.kept.size else None
            return fill_and_solve(some, layout, between, n_jobs, place, solve, named)
        grouped = GroupPasses(some, n_jobs, layout)
        try:
            prices, own, settled = solve_groups(grouped, search, place, reduced.known, reduced.curve)
        except LowAnswer:
            return None
        if prices.low < grouped.least:
            return None
        count += grouped.count
        del grouped  # room for the amounts
        if not is_aside or layout.others.is_exact:
            layout.deliver(place)
            return prices, settled, count, own
        layout.release(place)
        del prices, own, settled
        layout = None
