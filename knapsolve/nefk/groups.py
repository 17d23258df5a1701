"""Disjoint groups with caps: every item answers the larger of the budget's price and its group's own price.

The total at a price mu is T(mu) = sum over groups of min(S_g(mu), cap_g): its root is found as that of any total, by
passes that take the S_g, and with many items over a narrow bracket by a model of T. The own price of a group, where its
items alone take its cap, does not depend on the budget; it is only needed where the cap binds, once, at the end.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.group_marks import beside, mark_surely
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_steps import GroupSteps
from knapsolve.nefk.group_totals import SURELY, capped_sums, error_of
from knapsolve.nefk.narrow import CONFIRMED, CORRECTIONS, HALVES, MANY
from knapsolve.nefk.own_guesses import guesses_from_above, is_far_below, over_caps, own_guesses
from knapsolve.nefk.passes import Prices, Settled, Slopes, parts_of
from knapsolve.nefk.problem import odd_stride
from knapsolve.nefk.result import Place
from knapsolve.nefk.sample_curve import Curve
from knapsolve.nefk.search import LINEAR, enclosed, find_between, new_searches, share_of, within
from knapsolve.nefk.series_model import BENT, SeriesModel, bracket, size_of
from knapsolve.nefk.zero_price import settle_sign

Array = NDArray[np.float64]
MOST_ROUGH, MOST_ROUGH_OF_MANY = 4, 18  # one in so many items may be rough, or in a group that is open
MOST_ROUGH_OF_LARGE = 8  # of a large group, with items that are left out
ROOM_SAMPLE, MOST_SAMPLED = 128, 16384  # rough items are counted on one in so many
FILLED = 0.85  # of their room, if the sample is right
LEAST_NARROWED = 0.15  # of a bracket: narrower ones hold no answer
PART = 1 << 17  # groups that a thread looks at at a time
MOST_MODELS = 8  # of T in one search: what they do not end, jumps, and is for brackets to be halved


def solve_groups(
    passes: GroupPasses,
    search: Array,
    place: Place,
    known: list[tuple[Array, Slopes]],
    curve: Curve | None = None,
) -> tuple[Prices, Array, Settled]:
    """Prices of the budget, own prices by group (g,) with NaN where a cap is loose, and how the amounts settled.

    A search whose lower end is 0 or more is known to have a positive price. `known` may hold totals and slopes (g + 1,)
    at the search's price; it is emptied. The arrays by group take much memory where groups are small: at most three of
    them live at a time, two once there are amounts. LowAnswer if items are left out of the passes that take something.
    """
    mu = math.nan
    if passes.shape == core.QUADRATIC:
        before = float(search[core.PRICE])
        settle_sign(passes, search)
        if known and search[core.STATE] == core.RUNNING:
            if search[core.LOW] < before < search[core.HIGH]:
                search[core.PRICE] = before  # whose totals are known
            else:
                known.clear()
    total: Any = None
    slope: Any = None
    steps, target, was_near, n_models = GroupSteps(passes, curve), float(search[core.TARGET]), False, 0
    while search[core.STATE] == core.RUNNING:
        mu, total, slope = float(search[core.PRICE]), None, None
        if mu < passes.least:
            raise LowAnswer
        total, slope = known.pop() if known else passes.respond_roughly(mu)
        sums, half = capped_sums(passes, total, slope), math.nan
        gap = abs(sums[0] - target)
        may_be_near = passes.is_rough and gap <= 2.0 * SURELY * sums[0]
        error = error_of(passes, total, sums[0]) if may_be_near else -1.0
        is_near, takes_models = gap <= error, n_models < MOST_MODELS
        if is_near and not was_near and takes_models and error < HALVES[0] * sums[1]:
            half = steps.wide * error / sums[1]  # on which side, an exact pass says if a model about it misses
            search[core.PRICE] = steps.beyond(search, mu, sums)
        else:
            if is_near:
                total, slope = None, None
                total, slope = passes.respond(mu)
                exact = capped_sums(passes, total, slope)
                sums = exact if slope is not None else (exact[0], sums[1], exact[2])
            half = steps.next(search, mu, (total, slope), sums)
        was_near = is_near
        if half > 0.0 and (takes_models or steps.encloses):
            price, n_models = float(search[core.PRICE]), n_models + 1
            half *= size_of(passes.shape, price)
            side = 0.0 if gap <= 2.0 * SURELY * sums[0] else sums[0] - target
            ends = beside(bracket(passes.shape, price, half), mu, side)
            marks = [mark_surely(passes, mu, ends, total, slope)]
            half = with_room(passes, price, half, marks[0])
            if is_far_below(passes, total, sums):
                binds, total, slope = over_caps(total, passes.caps), None, None
                own = guesses_from_above(passes, binds, mu)
            else:
                own, total, slope = own_guesses(passes, mu, total, slope), None, None
            ends = beside(bracket(passes.shape, price, half), mu, side)
            model = GroupModel(passes, price, half, marks[0], ends)
            found = _settle_model(model, passes, search, mu, own, marks, place) if model.valid else None
            if found:
                return found
            steps.has_missed |= model.valid
            del own, marks, model
            passes.layout.release(place)
    if passes.given.n > MANY or passes.is_rough:
        total = slope = None
    prices, taken = _end(passes, search)
    if taken is not None:
        total, slope = taken
    elif mu != prices.high or total is None:
        total = slope = None
        total, slope = passes.respond(float(prices.high))
    del taken
    if prices.high == 0.0 and passes.shape not in LINEAR:
        binds, total, slope = over_caps(total, passes.caps), None, None
        own = guesses_from_above(passes, binds, 0.0)
    else:
        own, total, slope = own_guesses(passes, float(prices.high), total, slope), None, None
    settled, _ = passes.settle(prices, own, float(prices.high), place)
    return prices, own[1:], settled


def with_room(passes: GroupPasses, price: float, half: float, marks: NDArray[np.int8]) -> float:
    """Half of a bracket about a price, narrower if a sample has more rough items than the layout has room for, or, in
    one that is wide, than a model takes.

    Marks (g + 1,) are those of `mark_surely`: of groups that have none, about half pass their caps or exceed them. Much
    narrower brackets are of no use.
    """
    given, usual = passes.given, _most_rough(passes.given.n)
    most = min(passes.layout.most_rough, usual)
    is_seldom = most == usual and half <= HALVES[0] * size_of(passes.shape, price)
    if is_seldom or passes.layout.member is None:
        return half
    problem = passes.problem
    which = np.arange(0, problem.n, odd_stride(max(ROOM_SAMPLE, -(-problem.n // MOST_SAMPLED))))
    known = marks[passes.runs.groups_of(which, passes.layout.member)]
    sample = problem.take(which, given.capacity)
    rough = sample.passes().expand(price, half, BENT)[0]
    if rough is None:
        return half
    count = np.count_nonzero(known[rough] == 3) + 0.5 * np.count_nonzero(known[rough] == 0)
    share = FILLED * most * sample.n / max(count * problem.n, 1.0)
    return half * share if LEAST_NARROWED < share < 1.0 else half


def _most_rough(n: int) -> int:
    """How many of n items may be rough for a model."""
    return n // (MOST_ROUGH if n <= MANY else MOST_ROUGH_OF_MANY)


def _end(passes: GroupPasses, search: Array) -> tuple[Prices, tuple[Array, Slopes | None] | None]:
    """Prices of a search that has ended, and what groups take at the higher one, where that was asked for: a jump is
    shared.
    """
    price = float(search[core.PRICE])
    if not passes.given.equality and price <= 0.0 and passes.shape != core.LOG_EXPONENTIAL:
        return Prices(0.0, 0.0), None  # capacity is left over
    if not enclosed(search):
        return Prices(price, price), None
    low, high = float(search[core.LOW]), float(search[core.HIGH])
    more = capped_sums(passes, *passes.respond(low))[0]
    taken = passes.respond(high)
    return Prices(low, high, share_of(search[core.TARGET], more, capped_sums(passes, *taken)[0])), taken


class LowAnswer(Exception):
    """The budget's price lies, or seems to lie, where items take something that were left out."""


