"""What is left beside filled groups: a problem by itself, of few items, in groups whose own prices are known, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.group_samples import step_roughly
from knapsolve.nefk.group_totals import GroupTotals, capped_sums
from knapsolve.nefk.passes import worst
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.single import new_search

Array = NDArray[np.float64]
Solve = Callable[[Problem, int, Place, float], NEFKResult]
LEAST_REST = 1e-7  # of the capacity, of which the rest of it is a difference: less has few digits
DOUBTFUL = 1e-12  # a violation that filled groups should not have
ROUGHLY = 1e-6  # relative gap of the total at a price that tells which caps bind
TURNS = 4  # of which caps bind, and the price
SAME = 1e-14  # relative difference of prices between which an item may start, and totals jump


class Rest(NamedTuple):
    """The answer of what is left: price, amounts (m,), own prices (k,) of its groups, NaN where a cap is loose; value,
    violation, error of totals, and passes over its items.
    """

    price: float
    amounts: Array
    own: Array
    value: float
    residual: float
    over: float
    n_passes: int


def solve_rest(problem: Problem, rest: Problem, guess: float, n_jobs: int, solve: Solve) -> Rest | None:
    """The answer of what is left; None if there is nothing, or it has too little capacity for its digits, or for it."""
    is_difference = guess != 0.0
    if not is_difference:  # what is left has all that its caps allow, but for rounding
        rest, guess = replace(rest, capacity=max(rest.capacity, 2.0 * float(rest.caps.sum()))), math.nan
    found = _solve(problem, rest, guess, n_jobs, solve, is_difference)
    if found is None:
        return None
    own = np.full(rest.caps.size, np.nan)
    if found.group_prices is not None:
        binds = found.group_prices > 0.0
        own[binds] = found.price + found.group_prices[binds]
    return Rest(
        found.price, found.amounts, own, found.value, found.kkt_residual, found.budget_residual, found.n_passes
    )


def solve_by_own_prices(
    problem: Problem, rest: Problem, own: Array, amounts: Array, guess: float, n_jobs: int, solve: Solve
) -> Rest | None:
    """The same of groups whose own prices (k,) are known, NaN if they have none, and amounts (m,) at these, which
    change: what has no group, or one whose own price is not above the budget's, is a problem without groups. None if
    that leads nowhere.
    """
    if not (rest.capacity > LEAST_REST * problem.capacity and (rest.caps > 0.0).all()):
        return None
    names, caps, price, count = rest.groups, rest.caps, _rough_price(rest, guess, n_jobs), 0
    for _ in range(TURNS):
        binds = own > price
        is_filled = np.append(binds, False)[names]  # of no group, -1, last
        part = rest.take(np.flatnonzero(~is_filled), rest.capacity - float(caps[binds].sum()), n_jobs)
        found = _solve(problem, part, price, n_jobs, solve, True)
        del part  # room
        if found is None:
            return None
        price = found.price
        count += found.n_passes
        if not (np.where(binds, price - own, own - price) > SAME * price).any():
            break
    else:
        return None
    amounts[~is_filled] = found.amounts
    total = np.bincount(names + 1, amounts, caps.size + 1)[1:]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.where(binds, np.abs(total - caps), np.maximum(total - caps, 0.0)) / caps
    over = float(np.max(off, initial=0.0))
    value, residual, over = found.value, found.kkt_residual, worst((over, found.budget_residual))
    del found
    more, violation = _audit(rest, np.flatnonzero(is_filled), own, amounts, n_jobs)
    residual = worst((residual, violation))
    if not (over <= DOUBTFUL and residual <= DOUBTFUL):
        return None
    return Rest(price, amounts, np.where(binds, own, np.nan), value + more, residual, over, count)


def _solve(
    problem: Problem, part: Problem, guess: float, n_jobs: int, solve: Solve, is_difference: bool
) -> NEFKResult | None:
    """The answer of some of the items, if there is one and its capacity, perhaps a difference, has digits enough."""
    if not part.n or (is_difference and not part.capacity > LEAST_REST * problem.capacity):
        return None
    try:
        return solve(part, n_jobs, Place(part.n, None, n_jobs=n_jobs), guess)
    except InfeasibleError:
        return None


def _rough_price(rest: Problem, guess: float, n_jobs: int) -> float:
    """A price near the answer's, by totals of groups."""
    passes = rest.passes(n_jobs)
    totals, search = GroupTotals(rest, passes.items, n_jobs), new_search(rest, passes, guess)
    step_roughly(search, passes.shape, lambda price: capped_sums(totals, *totals.respond(price).T), ROUGHLY)
    return float(search[core.PRICE])


def _audit(rest: Problem, which: NDArray[np.intp], own: Array, amounts: Array, n_jobs: int) -> tuple[float, float]:
    """The value of some items at their groups' own prices (k,), and the largest violation, as nefk_violation has it."""
    if not which.size:
        return 0.0, 0.0
    x, price = amounts[which], own[rest.groups[which]]
    value, slope = rest.take(which, 0.0, n_jobs).passes(n_jobs).worth(x)
    excess = (slope - price) / price
    return float(value.sum()), float(np.max(np.where(x > 0.0, np.abs(excess), np.maximum(excess, 0.0))))
