"""Guesses of the own prices of groups whose caps bind, from which their tiles search."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_tables as group_tables
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.narrow import MANY
from knapsolve.nefk.passes import parts_of
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LINEAR, price_of_part

Array = NDArray[np.float64]
LINES = group_tables.LINES
CURVE_SAMPLE, CURVE_STEP, CURVE_POINTS, FEW_POINTS = 1024, 1.4, 64, 20  # items, prices (last: with lower bounds)
# where lines of guesses begin and end
QUOTIENTS = np.append(np.outer(2.0 ** np.arange(LINES // 8), 1.0 + np.arange(8) / 8.0), 2.0 ** (LINES // 8))
MORE_THAN_CAPS = 2.0  # of what caps allow in all: where own prices are guessed from, far above the budget's
ROOMY = 4  # items to a group from which on there is room for totals by group beside what is known of them
MOSTLY_HELD, FAR_OVER = 0.5, 8.0  # share of T that caps hold, and what groups take over that, where own prices are far
MOST_OVER = QUOTIENTS[-1] / 8.0  # the same where a sample leads from there
LED_MEAN = 16  # items of a group, in the mean, from which on better guesses are worth it where tiles lead by themselves
FARTHEST = 100.0  # a guess of an own price over the budget's, where there is no sample
FEW_AT_ONCE = 4096  # groups: what is made of them on the way takes little room


def own_guesses(passes: GroupPasses, mu: float, total: Any, slope: Any, along: Array | None = None) -> Array:
    """Own price of each group (g + 1,), from what it takes at mu; NaN where the cap is loose there.

    By what a sample of all items takes at higher prices, which may be known; of few items by one Newton step, or
    roughly where tiles lead their searches by themselves. Written over `total`, or over the pairs of which that and
    `slope` are the columns.
    """
    bent, is_led = passes.shape not in LINEAR, passes.leads
    own = total if total.dtype == np.float64 else total.base.view(np.float64)[:, 0]
    if is_led or has_curve(passes):
        if along is None:
            along = _along_a_sample(passes, mu) if has_curve(passes) else mu * np.minimum(QUOTIENTS, FARTHEST)
        group_tables.guess_along(total, passes.caps, _lines_of(along), own, passes.n_jobs)
        return own
    for part in parts_of(len(passes.caps), FEW_AT_ONCE):
        taken, steep, cap = total[1:][part], slope[1:][part], passes.caps[part]
        loose = taken <= cap
        with np.errstate(all="ignore"):
            if bent:
                guess = mu * np.exp(np.minimum(np.log(taken / cap) * taken / steep, 5.0))
            else:
                guess = mu + (taken - cap) / steep
        guess[~np.isfinite(guess)] = mu
        guess[loose] = np.nan
        own[1:][part] = guess
    own[0] = np.nan
    return own


def has_curve(passes: GroupPasses) -> bool:
    """Whether own prices are guessed by what a sample of the items takes: where lower bounds are much of that, it tells
    too little for tiles that lead their searches by themselves.
    """
    least = LED_MEAN * len(passes.caps) if passes.leads else 0
    is_told = passes.shape not in LINEAR and not (passes.leads and has_lower_bounds(passes.given))
    return is_told and passes.given.n > max(MANY, least)


def has_lower_bounds(problem: Problem) -> bool:
    """Whether items take something at any price."""
    return is_column(problem.lower) or problem.lower > 0.0


def _along_a_sample(passes: GroupPasses, mu: float) -> Array:
    """Prices (LINES + 1,) at which a sample of the items takes as many times less than at mu as `QUOTIENTS` say."""
    sample = passes.given.sample(CURVE_SAMPLE).passes()
    most = FEW_POINTS if has_lower_bounds(passes.given) else CURVE_POINTS
    return _along(*sample.respond_upwards(mu, CURVE_STEP, sample.respond(mu)[0] / QUOTIENTS[-1], most))


@np.errstate(all="ignore")
def _along(prices: Array, totals: Array) -> Array:
    """The same of a sample's totals at some prices (m,), of which mu is the first."""
    fallen = totals[0] / np.maximum(totals, 1e-300)
    along = np.exp(np.interp(np.log(QUOTIENTS), np.log(fallen), np.log(prices)))
    return np.where(np.isfinite(along), along, prices[0])


def _lines_of(along: Array) -> Array:
    """Prices `along` the quotients as lines between these (LINES, 2): where each is at 0, and its slope."""
    slopes = np.diff(along) / np.diff(QUOTIENTS)
    return np.column_stack([along[:-1] - slopes * QUOTIENTS[:-1], slopes])


