"""T, what groups take under their caps, of samples of the groups or of their items: first prices of searches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import knapsolve._core.group_layout as group_layout
import knapsolve._core.group_samples as sample_loops
import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk import series_model
from knapsolve.nefk.group_totals import FEW, GroupTotals
from knapsolve.nefk.jumps import beside_tie, ends_of_ties, tied_starts
from knapsolve.nefk.large_samples import LargeSamples
from knapsolve.nefk.sample_curve import Curve
from knapsolve.nefk.sampled_items import sampled_items
from knapsolve.nefk.search import BESIDE, LINEAR, STARTING, Secant, step_beside

Array = NDArray[np.float64]
SAMPLE_STEPS = 8
ROUGHLY = 5e-4  # relative gap of the sample's total that ends its search
FEWEST_TELLING = 8  # small groups that tell how what they take goes with their caps
ALIKE = 1e-12  # share of the variance of caps in their squares that is none
FURTHEST = 16.0  # of a step on a sample, over the price
POINTS = np.array([-1.05, 0.0, 1.5, 4.0])  # of curves: how far prices on them are from the sample's, over its error
LEAST_LOOSE = 64  # groups with loose caps whose slope is nearly that of all
LEAST_AT_END = 0.5  # of T of a sample where a curve ends: less falls at once
LEAST_AWAY = 1e-6  # of a price over the one at which the first items start, at which T is looked for
DOWN = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # in log price, from above which nothing is taken
AWAY, MOST_ERRORS = (0.06, 0.12, 0.25, 0.5, 1.0), 1.2  # in log price: how far up it is looked for how T falls; at most
ALONG = 1e-4  # error of a log price at which T of a sample has some size
FAR_OFF = 0.5  # an error of a log price, of which a slope tells nothing: what T falls over as much on both sides does
LEAST_CAPPED = 0.05  # share of the groups whose caps bind, from which on Newton's steps go too far


class _Taken(NamedTuple):
    """What groups of a sample take at a price (g + 1,), of large ones as far as their samples are trusted, by each; T,
    its slope and its part that caps hold; what small groups take under their caps, and how that goes with these.
    """

    price: float
    total: Array
    trust: Array | float
    sums: tuple[float, float, float]
    taken: Array
    by_cap: float


class SampledTotals:
    """T of a sample of the items, scaled up: some small groups whole, and some items of every large one.

    Of items of no group, if they are few, more are in it: where caps bind, the price depends on them. What small groups
    take goes with their caps, whose sum is known: what the sample has too much of them is taken off T as far. Of large
    groups, few items are known: as far as their means differ by chance alone, large groups are taken to be alike (James
    and Stein's estimator), or caps would hold too much of T where it is chance that exceeds them.
    """

    def __init__(self, totals: GroupTotals) -> None:
        problem, every, large = totals.problem, totals.every, totals.are_large()
        large[0] = totals.ungrouped * FEW > problem.n  # its items are no group
        which, known = sampled_items(totals, large)
        chosen = totals.sampled
        if totals.has_large:
            is_chosen = large[1:].copy()
            is_chosen[chosen] = True
            chosen = np.flatnonzero(is_chosen)
        caps, is_large = problem.caps[chosen], large[1 + chosen]
        caps[is_large] /= every
        has_group = known >= 0
        names = np.empty(known.size, dtype=np.intp)
        group_layout.ranks_among(chosen, known, len(problem.caps), names)
        part = replace(problem.take(which, problem.capacity, totals.n_jobs), groups=names, caps=caps)
        self.small, rows = np.flatnonzero(~is_large), 1 + np.flatnonzero(is_large)
        sizes = totals.sizes[1 + chosen[is_large]] / every if totals.has_large else np.empty(0)
        self.away = np.zeros(self.small.size)  # until T is asked for, as all else that `_weigh` finds
        self.missing, self.spread = 0.0, math.nan
        self._small_caps = 0.0  # of the sampled ones that have items
        self._sum_of_caps = totals.sum_of_used_caps  # of small groups
        if totals.has_large and large[1:].any():
            marks = (~large[1:] & (totals.sizes[1:] > 0)).view(np.int8)
            self._sum_of_caps = lambda: group_tables.sum_marked(problem.caps, marks, totals.n_jobs)
        self.totals = GroupTotals(part, part.criterion._items_of(part, None))
        self.large = LargeSamples(self.totals, rows, sizes)
        self.share_ungrouped = totals.ungrouped / problem.n
        self.nonempty = max(int(np.count_nonzero(self.totals.sizes[1:])), 1)  # sampled groups with items
        self.every, self._n_jobs = float(every), totals.n_jobs
        self.ungrouped = max(totals.ungrouped / max(known.size - int(np.count_nonzero(has_group)), 1), 1.0)
        self.has_ties = False  # about the price that was found
        self._steep = math.nan  # how T falls by log price, as far as the last one's error tells
        self.capped = 0.0  # share of the groups whose caps are exceeded at the last price
        self._last: _Taken | None = None

    @np.errstate(all="ignore")
    def _weigh(self) -> None:
        """How far the caps of small groups are from their mean, what those of the sample lack, and their spread, 0
        where that tells nothing of how what groups take goes with their caps.
        """
        is_used = self.totals.sizes[1 + self.small] > 0
        caps, n_used = np.where(is_used, self.totals.caps[self.small], 0.0), int(np.count_nonzero(is_used))
        self._small_caps = float(caps.sum())
        self.away = caps - self._small_caps / max(caps.size, 1)
        self.missing = self._sum_of_caps() - self.every * self._small_caps
        self.spread = float(np.square(self.away).sum()) if math.isfinite(self.missing) else 0.0
        is_alike = not self.spread > ALIKE * float(np.square(caps).sum())  # but for rounding
        if is_alike:
            self.away = np.zeros(caps.size)  # also where one has no end
        if is_alike or n_used < FEWEST_TELLING:
            self.spread = 0.0

    def respond(self, price: float) -> tuple[float, float, float]:
        """T, its slope and its part that caps hold at a price, roughly."""
        if math.isnan(self.spread):
            self._weigh()
        self._last = self._respond(price)
        total, caps = self._last.total[1:], self.totals.caps
        self.capped = np.count_nonzero(total > caps) / max(len(caps), 1)
        return self._last.sums

    def _respond(self, price: float) -> _Taken:
        every, taken = self.every, self.totals.respond(price)
        trust = self.large.shrink(price, taken)
        under = np.empty(self.small.size)
        sums = sample_loops.sums_under_caps(taken, self.totals.caps, self.small, self.away, under)
        whole, steep, held, part, along = sums
        by_cap, lacks, more = 0.0, 0.0, self.ungrouped
        if math.isfinite(self.missing):  # not where a cap has no end
            by_cap = self._by_cap(whole, part, along)
            lacks = by_cap * self.missing
        whole = every * whole + lacks + more * float(taken[0, 0])
        return _Taken(
            price,
            taken[:, 0],
            trust,
            (whole, every * steep + more * float(taken[0, 1]), every * held + lacks),
            under,
            by_cap,
        )

    def _by_cap(self, whole: float, part: float, along: float) -> float:
        """How what small groups take goes with their caps, from what all groups and small ones take together, and these
        along `away`: in proportion where few or alike ones are sampled, as T of the large ones where none is.
        """
        if 0.0 < self.spread < math.inf:
            return along / self.spread
        caps = self._small_caps
        if not caps > 0.0:
            caps, part = float(self.totals.caps[self.large.which - 1].sum()), whole
        share = part / caps if caps > 0.0 else 0.0
        return min(share, 1.0) if share >= 0.0 else 0.0

    @np.errstate(all="ignore")
    def error(self) -> float:
        """How far the last price may be off: what T differs by among samples of the small groups, over its slope; from
        what they take under their caps, and how that goes with these; among samples of large ones; and of the items of
        no group.
        """
        if self._last is None:
            return math.nan
        last, are_some = self._last, self.ungrouped > 1.0 or self.large.which.size > 0
        amounts = self.totals.amounts(last.price) if are_some else np.empty(0)
        left = last.taken - last.taken.sum() / max(self.small.size, 1) - last.by_cap * self.away
        squares = self.every**2 * (float(np.square(left).sum()) + self.large.variance(last.total, last.trust, amounts))
        if self.ungrouped > 1.0:  # all of them would leave no chance
            alone = amounts[self.totals.problem.groups < 0]
            squares += self.ungrouped * (self.ungrouped - 1.0) * alone.size * float(alone.var())
        self._steep, off = last.sums[1], np.sqrt(squares)
        if not off <= FAR_OFF * self._steep and 0.0 < last.price < math.inf:
            more, less = (self._respond(last.price * math.exp(away)).sums[0] for away in (-FAR_OFF, FAR_OFF))
            self._steep = (more - less) / (2.0 * FAR_OFF)
        return float(off / np.float64(self._steep))

    def price_above(self, price: float, errors: float) -> float:
        """A price above another, by some errors of the last one, which is known, or by less if T falls as much over
        that as its slope tells for these, which is little where caps hold nearly all. Infinite if neither is near.
        """
        if self._last and price > 0.0 and errors > AWAY[0]:
            here, fall = self._respond(price).sums[0], errors * self._steep
            for away in AWAY:
                if away < errors and here - self._respond(price * math.exp(away)).sums[0] >= fall:
                    return price * math.exp(away)
        return price * math.exp(errors) if errors < MOST_ERRORS else math.inf

    def sizes_of_groups(self) -> NDArray[np.intp]:
        """How many items the sampled groups have, if none is large."""
        return np.bincount(self.totals.problem.groups + 1, minlength=len(self.totals.caps) + 1)[1:]

    def capped_at(self, price: float) -> tuple[float, float]:
        """The share of groups whose caps are exceeded at a price, if above 0, of those that have items; and of items
        that have no such group.
        """
        taken = self.totals.respond(price)
        sizes, alone = self.sizes_of_groups().astype(np.float64), self.share_ungrouped
        self.large.shrink(price, taken)
        loose = (taken[1:, 0] <= self.totals.caps) | (self.totals.caps <= 0.0)
        left = alone + (1.0 - alone) * float(sizes[loose].sum() / max(sizes.sum(), 1))
        return (len(self.totals.caps) - int(np.count_nonzero(loose))) / self.nonempty, left

    def price(self, search: Array) -> float:
        """The price at which T meets a search's target, roughly; NaN if no bracket can be put about it."""
        rough, shape = search.copy(), self.totals.shape
        step_roughly(rough, shape, self.respond, ROUGHLY)
        price = float(rough[core.PRICE])
        if rough[core.STATE] == core.RUNNING and shape in STARTING:
            beside = self._price_beside_ties(float(search[core.TARGET]))
            price, self.has_ties = (price, False) if math.isnan(beside) else (beside, True)
        return price if series_model.has_bracket(shape, price) else math.nan

    def _price_beside_ties(self, target: float) -> float:
        """The same where many items start at few prices, near which Newton's steps only creep; NaN elsewhere."""
        ties = ends_of_ties(tied_starts(self.totals.problem)).tolist()
        low, high = 0, len(ties)
        while low < high:
            k = (low + high) // 2
            low, high = (k + 1, high) if self.respond(ties[k][1] * (1.0 + BESIDE))[0] > target else (low, k)
        if high == len(ties):
            return math.nan
        top, furthest = ties[high][0], -math.log(BESIDE)

        def gap(away: float) -> float:
            return self.respond(top * -math.expm1(-away))[0] - target

        least = -math.log1p(-ties[high - 1][1] * (1.0 + BESIDE) / top) if high else LEAST_AWAY
        if gap(furthest) >= 0.0:
            return top  # within a jump
        return top * -math.expm1(-float(brentq(gap, least, furthest, xtol=ROUGHLY))) if gap(least) > 0.0 else math.nan

    def enclose(self, search: Array, error: float) -> tuple[float, float, Curve] | None:
        """The price at which T meets a search's target, how far below that T is larger by some relative error, over the
        price, and T between; None if no positive prices do. For items whose slopes tell nothing, as of linear ones.
        """
        target = float(search[core.TARGET])
        known: dict[float, float] = {}

        def gap(log: float, goal: float) -> float:
            known[log] = known[log] if log in known else self.respond(math.exp(log))[0]
            return known[log] - goal

        high = math.log(search[core.HIGH]) if 0.0 < search[core.HIGH] < math.inf else math.nan
        goals = (target, (1.0 + error) * target, (1.0 - error) * target)
        lows = [next((high - away for away in DOWN if gap(high - away, x) > 0.0), math.nan) for x in goals[1::-1]]
        low = lows[1] if math.isnan(lows[0]) else lows[0]  # caps may hold nearly all
        if not (low < high and gap(high, target) < 0.0):
            return None
        try:
            ends = [
                low if gap(low, x) <= 0.0 else high if gap(high, x) >= 0.0 else brentq(gap, low, high, (x,), xtol=ALONG)
                for x in goals
            ]
        except (ValueError, RuntimeError):  # T has no end, or will not be enclosed
            return None
        gap(ends[1] - ALONG, target)  # what below() comes to, is on the curve
        first, last = min(ends) - 2.0 * ALONG, max(ends) + 2.0 * ALONG
        logs = np.array([t for t in sorted(known) if first <= t <= last])
        totals = np.minimum.accumulate([known[t] for t in logs])
        price = math.exp(ends[0])
        ties = beside_tie(self.totals.problem, math.exp(first), price, math.exp(last))
        return price, -math.expm1(min(ends) - ALONG - ends[0]), Curve(logs, totals, ties)

    def curve(self, price: float, error: float) -> Curve | None:
        """T of the sample about its price, which may be off by so much, in log price; None where Newton's steps do."""
        loose = (1.0 - self.capped) * len(self.totals.caps)
        if self.totals.shape in LINEAR or not price > 0.0 or self.capped < LEAST_CAPPED or loose < LEAST_LOOSE:
            return None
        away, jobs = POINTS * error, 1 if self.large.which.size else self._n_jobs  # the first one asked sets `within`
        wholes = work_through(lambda t: self._respond(price * math.exp(t)).sums[0], away, jobs)
        totals = np.minimum.accumulate(wholes)
        if not totals[-1] > LEAST_AT_END * totals[0]:
            return None
        logs, totals = (np.append(2.0 * x[0] - x[1], x) for x in (math.log(price) + away, totals))
        return Curve(logs, totals)  # which goes on below as it begins


def step_roughly(
    search: Array, shape: int, respond: Callable[[float], tuple[float, float, float]], tolerance: float
) -> None:
    """Take a search (8,) some steps further, by T, its slope and its part that caps hold at a price, roughly."""
    search[core.TOLERANCE], between = tolerance, Secant(shape)
    for _ in range(SAMPLE_STEPS):
        price = float(search[core.PRICE])
        if search[core.STATE] != core.RUNNING or not series_model.has_bracket(shape, price):
            break
        sums = respond(price)
        step_beside(search, shape, *sums)
        if shape not in LINEAR:  # what is known to be fixed, of all groups, may be more than a sample's total
            search[core.PRICE] = min(max(search[core.PRICE], price / FURTHEST), price * FURTHEST)
        if search[core.STATE] == core.RUNNING:
            between.narrow(search, price, sums[0])
