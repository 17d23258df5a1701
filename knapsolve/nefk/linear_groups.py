"""Linear items in groups: caps become upper bounds, and the rest is a problem without groups.

Groups are disjoint, so the greedy choice is the best one for each of them by itself (their constraints make up a
polymatroid): whatever the budget's price, a group takes no more of an item than if its cap were all that there is,
served by weight. With upper bounds cut to that, caps hold by themselves. The own price of a group is the weight of its
last item that is served.

Reference: Edmonds, "Submodular functions, matroids, and certain polyhedra" (1970), for the greedy choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.group_order import LARGEST_ORDER
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_totals import GroupTotals
from knapsolve.nefk.kept_caps import starts_of
from knapsolve.nefk.layouts import lay_out, list_items
from knapsolve.nefk.loose_caps import FEWEST
from knapsolve.nefk.narrow import MANY, are_many
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem, check_feasible
from knapsolve.nefk.result import Place
from knapsolve.nefk.room import BY_PRICE, MOST_ROOM
from knapsolve.nefk.sampled_items import sampled_groups_of
from knapsolve.nefk.single import new_search

Array = NDArray[np.float64]
Single = Callable[..., tuple[Prices, Settled]]  # the answer without groups
BY_ITEM = 17.9  # bytes of an upper bound, an amount, its side, and of a model
ABOVE = 0.02  # of a sample's price: so far above, a sample is asked whether any caps bind
LEAST_TOLD = 0.5  # of the capacity: a sample that takes less there tells nothing


def are_linear(problem: Problem) -> bool:
    """Whether items are linear, and there is room to solve them so."""
    criterion = problem.criterion
    is_straight = criterion._shape == core.QUADRATIC and not isinstance(criterion._parameter, np.ndarray)
    if not (is_straight and criterion._parameter == 0.0 and problem.n < LARGEST_ORDER):
        return False
    return problem.n <= MANY or BY_ITEM * problem.n + BY_PRICE * problem.caps.size <= MOST_ROOM * problem.n


def solve_linear(
    problem: Problem, passes: Any, n_jobs: int, place: Place, single: Single
) -> tuple[Prices, Settled, int, Array]:
    """Prices, how the amounts settled, passes over the data beside those of `passes`, and own prices of groups (g,),
    NaN where a cap is loose. `single` solves problems without groups.
    """
    tables: list[Any] = []
    if are_many(problem, passes):
        totals = GroupTotals(problem, passes.items, n_jobs, sampled_groups_of(problem.n), lambda: False)
        if place.dtype == np.float64 and _seem_loose(totals, passes):
            prices, settled = single(replace(problem, groups=None, caps=np.empty(0)), passes, place, n_jobs)
            if (totals.sums_of(place.amounts())[1:] <= problem.caps * (1.0 + SLACK)).all():
                return prices, settled, 0, np.full(len(problem.caps), np.nan)
            place.clear()
        tables.append((None, starts_of(totals, totals.sizes[1:])))
        del totals  # room
    bounded, own, over, count = _serve(problem, passes, n_jobs, tables)
    rest = bounded.passes(n_jobs)
    prices, settled = single(bounded, rest, place, n_jobs, has_sides=False)
    del bounded  # room
    place.mark_sides(problem.lower, problem.upper)
    return prices, replace(settled, over=over), rest.count + count, own


def _seem_loose(totals: GroupTotals, passes: Any) -> bool:
    """Whether a sample of the groups has none whose cap binds."""
    if totals.listed is None:
        return False
    sample = SampledTotals(totals)
    if sample.totals.problem.n < FEWEST:
        return False
    price = float(new_search(replace(totals.problem, groups=None), passes)[core.PRICE])
    total = sample.respond(price * (1.0 + ABOVE))[0]
    return sample.capped == 0.0 and total >= LEAST_TOLD * totals.problem.capacity


def _serve(problem: Problem, passes: Any, n_jobs: int, tables: list[Any]) -> tuple[Problem, Array, float, int]:
    """The problem without groups whose upper bounds are what caps leave, own prices of groups (g,), NaN where a cap
    holds nothing, the error of their totals, and passes over all items.

    `tables` are those that `lay_out` asks for, or none if the items are few.
    """
    there, own = Place(problem.n, None, n_jobs=n_jobs), np.empty(len(problem.caps) + 1)
    layout = lay_out(problem, tables, there, n_jobs) if tables else list_items(problem)
    grouped = GroupPasses(problem, n_jobs, layout)
    total, over, clash = grouped.serve(own, there)
    is_short = problem.equality and total < problem.capacity * (1.0 - SLACK)
    if clash or is_short or total == problem.capacity == np.inf:
        check_feasible(problem, passes, GroupTotals(problem, passes.items, n_jobs).bounds_by_group())
    count = grouped.count
    del grouped
    layout.deliver(there)
    return replace(problem, groups=None, caps=np.empty(0), upper=there.amounts()), own[1:], over, count
