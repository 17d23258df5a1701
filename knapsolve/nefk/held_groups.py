"""Solves with groups, without the items that upper bounds are sure to hold.

A group whose items may all be at their upper bounds has a loose cap. Of such groups, and of items without one, those
items count alone that leave their bounds at a price above the answer's: they, and the groups that caps may bind, are a
problem of their own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.beside_filled import DOUBTFUL, Solve
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.held_items import FEWEST, FREE, LISTED, NEARLY, SIZE, sides
from knapsolve.nefk.kept_groups import names_of
from knapsolve.nefk.narrow import CONFIRMED
from knapsolve.nefk.passes import Prices, Settled, parts_of, worst
from knapsolve.nefk.problem import SLACK, Problem, most_taken, sampled
from knapsolve.nefk.result import Place
from knapsolve.nefk.search import LINEAR

ROUNDED = 1e-13  # of a cap, that what a group takes may be above it
MUCH = 4.0  # times as much, of which a difference keeps its digits


def solve_groups_beside_held(
    problem: Problem, passes: Any, n_jobs: int, place: Place, solve: Solve
) -> tuple[Prices, Settled, int, NDArray[np.float64]] | None:
    """Prices, how the amounts settled, passes over the data beside those of `passes`, and own prices of groups (g,),
    NaN where a cap is loose; None where bounds and caps hold few items, or too many groups may be bound.
    """
    is_plain = problem.equality and is_column(problem.upper) and place.dtype == np.float64
    if problem.n < FEWEST or passes.shape in LINEAR or not is_plain or passes.bounds()[2] < problem.n:
        return None
    may_bind, most = _caps_that_may_bind(problem)
    target = problem.capacity
    if not (1.0 - NEARLY) * most <= target <= (1.0 - SLACK) * most < math.inf:
        return None
    is_listed = np.append(may_bind, False)[problem.groups]  # of no group, -1, last
    if np.count_nonzero(is_listed) * LISTED > problem.n:
        return None
    price = _side(problem, is_listed, most - target)
    if not price > 0.0:
        return None
    is_listed[passes.list_free(price, False)[0]] = True
    if np.count_nonzero(is_listed) * LISTED > problem.n:
        return None
    which = np.flatnonzero(is_listed)
    part = problem.take(which, target - _held(problem, is_listed), n_jobs)
    del is_listed
    names = names_of(may_bind, n_jobs)[problem.groups[which].astype(np.intp) + 1]
    part = replace(part, groups=names.astype(np.intp), caps=problem.caps[may_bind])
    try:
        found = solve(part, n_jobs, Place(part.n, None, n_jobs=n_jobs), math.nan)
    except InfeasibleError:  # the whole problem tells which group it is
        return None
    if not (0.0 < found.price <= price and found.residual <= DOUBTFUL):
        return None
    prices = Prices(found.price, found.price)
    alone = part.passes(n_jobs).settle(prices, np.empty(part.n))  # what these would do without caps
    count = math.ceil(found.n_passes * (part.n / problem.n))
    del part, names  # room
    if not (alone.total <= MUCH * target and abs(alone.value) <= MUCH * abs(found.value) < math.inf):
        return None  # differences would have few digits
    amounts, side = place()
    settled = passes.settle(prices, amounts, side)
    total = settled.total + (float(found.amounts.sum()) - alone.total)
    if not abs(total - target) <= CONFIRMED * target:
        place.clear()
        return None
    value, residual = settled.value + (found.value - alone.value), worst((settled.residual, found.kkt_residual))
    amounts[which], side[which] = found.amounts, found.side
    own = np.full(len(problem.caps), np.nan)
    if found.group_prices is not None:
        own[may_bind] = np.where(found.group_prices > 0.0, found.price + found.group_prices, np.nan)
    return prices, Settled(total, value, residual, found.budget_residual), count, own


def _caps_that_may_bind(problem: Problem) -> tuple[NDArray[np.bool_], float]:
    """Which (g,) may be exceeded by more than rounding, and the most that all can take."""
    groups, size = problem.groups.astype(np.intp), len(problem.caps) + 1
    groups += 1
    sums: NDArray[Any] = np.bincount(groups, problem.upper, size)
    off = np.bincount(groups, minlength=size)[1:] * np.finfo(np.float64).eps  # each sum, relatively, at most
    del groups  # room
    return sums[1:] * (1.0 + off) > (1.0 + ROUNDED) * problem.caps, most_taken(sums, problem.caps)


def _side(problem: Problem, is_listed: NDArray[np.bool_], apart: float) -> float:
    """A price at which a sample of the others surely lacks so much of their upper bounds; NaN if it tells none."""
    chosen = sampled(problem.n, SIZE)
    positions = np.arange(*chosen.indices(problem.n))
    part = problem.take(positions[~is_listed[chosen]], problem.capacity)
    return next(sides(part, apart * (positions.size / problem.n), False, FREE), math.nan) if part.n else math.nan


def _held(problem: Problem, is_listed: NDArray[np.bool_]) -> float:
    """What the upper bounds of all others sum to."""
    parts = parts_of(problem.n)
    return math.fsum(float(np.sum(problem.upper[part], where=~is_listed[part], dtype=np.float64)) for part in parts)
