"""Steps of a search for the budget's price that know what every group takes, and so where caps begin to bind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk import narrow
from knapsolve.nefk.group_starts import StartSteps
from knapsolve.nefk.narrow import HALVES, ROUNDED, next_half
from knapsolve.nefk.passes import Slopes, parts_of
from knapsolve.nefk.problem import Problem, odd_stride
from knapsolve.nefk.sample_curve import Curve
from knapsolve.nefk.search import LEAST_HALF, LINEAR, STARTING, Secant, across_of
from knapsolve.nefk.series_model import moved_by

Array = NDArray[np.float64]
LEAST_NARROWED = 4096  # items from which a model of T costs less than the passes that it saves
LONG = 0.02  # a step, in log price, over which caps matter
LONGEST = 0.05  # one after which a pass costs less than a model
MOST_PASSING = 0.04  # share of all items that are in groups that pass their caps within a bracket, for a model
LARGE_MEAN = 64  # items of a group, in the mean, from which on groups fall much alike
MOST_GROUPS = 4096  # that are looked at; others are taken to be like them
MUCH = 1e-3  # share of T of groups that are all looked at
MOST_LEADS = 6  # in one search
WIDE, WIDER = 2.0, 5.0  # brackets of many and of few items: a model that misses the answer costs more than rough ones
WIDE_OF_LARGE = 3.0  # of many in large groups: an item that starts next to the price has a slope that tells nothing
OFF_CURVE, OFF_HELD = (0.22, 0.5), 0.45  # what a step along a curve may be off, over its length; after a model that
# missed the answer; and where caps hold nearly all of T, so that models of wider brackets cost little
WIDEST = 7.5e-3  # half a bracket, in log price, of which a model costs less than a rough pass
MOSTLY = 0.95  # share of T that caps hold, where few items are left for a model
OFTEN = 0.9  # the same, where slopes, of all or of each group, are less than what T falls by further on
MORE = 4.0  # times as wide as others such a model may be
LEAST_PART = 0.15  # of a bracket, in log price, that lies on each side of a price that splits it
FLAT = 2.0  # times what T falls over a bracket by its slope at the low end, which more than that tells nothing of
FAST, MOST_FAST = 0.25, 12  # of the last gap of T, on one side, up to which what is left tells that steps do not creep;
# such steps in one search: steps from side to side may never end
LEAP, LEAP_OF_LARGE = 1.5, 1.1  # the first one from a price at which caps hold all, over that; the next ones are the
# square of the last
DOWN, MOST_DOWN = 1.0, 2.0  # steps below which nothing is known, in log price, before a slope is followed further
OPEN = 1.0  # a bracket, in log price, from which on its ends tell nothing of large groups between
LOPSIDED = 0.1  # what T of large groups is off below the answer, over that above it, up to which a line tells nothing
MOST_HELD = 2  # leads where caps hold nearly all of T: which group leaves its cap first is known badly
MOST_HALVED = 8  # brackets, in one search: jumps take more of them than of other steps
MOST_ENCLOSED = 2  # models that hold all of a bracket, in one search
MOST_FOLLOWED = 4  # steps along one curve
SAMPLE = 2048  # items whose total leads to those of groups
ALIKE = 8.0  # how many times as steep as all, or as flat, groups are taken to be at most
MOST_STEPS = 40
MET = 1e-3  # gap of the total that ends the search of a step, over the first
CLOSED = 2e-15  # a bracket, in log price, whose ends tell the answer: of both sides of a start
FARTHEST = 20.0  # of a step, in log price
NEAR = 0.001  # of a step, and in log price: how far from a jump it may end


class GroupSteps:
    """The steps of one search."""

    def __init__(self, passes: Any, curve: Curve | None = None) -> None:
        self.curve, self.problem, self.shape, self.leads = curve, passes.given, passes.shape, MOST_LEADS
        self.held = 0  # leads where caps held nearly all of T
        self.has_missed, self.encloses = False, False  # a model of T did not hold the answer; the next one surely does
        self.starts = StartSteps(passes.given)
        self.before: tuple[float, float] | None = None  # the last price on the curve, and T there
        self.high = math.inf  # how much T was too low above the answer
        self.low = 0.0, 0.0  # how much T was too high below the answer, and its slope there if caps held most
        self.enclosing, self.halving = MOST_ENCLOSED, MOST_HALVED
        self.wide = WIDE if self.problem.n > narrow.MANY else WIDER
        self.between, self.follows, self.is_rough = Secant(passes.shape), MOST_FOLLOWED, passes.is_rough
        self.runs, self.are_large = passes.runs, self.problem.n >= LARGE_MEAN * len(passes.caps)
        self.leap = LEAP_OF_LARGE if self.are_large else LEAP
        self.down = DOWN
        self.gap, self.fast = 0.0, MOST_FAST  # of T at the last price

    def next(self, search: Array, mu: float, taken: tuple[Slopes, Any], sums: tuple[float, float, float]) -> float:
        """One step from what groups take at a price, beside `capped_sums` of that; half a bracket about the next price,
        NaN if the step was too long for one.
        """
        self.starts.count += 1
        gap = sums[0] - float(search[core.TARGET])
        creeps = not (0.0 < gap / self.gap < FAST and self.fast) if self.gap else True
        self.gap = gap
        if not creeps:
            self.fast -= 1
            search[core.SLOW] = 0.0
        follows_ties = self.starts.newton(search, mu, sums)
        self._fall(search, mu, sums)
        if search[core.STATE] == core.RUNNING and self.shape in STARTING and across_of(search) <= CLOSED:
            search[core.STATE] = core.ENCLOSED
        if search[core.STATE] != core.RUNNING or (creeps and (self._try_tie(search) or self.starts.try_start(search))):
            return math.nan
        if (creeps and self.starts.cross(search, mu)) or follows_ties:  # they take nearly all that T falls by
            return math.nan
        slope = sums[1] if sums[2] < OFTEN * sums[0] else 0.0  # more of which is of groups that leave their caps
        half, width = math.nan, self.between.narrow(search, mu, sums[0], slope)
        is_enclosed, across = not math.isnan(width), across_of(search)
        if sums[0] > search[core.TARGET]:
            self.low = sums[0] - float(search[core.TARGET]), sums[1] if sums[2] > MOSTLY * sums[0] else math.inf
        else:
            self.high = float(search[core.TARGET]) - sums[0]
        is_open = not is_enclosed or across > OPEN
        is_flat = is_enclosed and self.low[0] > FLAT * self.low[1] * across
        is_flat &= not self.are_large or (not is_open and self.low[0] < LOPSIDED * self.high)
        widest = HALVES[0] * (MORE if sums[2] > MOSTLY * sums[0] else 1.0)
        self.encloses = (self.has_missed or is_flat) and across <= 2.0 * widest and self._enclose(search)
        if self.encloses:
            return 0.5 * across + ROUNDED
        is_smooth = self.are_large and self.shape not in LINEAR
        if not (is_smooth or is_flat) and self._follow(search, mu, sums[0]):
            off = max(OFF_CURVE[self.has_missed], OFF_HELD if widest > HALVES[0] else 0.0)
            half = off * moved_by(self.shape, mu, float(search[core.PRICE]))
            if self.is_rough and half > WIDEST and sums[2] < MOSTLY * sums[0]:
                return math.nan  # a rough pass costs less than so large a model
            return min(max(half, LEAST_HALF), widest)
        if is_flat and self.halving and _split(search):
            self.halving -= 1
            return math.nan
        if not (is_enclosed or self.are_large) and self._leap(search, mu, sums):
            return math.nan
        price = float(search[core.PRICE])
        if self.problem.n > min(narrow.MANY, LEAST_NARROWED):
            half = next_half(self.shape, mu, price, HALVES[0] if is_enclosed else HALVES[-1], width)
        is_far = not moved_by(self.shape, mu, price) <= LONG
        is_long = math.isnan(half) or (is_far and (self.are_large or self.is_rough))
        is_told = is_enclosed and not (self.are_large and sums[2] < OFTEN * sums[0])  # by a line between both sides
        leads = self.leads and is_long and not is_told
        is_held = self._is_held(search, sums)
        if leads and not (is_held and self.held > MOST_HELD):
            half = self._lead(search, mu, taken, sums, half)
            self.held += is_held
        if self.are_large and is_open and search[core.PRICE] == price and self._leap(search, mu, sums):
            return math.nan
        if not leads and self.is_rough and not self.are_large and half > HALVES[-1] and sums[2] < MOSTLY * sums[0]:
            return math.nan  # a rough pass costs less than so large a model
        if self.problem.n <= narrow.MANY or sums[2] >= MOSTLY * sums[0]:
            return self.wide * half
        half = min((WIDE_OF_LARGE if is_smooth else self.wide) * half, HALVES[0])
        if is_smooth and half > HALVES[-1]:
            away = math.log(float(search[core.PRICE]) / mu)
            return half if self._share_passing(taken, away - half, away + half) <= MOST_PASSING else math.nan
        return half

    def _share_passing(self, taken: tuple[Slopes, Any], first: float, last: float) -> float:
        """The share of the items in groups that pass their caps between two prices, in log price from where so much is
        taken.
        """
        total, slope = taken
        if slope is None:
            return 0.0
        with np.errstate(all="ignore"):
            at = (total[1:] - self.problem.caps) / slope[1:]
        sizes = self.runs.find(1 + np.flatnonzero((first < at) & (at < last)))[1]
        return float(sizes.sum()) / self.problem.n

    def _try_tie(self, search: Array) -> bool:
        """Move a search's price beside the weight that many items have; False if there is no such left to be tried."""
        while self.curve and self.curve.ties:
            price = self.curve.ties.pop(0)
            if search[core.LOW] < price < search[core.HIGH]:
                search[core.PRICE] = price
                return True
        return False

    def _fall(self, search: Array, mu: float, sums: tuple[float, float, float]) -> None:
        """Where no price below is known yet, go down by growing steps: a slope is that of the groups that are loose.
        Two of them, or as many as there are while caps hold nearly all.
        """
        is_open = search[core.STATE] == core.RUNNING and search[core.LOW] <= 0.0 and sums[0] < search[core.TARGET]
        if self.shape in LINEAR or not is_open or (self.down > MOST_DOWN and sums[2] < MOSTLY * sums[0]):
            return
        if not search[core.PRICE] < mu * math.exp(-self.down):
            return
        search[core.PRICE] = mu * math.exp(-self.down)
        self.down *= 2.0

    def _leap(self, search: Array, mu: float, sums: tuple[float, float, float]) -> bool:
        """Where caps hold all of T, or nearly so, leave in growing leaps; False elsewhere."""
        price, is_held = mu * self.leap, self._is_held(search, sums)
        if self.shape in LINEAR or not is_held or not max(mu, search[core.LOW]) < price < search[core.HIGH]:
            return False
        self.leap *= self.leap
        search[core.PRICE] = price
        return True

    def _is_held(self, search: Array, sums: tuple[float, float, float]) -> bool:
        """Whether caps hold so much of T that a leap will hardly change it, as far as its slope tells."""
        gap = sums[0] - float(search[core.TARGET])
        return gap > FLAT * sums[1] * math.log(self.leap) and sums[2] > MOSTLY * sums[0]

    def _enclose(self, search: Array) -> bool:
        """Move the search's price to the middle of its bracket, for a model of all of that; not often."""
        if self.shape in LINEAR or not self.enclosing or not _split(search, 0.5):
            return False
        self.enclosing -= 1
        return True

    def beyond(self, search: Array, mu: float, sums: tuple[float, float, float]) -> float:
        """The price to which a step leads that nothing is learnt of."""
        other = search.copy()
        other[core.PRICE] = mu
        follows_ties = self.starts.newton(other, mu, sums)
        if not (self.are_large or follows_ties) and other[core.STATE] == core.RUNNING:
            self._follow(other, mu, sums[0])
        return float(other[core.PRICE])

    def _follow(self, search: Array, mu: float, total: float) -> bool:
        """Move the search's price along the curve of a sample, which rises or falls from T at a price as T does of the
        sample; or as many times as much as it did between two prices. False if that leads nowhere.
        """
        if self.curve is None or not self.follows:
            return False
        self.follows -= 1
        here, scale = self.curve.total(mu), 1.0
        if self.before:
            price, other = self.before
            fallen = self.curve.total(price) - here
            ratio = fallen / (other - total) if other != total else fallen * math.inf
            if not abs(ratio) > 1.0 / ALIKE:
                self.follows = 0
                return False
            scale = min(abs(ratio), ALIKE)
        self.before = mu, total
        price = self.curve.price(here + scale * (float(search[core.TARGET]) - total))
        if not search[core.LOW] < price < search[core.HIGH]:
            return False
        search[core.PRICE] = price
        return True

    def _lead(
        self, search: Array, mu: float, taken: tuple[Slopes, Any], sums: tuple[float, float, float], half: float
    ) -> float:
        """The same by `price_by_groups`; what it was before where that is of no use."""
        if self.problem.n <= narrow.MANY or self.shape in LINEAR or taken[1] is None:
            return half
        price = price_by_groups(self.problem, *taken, sums, mu, float(search[core.TARGET]))
        self.leads -= 1
        if not search[core.LOW] < price < search[core.HIGH]:
            return half
        search[core.PRICE] = price
        return next_half(self.shape, mu, price, HALVES[0]) if moved_by(self.shape, mu, price) <= LONGEST else math.nan


