"""What is left beside filled groups: a problem by itself, of few items, in groups whose own prices are known, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.passes import Prices, worst
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import NEFKResult, Place

Array = NDArray[np.float64]
Solve = Callable[[Problem, int, Place, float], NEFKResult]
LEAST_REST = 1e-7  # of the capacity, of which the rest of it is a difference: less has few digits
DOUBTFUL = 1e-12  # a violation that filled groups should not have
MOST_FILLED = 10_000  # items that take less time to be filled than to be solved with their groups
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


def in_groups(rest: Problem, groups: NDArray[np.integer], caps: Array) -> tuple[Problem, NDArray[np.intp]]:
    """A problem of items (n,) of some groups, 0 for none, with these groups' caps; and which they are, in order."""
    names, are_kept = groups.astype(np.intp), np.zeros(len(caps) + 1, dtype=bool)
    are_kept[names] = True
    are_kept[0] = False
    kept = np.flatnonzero(are_kept)
    if not kept.size:
        return rest, kept
    names[names == 0] = -1
    group_layout.ranks_among(kept, names, are_kept.size, names)
    return replace(rest, groups=names, caps=caps[kept - 1]), kept


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
    problem: Problem, rest: Problem, own: Array, amounts: Array | None, guess: float, n_jobs: int, solve: Solve
) -> Rest | None:
    """The same of groups whose own prices (k,) are known, not above 0 if they have none, and amounts (m,) at these,
    which change: no item takes more than at its group's own price, so what is left is a problem of upper bounds,
    without groups. Without amounts, own prices are guesses. None if that leads nowhere, or takes longer.
    """
    names, caps = rest.groups, rest.caps
    if not (rest.capacity > LEAST_REST * problem.capacity and (caps > 0.0).all()):
        return None
    if amounts is None:
        if rest.n > MOST_FILLED:
            return None
        own, amounts = _fill(rest, own, guess, n_jobs)
    own_of_items = np.append(own, np.nan)[names]  # of no group, -1, last
    upper = np.where(own_of_items > 0.0, amounts, np.inf)
    alone = replace(rest, groups=None, caps=np.empty(0), upper=upper)
    found = _solve(problem, alone, guess, n_jobs, solve, True)
    if found is None:
        return None
    price, amounts[:] = found.price, found.amounts
    is_held = (amounts >= upper) & (amounts > 0.0) & (own_of_items < price * (1.0 - SAME))
    del alone, upper  # room
    total = np.bincount(names + 1, amounts, caps.size + 1)[1:]
    binds = own > price * (1.0 + SAME)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.where(binds, np.abs(total - caps), np.maximum(total - caps, 0.0)) / caps
    over = worst((float(np.max(off, initial=0.0)), found.budget_residual))
    residual = worst((found.kkt_residual, _violation(rest, amounts, own_of_items, price, n_jobs)))
    if not (over <= DOUBTFUL and residual <= DOUBTFUL) or is_held.any():
        return None
    return Rest(price, amounts, np.where(binds, own, np.nan), found.value, residual, over, found.n_passes)


def _fill(rest: Problem, guesses: Array, guess: float, n_jobs: int) -> tuple[Array, Array]:
    """Own prices (k,), 0 of worthless items, from guesses, which may be NaN; amounts (m,) at these, and of the items
    of no group at any price.
    """
    own, place = np.append(np.nan, np.where(guesses > 0.0, guesses, guess)), Place(rest.n, None, n_jobs=n_jobs)
    GroupPasses(rest, n_jobs).settle(Prices(guess, guess), own, 0.0, place)
    return own[1:], place.amounts()


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


def _violation(rest: Problem, amounts: Array, own: Array, price: float, n_jobs: int) -> float:
    """The largest violation, as nefk_violation has it, of items (m,) at their groups' own prices (m,) above a price."""
    which = np.flatnonzero(own > price)
    if not which.size:
        return 0.0
    x, own = amounts[which], own[which]
    slope = rest.take(which, 0.0, n_jobs).passes(n_jobs).worth(x)[1]
    excess = (slope - own) / own
    return float(np.max(np.where(x > 0.0, np.abs(excess), np.maximum(excess, 0.0))))
