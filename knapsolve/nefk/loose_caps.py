"""Caps that are surely loose are dropped before items are put in order by group: their groups cost no more than none.

Totals by group are taken in the order of the items, without sorting them, at a price that is surely below the answer's:
what a group takes falls with the price, so a cap that is loose there is loose at the answer too. The other groups are
few unless their caps bind; where a sample says that most do, all are kept, and the first pass happens in tiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk import series_model
from knapsolve.nefk.active_items import below_likely, find_active
from knapsolve.nefk.all_but import are_few
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_steps import price_by_groups
from knapsolve.nefk.group_totals import MANY_GROUPS, GroupTotals, capped_sums, error_of
from knapsolve.nefk.kept_caps import WORTH_NAMING, Reduced, keep_all, without_loose_caps
from knapsolve.nefk.sample_curve import Curve
from knapsolve.nefk.search import FAR, LINEAR, STARTING, step_beside
from knapsolve.nefk.tight_caps import can_be_filled, find_price_above, left_below, price_without_idle

Array = NDArray[np.float64]
FEWEST = 256  # items that tell anything
MARGIN = 0.4  # how far below the last step's end the next price lies, over the step
LEAST_MARGIN, MOST_MARGIN = 3e-3, 0.5  # in log price
ERROR = 1.0  # margin of a sample's price times the square root of its size, at least
ERRORS, MOST_SURE = 1.25, 0.025  # standard errors of it, as far as known, and up to which margin
FEW_EACH = 10  # items of a group, in the mean: of fewer, a sample's curve leads steps further
DOWN = 0.25  # a step to below a price at which T has no slope, in log price; the next ones are twice as long
NEAR = 9e-2  # a step so short ends near the answer
TRIES = 4
SMOOTH = 2.0  # what a slope tells of a sample's rise, over that, or its inverse, at most
ALIKE = 1e-12  # of a target: totals that differ by less do not
MORE_OF_STEEP = 4.0  # times the margin, where it was too small and slopes tell nothing
STEEP_ERROR = 5.0  # error of a sample's total times the square root of its size, where slopes tell nothing
NEARLY, MUCH = 1e-3, 1.5  # of a target: a sample's gap at its price, and its total a margin below that, over it
WORTH_NAMING_OF_MANY = 0.08  # of MANY_GROUPS, whose sums leave the cache: in the items' order they take long
ROUGH = 0.55  # share of the items for which a model beside all caps must have room then, over a sample's error


def below(search: Array, shape: int, price: float, margin: float) -> float:
    """A price that lies a margin below another, within a search's bracket; NaN if there is none."""
    if not series_model.has_bracket(shape, price):
        return math.nan
    low = series_model.bracket(shape, price, margin * series_model.size_of(shape, price))[0]
    return low if series_model.has_bracket(shape, low) and search[core.LOW] < low < search[core.HIGH] else math.nan


def middle(search: Array) -> float:
    """The geometric middle of a search's bracket, if both ends are positive and known; else NaN."""
    low, high = float(search[core.LOW]), float(search[core.HIGH])
    return math.sqrt(low) * math.sqrt(high) if 0.0 < low < high < FAR else math.nan


def further_down(search: Array, tried: int) -> float:
    """A price below a search's bracket's upper end, of which the lower one is not known: the farther, the more were
    tried. NaN if that is not known either.
    """
    high = float(search[core.HIGH])
    return high * math.exp(-DOWN * 2.0**tried) if search[core.LOW] <= 0.0 < high < FAR else math.nan


def further_up(search: Array, tried: int) -> float:
    """The same above its lower end, of which the upper one is not known; infinite if that is not known either."""
    low = float(search[core.LOW])
    return low * math.exp(DOWN * 2.0**tried) if low > 0.0 and search[core.HIGH] >= FAR else math.inf