def _split(search: Array, least: float = LEAST_PART) -> bool:
    """Move a search's price as far from both ends of its bracket, which is positive, as a part of that; False if the
    ends are too close for that.
    """
    across, low = across_of(search), float(search[core.LOW])
    away = math.log(float(search[core.PRICE]) / low)
    price = low * math.exp(min(max(away, least * across), (1.0 - least) * across))
    if not low < price < search[core.HIGH]:
        return False
    search[core.PRICE] = price
    return True


def price_by_groups(
    problem: Problem, total: Slopes, slope: Slopes, sums: tuple[float, float, float], price: float, target: float
) -> float:
    """The price at which T meets a target if every group falls as a sample of all items does, to some power; NaN if
    there is none.

    From totals and slopes (g + 1,) at a price, of no group's items first, and `capped_sums` of them. Powers are
    elasticities of groups over that of all, within bounds: single items that are about to start make the sample's own
    a bad one. So T is met at the price, but its slope only nearly, and steps may fall short.
    """
    chosen, scale = _some_groups(total[1:], problem.caps, sums[0])
    taken, steep = (np.append(x[0], x[1 + chosen]).astype(np.float64) for x in (total, slope))
    cap, scale = np.append(np.inf, problem.caps[chosen]), np.append(1.0, scale)
    sample = problem.sample(SAMPLE).passes()
    with np.errstate(all="ignore"):
        first = sample.respond(price)[0]
        of_all = slope.sum(dtype=np.float64) / total.sum(dtype=np.float64)
        power = steep / taken / of_all
        power = np.clip(np.where(np.isfinite(power), power, 1.0), 1.0 / ALIKE, ALIKE)
        others = sums[0] - float(scale @ np.minimum(taken, cap))
        loose = max((sums[1] - scale @ np.where(taken <= cap, steep, 0.0)) / of_all, 0.0)  # what falls of these
        low, high, t, steeper = -FARTHEST, FARTHEST, 0.0, scale * power
        for _ in range(MOST_STEPS):
            at = price * math.exp(t)
            now, fall = np.array(sample.respond(at))
            here = taken * np.exp(power * np.log(now / first))
            is_free = here < cap
            gap = float(others + loose * (now / first - 1.0) + scale @ np.where(is_free, here, cap) - target)
            if math.isnan(gap):
                break
            if abs(gap) <= MET * abs(sums[0] - target):
                return at
            low, high = (t, high) if gap > 0.0 else (low, t)
            if high - low <= NEAR * min(abs(t), 1.0):  # where a sampled item starts, or T is met nowhere
                return at if max(-low, high) < FARTHEST else math.nan
            t += float(gap / ((steeper @ np.where(is_free, here, 0.0) + loose * now / first) * fall / now))
            if not low < t < high:
                t = 0.5 * (low + high)
    return math.nan


def _some_groups(total: Slopes, caps: Array, whole: float) -> tuple[NDArray[np.intp], Array]:
    """Groups that stand for all (g,): such as take much of the whole, and some others by chance; how many each is."""
    if len(caps) <= MOST_GROUPS:
        return np.arange(len(caps)), np.ones(len(caps))
    parts = (
        part.start + np.flatnonzero(np.minimum(total[part], caps[part]) > MUCH * whole) for part in parts_of(len(caps))
    )
    much = np.concatenate(list(parts)) if caps.max() > MUCH * whole else np.empty(0, dtype=np.intp)
    few = np.arange(0, len(caps), odd_stride(-(-len(caps) // MOST_GROUPS)))
    few = few[~np.isin(few, much, assume_unique=True)] if much.size else few
    each = (len(caps) - much.size) / max(few.size, 1)
    return np.append(much, few), np.append(np.ones(much.size), np.full(few.size, each))
