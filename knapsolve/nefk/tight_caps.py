"""Caps that are likely to bind are filled before the budget's price is known: what their groups take does not depend on
it.

The own price of a group, where its items alone take its cap, needs no totals at the budget's price. Where a sample says
that most caps bind, one pass finds all own prices. Groups whose own price is above what the sample's price may well be
are settled by that; what is left, few items and the rest of the capacity, is a problem by itself. Its price is no lower
than the budget's: if some own prices are between both, perhaps, these groups are solved with it once more.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_tables as group_tables
from knapsolve._core.threads import work_through
from knapsolve.nefk.active_items import Active
from knapsolve.nefk.beside_filled import DOUBTFUL, Solve, in_groups, solve_by_own_prices, solve_rest
from knapsolve.nefk.group_passes import GroupPasses, Left
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.kept_groups import numbers_among, spread
from knapsolve.nefk.layouts import Listed, Tiled
from knapsolve.nefk.own_guesses import guesses_above, guesses_by_size, guesses_from_above
from knapsolve.nefk.passes import CHUNK, Prices, Settled, parts_of, worst
from knapsolve.nefk.problem import SLACK, Problem, joined, sampled
from knapsolve.nefk.result import NEFKResult, Place
from knapsolve.nefk.room import ROUGH, bytes_of_names, has_no_bounds, share_beside_filled
from knapsolve.nefk.search import LINEAR
from knapsolve.nefk.taken_back import price_to_free, take_back, taken_at

Array = NDArray[np.float64]
MOST_LED = 24  # items of a group: where most are in larger ones, own prices are guessed first
MOST_LEFT = 0.1  # share of the items, up to which a problem of their own takes less time than totals
MOST_ERROR = 0.5  # of a price, that makes this share larger by as much
IDLE = (0.5, 0.4, 0.3)  # shares of the items that start below such prices, the first that is worth it
LEAST_IDLE, FEW_MORE = 0.2, 0.01  # share below which more than so many would be left: then none is
NEAR = 2e-3  # share of the items from which on groups are next to a price
BY_LEFT, WORTH = 7.0, 0.22  # idle items that make up for one that is left; share of them, beyond, that is worth a look
SAMPLED = 512  # items that tell where others start
ROOMY = 0.8  # of what there is room for, as a sample may be off
LEAST_CAPPED = 0.3  # share of the groups that have items: others are too many
LIKELY = 1.2  # errors of a sample's price that the budget's is likely to be below, from that one on
MOST_REST = 0.5  # share of the items that may be left after all: a problem that is hardly smaller could go on for ever
MORE = 2.0  # times what the caps allow: as much as is left over
ROUNDED = 1e-9  # more than prices are off, relatively


def find_price_above(sample: SampledTotals, price: float, error: float, most: float) -> tuple[float, float] | None:
    """A price that is likely to be above the budget's, which is a sample's within a relative error, and `left_below`
    it; None if that is too much.
    """
    above = sample.price_above(price, LIKELY * error)
    left = left_below(sample, above, most, error)
    return None if left is None else (above, left)


def can_be_filled(problem: Problem) -> bool:
    """Whether one pass finds own prices without a bound of them from below."""
    return problem.criterion._shape in ROUGH and has_no_bounds(problem)


def left_below(sample: SampledTotals, price: float, most: float, error: float = 0.0) -> float | None:
    """The share of the items that have no group whose own price is above a price, says a sample; None if it is large,
    or if most groups are such. The larger the relative error of the budget's price, the more passes totals would take.
    """
    if not can_be_filled(sample.totals.problem) or not 0.0 < price < math.inf:
        return None
    capped, left = sample.capped_at(price)
    enough = MOST_LEFT * (1.0 + min(error, MOST_ERROR))
    return left if capped >= LEAST_CAPPED and left <= min(enough, ROOMY * most) else None


def price_without_idle(sample: SampledTotals, above: float, left: float, most: float) -> float | None:
    """A price below which many items start, which take nothing in groups whose own prices are above it: one that is
    likely to be above the budget's, which is given with `left_below` it, or a higher one, if a sample says that this is
    worth what more is left, and that is at most a share of the items. None if there is none of any use.
    """
    starts = sample.totals.problem.starts(sampled(sample.totals.problem.n, SAMPLED))
    starts = np.sort(starts[np.isfinite(starts)])
    below = float(np.count_nonzero(starts < above)) / max(starts.size, 1)
    are_near = left > sample.share_ungrouped + NEAR  # then own prices tell what is left, and more of them are next
    if not starts.size or (are_near and below < WORTH):
        return None

    def at(idle: float) -> tuple[float, float]:
        """A price below which so large a share starts, and the share of the items that more is left there."""
        price = max(float(starts[int(idle * starts.size)]) * (1.0 + ROUNDED), above)  # many may start just there
        return price, sample.capped_at(price)[1] - left if price > above else 0.0

    if at(LEAST_IDLE)[1] <= FEW_MORE:
        for idle in IDLE:
            price, more = at(idle)
            if idle - BY_LEFT * more >= WORTH and left + more <= ROOMY * most:
                return price
    return above if below >= WORTH else None


def fill_exactly(problem: Problem, n_jobs: int, place: Place, solve: Solve) -> NEFKResult | None:
    """The answer where all capacity is to be used and the caps allow just that: they are filled as if there were more,
    which would be of no use. So the price is 0, of all that would do. None elsewhere, or where a group takes less.
    """
    is_one_of_these = problem.equality and problem.criterion._shape not in LINEAR and place.dtype == np.float64
    if not (is_one_of_these and problem.capacity > 0.0):
        return None
    caps = float(group_tables.sum_marked(problem.caps, None, n_jobs))
    if not abs(caps - problem.capacity) <= SLACK * problem.capacity or (problem.groups < 0).any():
        return None
    found = solve(replace(problem, capacity=MORE * caps, equality=False), n_jobs, place, math.nan)
    gap = abs(float(found.amounts.sum()) - problem.capacity) / problem.capacity
    if not gap <= SLACK:
        place.clear()
        return None
    return replace(found, budget_residual=max(found.budget_residual, gap))


def may_fill(layout: Listed | Tiled) -> bool:
    """Whether half of the items are in tiles, or more, or of no group."""
    if not isinstance(layout, Tiled):
        return False
    return 2 * sum(run.end - run.begin for run in layout.runs.large if run.first) <= layout.runs.table[-1, 3]


def fill_and_solve(
    problem: Problem,
    layout: Tiled,
    between: tuple[float, float],
    n_jobs: int,
    place: Place,
    solve: Solve,
    named: NDArray[np.bool_] | None,
) -> tuple[Prices, Settled, int, Array] | None:
    """Fill the caps that are likely to bind, and `solve` what is left: prices, how the amounts settled, passes, and own
    prices (k,), NaN where a cap is loose; None if too much is left.

    The caps (k,) are those of the groups that are `named` (g,), as all are that have items; None if these have numbers
    of their own. The budget's price is likely to be near the lower of two prices, 0 if capacity is left over, and below
    the higher one. The layout is used up.
    """
    guess, above = between
    tables = layout.table_bytes
    if named is not None:  # names are in that table, and once more for idle items
        tables = bytes_of_names(named.size, len(problem.caps)) + (tables if layout.active else 0)
    most = min(MOST_REST, share_beside_filled(problem, place, tables))
    most_by_own = problem.n * share_beside_filled(problem, place, tables, by_own=True)
    own, filled, left, count = _fill(problem, layout, guess, above, n_jobs, place)
    entries, idle = left.entries, _idle_items(problem, layout.active, own, above, named, n_jobs)
    if not (filled.residual <= DOUBTFUL and filled.over <= DOUBTFUL and entries.size + idle.size <= most * problem.n):
        return None
    if guess == 0.0 and not entries.size + idle.size:
        layout.deliver(place)
        return Prices(0.0, 0.0), filled, count, own[1:]
    amounts: Array | None
    (rest, amounts), groups = layout.take(entries, left.over, problem.capacity - filled.total), left.groups
    if idle.size:
        rest, amounts = joined(rest, problem.take(idle, 0.0, n_jobs)), None
        numbers = 1 + numbers_among(problem.groups.take(idle), named, n_jobs)
        groups = np.append(groups, numbers.astype(groups.dtype))
    rest, kept = in_groups(rest, groups, problem.caps)
    del left, groups
    layout.forget()
    known, own[kept], found = own[kept], np.nan, None
    if rest.n <= most_by_own and kept.size and guess and place.dtype == np.float64:
        found = solve_by_own_prices(problem, rest, known, amounts, guess, n_jobs, solve)
    del amounts  # room
    found = found or solve_rest(problem, rest, guess, n_jobs, solve)
    count += math.ceil(found.n_passes * rest.n / problem.n) if found else 0
    if found and found.price <= above:
        layout.amounts[entries] = found.amounts[: entries.size]
        layout.deliver(place)
        _put(found.amounts[entries.size :], idle, place)
    else:
        if guess == 0.0 or place.dtype != np.float64:
            return None
        most_above = found.price * (1.0 + ROUNDED) if found else math.inf
        over = filled.total + taken_at(rest, above, n_jobs) - problem.capacity
        above = price_to_free(own[1:], problem.caps, max(over, 0.0), most_above)
        if not above < math.inf:
            return None
        layout.deliver(place)
        del rest, found, entries, idle  # room
        more, found = take_back(problem, own, above, filled, most, place, named, n_jobs), None
        if more and more.kept.size and more.rest.n <= most_by_own:
            unknown = np.full(more.kept.size, np.nan)
            found = solve_by_own_prices(problem, more.rest, unknown, None, above, n_jobs, solve)
        found = found or (more and solve_rest(problem, more.rest, above, n_jobs, solve))
        if not (more and found and found.price <= above):
            place.clear()
            return None
        _put(found.amounts, more.left, place)
        kept, filled = more.kept, more.settled
        count += 1 + math.ceil(found.n_passes * more.rest.n / problem.n)
    own[kept] = found.own
    total, value = filled.total + float(found.amounts.sum()), filled.value + found.value
    residual, over = worst((filled.residual, found.residual)), worst((filled.over, found.over))
    return Prices(found.price, found.price), Settled(total, value, residual, over), count, own[1:]


def _fill(
    problem: Problem, layout: Tiled, guess: float, above: float, n_jobs: int, place: Place
) -> tuple[Array, Settled, Left, int]:
    """Own prices (g + 1,), how the amounts of those above a price settled, the other items, and passes."""
    grouped = GroupPasses(problem, n_jobs, layout)
    are_large = 2 * grouped.runs.count_in_long(MOST_LED) > grouped.share * problem.n
    if are_large and grouped.leads:
        own = guesses_by_size(grouped)
    elif are_large and guess:
        own = guesses_above(grouped, above)
    elif are_large:
        own = guesses_from_above(grouped, np.append(False, np.ones(len(problem.caps), dtype=bool)), 0.0)
    else:
        own = np.empty(len(problem.caps) + 1)
    filled, left = grouped.fill(above, own, are_large, place)
    layout.forget_groups()
    return own, filled, left, grouped.count


def _idle_items(
    problem: Problem, active: Active | None, own: Array, above: float, named: NDArray[np.bool_] | None, n_jobs: int
) -> NDArray[np.intp]:
    """Positions of the items that were left out of `named` groups whose own prices (k + 1,) are not above a price."""
    if active is None:
        return np.empty(0, dtype=np.intp)
    are_left = ~(own > above)
    are_left[0] = False  # of no group, there are none
    if not are_left.any():
        return np.empty(0, dtype=np.intp)
    bits = np.packbits(spread(are_left, named), bitorder="little")

    def find(part: slice) -> NDArray[np.uint32]:
        found = np.empty(CHUNK + 1, dtype=np.uint32)
        some = np.ascontiguousarray(problem.groups[part], dtype=np.intp)
        return found[: group_layout.list_others(some, part.start, bits, active.of(part), found)].copy()

    return np.concatenate(work_through(find, list(parts_of(problem.n)), n_jobs)).astype(np.intp)


def _put(amounts: Array, where: NDArray[np.integer], place: Place) -> None:
    """Write amounts of some items, and their sides: without bounds."""
    all_amounts, side = place()
    all_amounts[where], side[where] = amounts, -(amounts <= 0.0).astype(np.int8)