def reduce(
    totals: GroupTotals,
    search: Array,
    room: float = math.inf,
    highest: float = math.nan,
    most_left: float = 1.0,
    leaves_out: bool = True,
    gives_names: bool = False,
) -> Reduced | None:
    """The problem without the caps that are surely loose, or with all if most are not; None if no price tells.

    Unless items are copied into tiles, and are many, a first pass costs less in their order. `room` is how many items
    models may take beside copies; 0 if there are no copies. The budget's price may be known to be at most `highest`.
    `most_left` is the share of the items that there is room for beside filled groups, if these are to be. Items that
    are likely to take nothing may be left out if `leaves_out`. Groups that have items get names, if it `gives_names`,
    where all caps are kept. The table of sizes of the totals is used up.
    """
    is_met, keep = search[core.STATE] == core.MET, partial(keep_all, totals, search, gives_names=gives_names)
    if is_met and not (room and can_be_filled(totals.problem)):
        return keep()
    sample = SampledTotals(totals) if totals.listed is not None else None
    if sample and sample.totals.problem.n < FEWEST:
        sample = None
    left = left_below(sample, highest, most_left) if room and sample else None
    if sample and left is not None:
        return _fill_all(totals, keep, sample, (highest, left), most_left if leaves_out else None)
    if is_met:
        return keep()
    if sample is None:
        return None
    price, margin = sample.price(search), ERROR / math.sqrt(sample.totals.problem.n)
    error = sample.error() if totals.shape not in LINEAR else math.nan
    off = error if margin < error else margin
    are_many = len(totals.caps) > MANY_GROUPS and room > ROUGH * off * totals.problem.n
    worth, curve = WORTH_NAMING_OF_MANY if are_many else WORTH_NAMING, None
    is_steep = totals.shape in LINEAR and _is_steep(sample, search, price, margin)
    if is_steep:
        enclosed = sample.enclose(search, STEEP_ERROR * margin) if totals.shape == core.QUADRATIC else None
        if enclosed is None:
            return None
        price, margin, curve = enclosed
    above = find_price_above(sample, price, off, most_left) if room and not is_steep else None
    if above is not None:
        search[core.PRICE] = price
        return _fill_all(totals, keep, sample, above, most_left if leaves_out else None)
    in_order = sample.capped <= worth or not room or are_few(totals.problem.n, totals.ungrouped)
    by_curve = not in_order or totals.problem.n < FEW_EACH * len(totals.caps)
    margin = _margin_below(error, margin, by_curve)
    if by_curve:
        curve = curve or sample.curve(price, margin)
    if not in_order:
        search[core.PRICE] = below(search, totals.shape, price, margin)
        if math.isnan(search[core.PRICE]):
            return None
        active = None
        if leaves_out and room:
            active = find_active(totals, below_likely(price, off), totals.bits_of_blocks)
        return keep(curve, sample, active=active)
    has_ties = sample.has_ties
    del sample  # takes room
    found = below_the_answer(totals, search, price, margin, is_steep, curve, has_ties)
    low = float(search[core.LOW])
    if not (found or room or is_steep) and low > 0.0:
        found = low, totals.respond(low)  # far below, but without room a search would begin anew
    if found:
        return without_loose_caps(totals, *found, search, curve, leaves_out and room > 0)
    search[core.PRICE] = middle(search)
    return None if not room or is_steep or math.isnan(search[core.PRICE]) else keep(curve)


def _fill_all(
    totals: GroupTotals,
    keep: Callable[..., Reduced],
    sample: SampledTotals,
    known: tuple[float, float],
    most: float | None,
) -> Reduced:
    """The problem with all caps, as `keep_all` has it, which are to be filled where own prices are above a price, which
    is given with `left_below` it, or a higher one, if many items start below that, which are left out, and few more
    groups are; no more than a share of the items may be left. None of them are left out where that is None.
    """
    bits = totals.bits_of_blocks
    if most is not None and (bits or _are_in_tiles(totals.sizes, 2 * core.TILE)):
        price = price_without_idle(sample, *known, most)
        active = None if price is None else find_active(totals, price, bits, True)
        if active is not None and (bits or _are_in_tiles(active.counts, core.TILE)):
            reduced = keep(None, sample, active.above, active)
            if reduced.active is not None:
                return reduced
    return keep(None, sample, known[0])


