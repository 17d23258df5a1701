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

Array = NDArray[np.float64]
Solve = Callable[[Problem, int, Place, float], NEFKResult]
MOST_MEAN = 24  # items of a group: of larger ones, what they take tells so much of own prices that a pass pays
MOST_LEFT = 0.09  # share of the items, up to which a problem of their own takes less time than totals
MOST_LEFT_OF_OTHERS, LEAST_MEAN = 0.06, 3  # the same of larger groups, and of smaller ones: their tables take room
LEAST_CAPPED = 0.55  # share of the groups: others have no items, or are too many
MOST_ERROR = 1.0  # of a price: a sample that may be further off tells nothing
SURELY = 6.0  # errors of the sample's price, or times what it may be off, that own prices are above it
MOST_REST = 0.5  # the same of what is left after all: a problem that is hardly smaller could go on so without end
LEAST_REST = 1e-7  # of the capacity, of which the rest of it is a difference: less has few digits
DOUBTFUL = 1e-12  # a violation that filled groups should not have


def find_price_above(sample: SampledTotals, price: float, error: float) -> float | None:
    """A price that is surely above the budget's, which is a sample's within a relative error; None if own prices of
    all but few items' groups are not above that.
    """
    above = price * math.exp(SURELY * error) if error < MOST_ERROR else math.inf
    return above if are_above(sample, above) else None


def are_above(sample: SampledTotals, price: float) -> bool:
    """Whether own prices of all but few items' groups are above a price, as a sample says."""
    problem = sample.totals.problem
    if problem.criterion._shape not in ROUGH or not has_no_bounds(problem) or not 0.0 < price < math.inf:
        return False
    most = MOST_LEFT if LEAST_MEAN <= sample.mean <= MOST_MEAN else MOST_LEFT_OF_OTHERS
    capped, left = sample.capped_at(price)
    return capped >= LEAST_CAPPED and left <= most


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
    """Fill the caps that surely bind, and `solve` what is left: prices, how the amounts settled, passes, and own prices
    (g,), NaN where a cap is loose; None if not all of them bind.

    The budget's price is likely to be near the lower of two, and surely below the higher one. The layout is used up.
    """
    guess, above = between
    grouped = GroupPasses(problem, n_jobs, layout)
    own, are_large = np.empty(len(problem.caps) + 1), problem.n > MOST_MEAN * len(problem.caps)
    if are_large:
        binds = np.arange(own.size) > 0
        own = guesses_above(grouped, above) if guess else guesses_from_above(grouped, binds, 0.0)
    filled, left, groups = grouped.fill(above, own, are_large, place)
    count = grouped.count
    del grouped  # room for what follows
    layout.forget_groups()
    kept, names = _rename(groups, own.size)
    rest = layout.take(left, problem.capacity - filled.total)
    if kept.size:
        rest = replace(rest, groups=names, caps=problem.caps[kept - 1])
    layout.forget()
    if guess == 0.0:  # capacity is left over
        rest = replace(rest, capacity=max(rest.capacity, 0.0))
        is_less = rest.n <= MOST_REST * problem.n
    else:
        is_less = 0 < rest.n <= MOST_REST * problem.n and rest.capacity > LEAST_REST * problem.capacity
    if not (is_less and filled.residual <= DOUBTFUL and filled.over <= DOUBTFUL):
        return None
    if not rest.n:
        layout.deliver(place)
        return Prices(0.0, 0.0), filled, count, own[1:]
    try:
        found = solve(rest, n_jobs, Place(rest.n, None), guess or math.nan)
    except InfeasibleError:
        return None
    if not found.price <= above:
        return None
    layout.amounts[left] = found.amounts
    if found.group_prices is not None:
        binds = found.group_prices > 0.0
        own[kept[binds]] = found.price + found.group_prices[binds]
    layout.deliver(place)
    total, value = filled.total + float(found.amounts.sum()), filled.value + found.value
    residual, over = max(filled.residual, found.kkt_residual), max(filled.over, found.budget_residual)
    count += math.ceil(found.n_passes * rest.n / problem.n)
    return Prices(found.price, found.price), Settled(total, value, residual, over), count, own[1:]


def _rename(groups: NDArray[np.uint32], n_groups: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Groups (k,) that some items (n,) are in, but for 0, in order; and which of these that is, -1 for 0."""
    has_items = np.zeros(n_groups, dtype=bool)
    has_items[groups] = True
    has_items[0] = False
    kept = np.flatnonzero(has_items)
    names, has_group = np.full(groups.size, -1), groups > 0
    names[has_group] = kept.searchsorted(groups[has_group])
    return kept, names