class GroupModel:
    """T over a bracket: rough items and groups that pass their cap exactly, large groups and all the rest by cubics.

    Marks (g + 1,), which change, are those of `mark_surely` for the ends of the bracket, which `half` may lead beyond;
    they become those of `expand`.
    """

    def __init__(
        self, passes: GroupPasses, price: float, half: float, marks: NDArray[np.int8], ends: tuple[float, float]
    ) -> None:
        self.shape, self.ends, self.offset = passes.shape, ends, 0.0
        most = min(_most_rough(passes.given.n), passes.layout.most_rough)
        self.passes, problem, jobs = passes, passes.problem, passes.n_jobs
        rough, opened, terms = passes.expand(price, half, BENT, marks, most)
        self.large, self.valid = [], rough is not None
        room = self.passes.layout.most_rough - (0 if rough is None else len(rough) + len(opened))
        large = [one for one in passes.large if marks[one.group] != 1] if self.valid else []
        for part in parts_of(len(large), passes.at_once):  # and no more, which would take room
            expanded = passes.each_large(lambda one: one.passes.expand(price, half, BENT), large[part])
            for one, (found, own_terms) in zip(large[part], expanded):
                most_of_one = one.problem.n / (MOST_ROUGH_OF_LARGE * passes.share)
                if found is None or len(found) > min(most_of_one, room):
                    self.valid = False
                    return
                room -= len(found)
                model = SeriesModel(one.problem, found, price, half, own_terms, jobs)
                self.large.append((one.group, one.cap, model))
        if rough is None:
            return
        self.smooth = SeriesModel(problem, rough, price, half, terms, jobs)
        self.fixed = group_tables.sum_marked(passes.caps, marks[1:], jobs)
        parts = list(parts_of(marks.size, PART))
        groups = np.concatenate(work_through(lambda x: x.start + np.flatnonzero(marks[x] == 2), parts, jobs))
        self._open(groups, opened, np.repeat(np.arange(groups.size), passes.runs.find(groups)[1]))

    def _open(self, groups: NDArray[np.intp], items: NDArray[Any], which: NDArray[np.intp]) -> None:
        """Take some groups by all their items, of which group each of these is."""
        self.open, self.some = groups, None
        if groups.size:
            part = self.passes.problem.take(items, 1.0)
            self.some = GroupPasses(replace(part, groups=which, caps=self.passes.caps[groups - 1]), 1)

    def reopen(self, wrong: NDArray[np.intp]) -> bool:
        """Take some groups by all their items that were taken to be capped; False if one is large."""
        if np.isin([one.group for one in self.passes.large], wrong).any():
            return False
        more = np.setdiff1d(wrong, self.open)
        self.fixed -= float(self.passes.caps[more - 1].sum())
        groups = np.union1d(self.open, more)
        self._open(groups, *self.passes.layout.items_of(groups))
        return True

    def search(self, search: Array) -> None:
        """Nothing is compiled for this one."""

    def starts(self, search: Array) -> Array:
        """Prices within a search's bracket at which T jumps, as a rough item or one of an open group starts there."""
        parts = [self.smooth.starts(search), *(model.starts(search) for _, _, model in self.large)]
        return np.concatenate(parts if self.some is None else [*parts, within(self.some.problem.starts(), search)])

    def respond(self, price: float) -> tuple[float, float]:
        """T and its slope at a price within the bracket."""
        total, slope = self.smooth.respond(price)
        if self.some is not None:
            more, steeper, _ = capped_sums(self.some, *self.some.respond(price))
            total, slope = total + more, slope + steeper
        for _, cap, model in self.large:
            more, steeper = model.respond(price)
            total, slope = (total + more, slope + steeper) if more <= cap else (total + cap, slope)
        return total + self.fixed + self.offset, slope

    def decide(self, price: float, own: Array) -> None:
        """Own prices (g + 1,) of the groups that may be loose: a guess, NaN where the cap is loose at a price."""
        own[self.open] = np.nan
        if self.some is not None:
            over = self.some.respond(price)[0][1:] > self.some.caps
            own[self.open[over]] = price
        for group, cap, model in self.large:
            own[group] = price if model.respond(price)[0] > cap else np.nan