def over_caps(total: Any, caps: Array) -> NDArray[np.bool_]:
    """Which groups (g + 1,), of no group first, take more than their caps."""
    over = np.zeros(len(total), dtype=bool)
    np.greater(total[1:], caps, out=over[1:])
    return over


def is_far_below(passes: GroupPasses, total: Any, sums: tuple[float, float, float]) -> bool:
    """Whether caps hold so much of what groups would take at a price that this tells nothing of their own prices."""
    is_held = sums[2] > MOSTLY_HELD * sums[0] and passes.shape not in LINEAR
    most = MOST_OVER if passes.leads and has_curve(passes) else FAR_OVER
    return is_held and passes.given.n >= ROOMY * len(total) and not float(np.sum(total[1:])) <= most * sums[2]


def guesses_from_above(passes: GroupPasses, binds: NDArray[np.bool_], below: float) -> Array:
    """As `own_guesses`, of the groups (g + 1,) whose caps bind at a price: one above it at which all items would take
    more than these caps, but not much more, and what groups take there, unless tiles lead their searches by themselves
    or groups are so small that there is no room for that.
    """
    taken = group_tables.sum_marked(passes.caps, binds[1:].view(np.int8), passes.n_jobs)
    mu = _price_from(passes.given, MORE_THAN_CAPS * taken, below)
    if not 0.0 < mu < math.inf:
        mu = 1.0
    if passes.leads or passes.given.n < ROOMY * binds.size:
        own = np.full(binds.size, mu)
    else:
        own = own_guesses(passes, mu, *passes.respond_roughly(mu))
    for part in parts_of(own.size):
        some = own[part]
        np.fmax(some, mu, out=some)
        some[~binds[part]] = np.nan
    return own


def _price_from(problem: Problem, taken: float, below: float) -> float:
    """A price at which a sample of the items takes so much, to scale, if it is not below another one."""
    sample = problem.sample(CURVE_SAMPLE)
    goal, passes = taken * (sample.n / problem.n), sample.passes()
    if not (below > 0.0 and taken > 0.0) or has_lower_bounds(problem):
        return _price_of(sample, passes, goal)
    prices, totals = passes.respond_upwards(below, CURVE_STEP, goal, 2 * CURVE_POINTS)
    with np.errstate(divide="ignore"):
        return float(np.exp(np.interp(-math.log(goal), -np.log(totals), np.log(prices))))


def _price_of(sample: Problem, passes: Any, taken: float) -> float:
    """A price at which a sample, whose items answer, takes so much."""
    return price_of_part(replace(sample, capacity=taken), passes, True)[1]


def guesses_above(passes: GroupPasses, price: float) -> Array:
    """As `guesses_from_above`, of all groups, whose own prices are above a price, by a sample that leads from there to
    one where that is so, and on: of items without lower bounds, in groups that are not small.
    """
    sample = passes.given.sample(CURVE_SAMPLE)
    taken = group_tables.sum_marked(passes.caps, None, passes.n_jobs) * (sample.n / passes.given.n)
    least = MORE_THAN_CAPS * taken / QUOTIENTS[-1]
    prices, totals = sample.passes().respond_upwards(price, CURVE_STEP, least, 2 * CURVE_POINTS)
    first = max(int(np.count_nonzero(totals >= MORE_THAN_CAPS * taken)) - 1, 0)
    along = _along(prices[first:], totals[first:])
    own = own_guesses(passes, prices[first], *passes.respond_roughly(prices[first]), along)
    for part in parts_of(own.size):
        np.fmax(own[part], prices[first], out=own[part])
    return own


def guesses_by_size(passes: GroupPasses) -> Array:
    """As `guesses_above`, of groups that take, for their sizes, what a sample does, from a price at which all would
    take more than all caps: no pass is needed.
    """
    sample, caps = passes.given.sample(CURVE_SAMPLE), group_tables.sum_marked(passes.caps, None, passes.n_jobs)
    answers = sample.passes()
    mu = _price_of(sample, answers, MORE_THAN_CAPS * caps * (sample.n / passes.given.n))
    mu = mu if 0.0 < mu < math.inf else 1.0
    taken = answers.respond(mu)[0]
    along = _along(*answers.respond_upwards(mu, CURVE_STEP, taken / QUOTIENTS[-1], CURVE_POINTS))
    own = passes.runs.sizes(taken / (passes.share * sample.n))
    group_tables.guess_along(own, passes.caps, _lines_of(along), own, passes.n_jobs, mu)
    return own