def _are_in_tiles(sizes: NDArray[np.uint32], most: int) -> bool:
    """Whether half of the items, or more, are in groups (g + 1,) of no more than so many, or of none, the first."""
    large = np.flatnonzero(sizes[1:] > most)
    return not large.size or bool(2 * sizes[1 + large].sum(dtype=np.int64) <= sizes.sum(dtype=np.int64))


def _margin_below(error: float, usual: float, by_curve: bool) -> float:
    """How far below a sample's price the first one is to lie, by how far that may be off, NaN if that is not known, and
    by how far samples usually are. A price above the answer's costs a pass, or, where all caps are kept, totals of
    loose groups (see `mark_surely`); and so does a step from far below that does not go along a curve, or from any
    farther.
    """
    if not error > usual:
        return usual
    if by_curve:
        return error if error <= NEAR else usual
    return max(usual, min(ERRORS * error, MOST_SURE))


def _is_steep(sample: SampledTotals, search: Array, price: float, margin: float) -> bool:
    """Whether a total changes so fast, or by jumps, as that of nearly linear items, that slopes led nowhere, or that a
    price next to the answer's is far off.
    """
    target, low = float(search[core.TARGET]), below(search, sample.totals.shape, price, margin)
    if math.isnan(low):
        return True
    (here, slope, _), more = sample.respond(price), sample.respond(low)[0]
    is_near = abs(here - target) <= NEARLY * target and target < more <= MUCH * target
    told = slope * (price - low) / max(more - here, ALIKE * target)
    return not (is_near and 1.0 / SMOOTH < told < SMOOTH)


def below_the_answer(
    totals: GroupTotals,
    search: Array,
    price: float,
    margin: float,
    is_steep: bool = False,
    curve: Curve | None = None,
    has_ties: bool = False,
) -> tuple[float, Array] | None:
    """A price that is surely below the answer's and near it, and what groups take there beside minus its derivative
    (g + 1, 2); None if a few steps from a guess, less a margin, do not lead to one. Slopes are not looked at if totals
    are steep, nor next to ties. T of a sample about the price may be known. The search's bracket becomes narrower.
    """
    shape = totals.shape
    for more in reversed(range(TRIES)):
        low, taken = below(search, shape, price, margin), None  # room for the next
        if math.isnan(low):
            low = middle(search)
        if math.isnan(low) and shape not in LINEAR:
            low = further_down(search, TRIES - more)
        if math.isnan(low):
            return None
        taken, after = totals.respond(low), search.copy()
        total, slope, fixed = capped_sums(totals, *taken.T)
        error = error_of(totals, taken[:, 0], total)
        is_below = total > search[core.TARGET] + error
        if not is_steep and abs(total - search[core.TARGET]) > error:
            search[core.LOW if is_below else core.HIGH] = low
        if is_below and (is_steep or (has_ties and total <= MUCH * search[core.TARGET])):
            return low, taken
        if is_steep:
            price, margin = low, MORE_OF_STEEP * margin
            continue
        after[core.PRICE] = low
        step_beside(after, shape, total, slope, fixed)
        price = float(after[core.PRICE])
        moved = series_model.moved_by(shape, low, price)
        if not moved <= NEAR and shape not in LINEAR:
            sums, target = (total, slope, fixed), float(search[core.TARGET])
            known = curve.step(low, total, target) if curve else math.nan
            if math.isnan(known):
                known = price_by_groups(totals.problem, taken[:, 0], taken[:, 1], sums, low, target)
            if not math.isnan(known):
                price, moved = known, series_model.moved_by(shape, low, known)
            if shape in STARTING:  # a slope tells less than T will rise or fall by
                tried = TRIES - more
                within = min(max(price, further_down(search, tried)), further_up(search, tried))  # a NaN is none
                price, moved = within, series_model.moved_by(shape, low, within)
        if is_below and (moved <= NEAR or not more):
            return low, taken
        margin = min(max(MARGIN * moved, LEAST_MARGIN), MOST_MARGIN)
    return None