def _settle_model(
    model: GroupModel,
    passes: GroupPasses,
    search: Array,
    floor: float,
    own: Array,
    marks: list[NDArray[np.int8]],
    place: Place,
) -> tuple[Prices, Array, Settled] | None:
    """Settle at the price that a model of T gives; what the total turns out to be beyond the model corrects it. None if
    it does not hold the answer.

    The marks of its groups are taken out for use.
    """
    target, capped = float(search[core.TARGET]), marks.pop()
    group_tables.take_marked(own, capped, model.ends[1], passes.n_jobs)
    del capped  # room for the amounts
    for _ in range(CORRECTIONS):
        ends = [(price, *model.respond(price)) for price in model.ends]
        if not ends[0][1] > target > ends[1][1]:
            return None
        inner = new_searches(passes.shape, np.array([target]), search[core.TOP], search[core.PRICE])[0]
        prices = find_between(model, inner, ends)
        model.decide(float(prices.high), own)
        settled, wrong = passes.settle(prices, own, min(floor, model.ends[0]), place)
        if wrong:
            below = [part.start + np.flatnonzero(own[part] < prices.high) for part in parts_of(own.size)]
            if sum(map(len, below)) != wrong or not model.reopen(np.concatenate(below)):
                return None
        elif abs(settled.total - target) <= CONFIRMED * target:
            return prices, own[1:], settled
        else:
            model.offset += settled.total - target
    return None
