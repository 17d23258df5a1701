"""Caps that surely bind are filled before the budget's price is known: what their groups take does not depend on it.

The own price of a group, where its items alone take its cap, needs no totals at the budget's price. Where a sample says
that nearly all caps bind, one pass finds all own prices. Groups whose own price is well above the sample's price are
settled by that; what is left, few items and the rest of the capacity, is a problem by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.layouts import Listed, Tiled
from knapsolve.nefk.own_guesses import guesses_above, guesses_from_above
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.room import ROUGH, has_no_bounds
from knapsolve.nefk.search import SUBNORMAL

Array = NDArray[np.float64]
Solve = Callable[[Problem, int, Place, float], NEFKResult]
MOST_MEAN = 24  # items of a group: of larger ones, what they take tells so much of own prices that a pass pays
MOST_LEFT = 0.12  # share of the items, up to which a problem of their own takes less time than totals
LEAST_CAPPED = 0.3  # share of the groups: others have no items, or are too many
MOST_ERROR = 1.0  # of a price: a sample that may be further off tells nothing
LIKELY = 1.2  # errors of the sample's price, or times what it may be off, that own prices are above it
MOST_REST = 0.5  # the same of what is left after all: a problem that is hardly smaller could go on so without end
LEAST_REST = 1e-7  # of the capacity, of which the rest of it is a difference: less has few digits
DOUBTFUL = 1e-12  # a violation that filled groups should not have
ROUNDED = 1e-9  # more than the price of what is left is off


def find_price_above(sample: SampledTotals, price: float, error: float, most: float) -> float | None:
    """A price that is likely to be above the budget's, which is a sample's within a relative error; None if own prices
    are not above that but for a share of the items, at most.
    """
    above = price * math.exp(LIKELY * error) if error < MOST_ERROR else math.inf
    return above if are_above(sample, above, most) else None


def are_above(sample: SampledTotals, price: float, most: float) -> bool:
    """Whether own prices are above a price but for a share of the items, at most, and not many, as a sample says."""
    problem = sample.totals.problem
    if problem.criterion._shape not in ROUGH or not has_no_bounds(problem) or not 0.0 < price < math.inf:
        return False
    capped, left = sample.capped_at(price)
    return capped >= LEAST_CAPPED and left <= min(MOST_LEFT, most)


def may_fill(layout: Listed | Tiled) -> bool:
    """Whether items are in tiles, but for those of no group."""
    return isinstance(layout, Tiled) and all(run.first == 0 for run in layout.runs.large)


def fill_and_solve(
    problem: Problem,
    layout: Tiled,
    between: tuple[float, float],
    n_jobs: int,
    place: Place,
    solve: Solve,
) -> tuple[Prices, Settled, int, Array] | None:
    """Fill the caps that are likely to bind, and `solve` what is left: prices, how the amounts settled, passes, and own
    prices (g,), NaN where a cap is loose; None if too few of them bind.

    The budget's price is likely to be near the lower of two prices, 0 if capacity is left over, and below the higher
    one. If it may be above that, so are groups that are filled: these are solved once more, with what is left. The
    layout is used up.
    """
    guess, above = between
    grouped = GroupPasses(problem, n_jobs, layout)
    own, are_large = np.empty(len(problem.caps) + 1), problem.n > MOST_MEAN * len(problem.caps)
    if are_large:
        binds = np.arange(own.size) > 0
        own = guesses_above(grouped, above) if guess else guesses_from_above(grouped, binds, 0.0)
    filled, others, groups = grouped.fill(above, own, are_large, place)
    count = grouped.count
    del grouped  # room for what follows
    layout.forget_groups()
    rest, kept = _in_groups(layout.take(others, problem.capacity - filled.total), groups, problem.caps)
    del groups
    layout.forget()
    if not (filled.residual <= DOUBTFUL and filled.over <= DOUBTFUL):
        return None
    if guess == 0.0 and not rest.n:
        layout.deliver(place)
        return Prices(0.0, 0.0), filled, count, own[1:]
    found = _solve_rest(problem, rest, guess, n_jobs, solve)
    if found and found.price <= above:
        layout.amounts[others] = found.amounts
        layout.deliver(place)
    else:
        layout.deliver(place)
        step = above / max(guess, SUBNORMAL)
        above = found.price * (1.0 + ROUNDED) if found else above * step * step
        if not above < math.inf or place.dtype != np.float64:
            return None
        count += 1 + (math.ceil(found.n_passes * rest.n / problem.n) if found else 0)
        left, rest, kept, filled = _take_back(problem, own, above, filled, place)
        found = _solve_rest(problem, rest, above, n_jobs, solve)
        if not (found and found.price <= above):
            return None
        amounts, side = place()
        amounts[left], side[left] = found.amounts, -(found.amounts <= 0.0).astype(np.int8)
    if found.group_prices is not None:
        binds = found.group_prices > 0.0
        own[kept[binds]] = found.price + found.group_prices[binds]
    total, value = filled.total + float(found.amounts.sum()), filled.value + found.value
    residual, over = max(filled.residual, found.kkt_residual), max(filled.over, found.budget_residual)
    count += math.ceil(found.n_passes * rest.n / problem.n)
    return Prices(found.price, found.price), Settled(total, value, residual, over), count, own[1:]


def _solve_rest(problem: Problem, rest: Problem, guess: float, n_jobs: int, solve: Solve) -> NEFKResult | None:
    """The answer of what is left; None if that is too much, or has too little capacity for its digits, or for it."""
    if guess == 0.0:
        rest, guess = replace(rest, capacity=max(rest.capacity, 0.0)), math.nan
    elif not rest.capacity > LEAST_REST * problem.capacity:
        return None
    if not 0 < rest.n <= MOST_REST * problem.n:
        return None
    try:
        return solve(rest, n_jobs, Place(rest.n, None), guess)
    except InfeasibleError:
        return None


def _take_back(
    problem: Problem, own: Array, above: float, filled: Settled, place: Place
) -> tuple[NDArray[np.intp], Problem, NDArray[np.intp], Settled]:
    """Positions of the items of all groups whose own prices (g + 1,) are not above a price, which are forgotten, and of
    those of no group; the problem of these, which groups of it have caps, and how the others' amounts, which are
    written, settled.
    """
    less = ~(own > above)
    left = np.flatnonzero(less[1 + problem.groups])
    groups = 1 + problem.groups[left].astype(np.intp)
    part, amounts = problem.take(left, 0.0), place.amounts()[left]
    amounts[np.isnan(own)[groups]] = 0.0  # were not filled
    total, value = filled.total - float(amounts.sum()), filled.value - float(part.passes().worth(amounts)[0].sum())
    own[less] = np.nan
    rest, kept = _in_groups(replace(part, capacity=problem.capacity - total), groups, problem.caps)
    return left, rest, kept, replace(filled, total=total, value=value)


def _in_groups(rest: Problem, groups: NDArray[np.integer], caps: Array) -> tuple[Problem, NDArray[np.intp]]:
    """A problem of items (n,) of some groups, 0 for none, with these groups' caps; and which they are, in order."""
    names = np.full(len(caps) + 1, -1, dtype=np.int32)
    names[groups] = 0
    names[0] = -1
    kept = np.flatnonzero(names == 0)
    if not kept.size:
        return rest, kept
    names[kept] = np.arange(kept.size)
    return replace(rest, groups=names[groups].astype(np.intp), caps=caps[kept - 1]), kept
