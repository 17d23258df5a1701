"""Few passes over many items: all that is far from any corner is summed up once as a series, the rest is listed.

Near its activation an item's amount goes like 1 / log of the distance: Newton on the total then crawls, or halves
down to neighbouring doubles. Over a narrow bracket of prices only a few items do that. One pass lists them and sums
all others' series in the price about the middle; the price is then found on the list alone, and a settling pass
confirms it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.criterion import LARGEST, is_column
from knapsolve.nefk.jumps import enclose, step_to_tie
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.sample_steps import SampleSteps
from knapsolve.nefk.search import (
    CROSSED,
    LEAST_HALF,
    LINEAR,
    SAMPLE_STEPS,
    STARTING,
    across_of,
    find_prices,
    new_searches,
    step,
    step_to_crossing,
)
from knapsolve.nefk.series_model import BENT, SeriesModel, has_bracket, moved_by, size_of

MANY = 65536  # items from which a pass costs more than the bookkeeping here
MANY_CREEPING = 16384  # the same where Newton's method takes the most passes: of detection and freshness
HELD = 2.0  # times what is to be taken: more than upper bounds allow in all, where they do
NEARLY_HELD = 1.05  # times what lower bounds ask for in all, where they do
HALVES = (1.2e-2, 6e-3, 3e-3)  # half brackets, in log price
PROBE = 2048  # items on which the half bracket is chosen
FEW_ROUGH = 24  # one in so many of them may be rough
MARGIN = 0.1  # half the bracket over the last Newton step
LONG = 16.0  # a last step so many times as long as the widest half bracket asks for a plain pass
SURE = 1e-8  # relative gap of the total at an end of the bracket that tells the side for sure
ERRORS = 2.5  # standard errors of a sample's price that the bracket must hold
SHORT = 1.5e-2  # a step on a sample after which the next would be much shorter than the bracket
LARGE_SAMPLE = 4  # a sample of more than one in so many items costs more than a pass
MOST_ENCLOSED, ROUNDED = 2, 1e-15  # in one search; more than the ends of a bracket are off, in log price
CONFIRMED = 3e-13  # relative gap of the total that a settling pass accepts
FIRST_CONFIRMED = 1e-14  # the same of a first one over no more than MANY items, of which one more costs little
NARROWER = 2.0  # than a bracket of which a series would leave too much out, for another to be tried
SOON, LATE, MOST_TURNS = 2, 4, 16  # turns that most searches need, at most, and after which a model tells nothing
CORRECTIONS = 4  # settling passes before the search goes on


def are_many(problem: Problem, passes: Any) -> bool:
    """Whether the items are so many that a pass costs more than the bookkeeping, and compiled."""
    return problem.n > MANY and hasattr(passes, "expand")


def narrows(problem: Problem, passes: Any) -> bool:
    """Whether the items, of one budget without groups, are many enough for this, and compiled."""
    if problem.n <= MANY_CREEPING or not hasattr(passes, "expand"):
        return False
    return problem.n > MANY or passes.shape in STARTING or _are_held(problem, passes)


def _are_held(problem: Problem, passes: Any) -> bool:
    """Whether bounds hold most of what is to be taken, so that slopes tell little."""
    if passes.shape in LINEAR:
        return False
    least, most = passes.bounds()[:2]
    return bool(HELD * problem.capacity > most or NEARLY_HELD * least > problem.capacity)


def _has_upper(problem: Problem) -> bool:
    return is_column(problem.upper) or problem.upper < math.inf


def widest_half(problem: Problem, price: float) -> tuple[float, float]:
    """The widest of HALVES over which few of some items are rough, relative to `size_of`, and the items that a sample
    needs for a price that accurate (infinity if that is not known).
    """
    part, half, needed = problem.sample(PROBE), HALVES[-1], math.inf
    if not has_bracket(part.criterion._shape, price):
        return half, needed
    amounts = np.empty(part.n)
    passes = part.passes()
    for wider in HALVES[:-1]:  # else the last, whatever is rough there
        rough, _ = passes.expand(price, wider * size_of(passes.shape, price), BENT)
        if rough is not None and len(rough) * FEW_ROUGH <= part.n:
            half = wider
            break
    answer = core.respond(passes.items, core.Column(price), 0, part.n, amounts)
    with np.errstate(all="ignore"):
        error = amounts.std() * part.n / np.float64((answer[2] + answer[3]) * size_of(passes.shape, price))
        needed = float((ERRORS * error / half) ** 2)
    return half, needed if needed > 0.0 else math.inf


def sharpen(problem: Problem, passes: Any, search: NDArray[np.float64], needed: float) -> bool:
    """Bring the price as near as a sample of so many items does; False if that would cost more than a pass."""
    every = int(problem.n / max(needed, PROBE))
    if every < LARGE_SAMPLE:
        return False
    shape, rough = passes.shape, search.copy()
    for _ in range(SAMPLE_STEPS):
        before = float(rough[core.PRICE])
        total, slope, count = passes.respond_sample(before, every)
        rough[core.TARGET] = problem.capacity * (count / problem.n)
        step(rough, shape, total, slope)
        price = float(rough[core.PRICE])
        if rough[core.STATE] != core.RUNNING or next_half(shape, before, price, SHORT) <= MARGIN * SHORT:
            break
    if has_bracket(shape, price) and search[core.LOW] < price < search[core.HIGH]:
        search[core.PRICE] = price
    return True


def settle_in_proportion(problem: Problem, passes: Any, amounts: Any, side: Any) -> tuple[Prices, Settled] | None:
    """Materials of detection with equal weights and without bounds share in proportion to their rates: they are one
    material with the sum of the rates.
    """
    alike = (problem.weights, problem.lower, problem.upper)
    if passes.shape != core.DETECTION or problem.order is not None or any(map(is_column, alike)):
        return None
    rate = float(np.sum(problem.criterion._columns()["rate"], dtype=np.float64))
    if not (0.0 < rate <= LARGEST and problem.lower == 0.0 and problem.upper == math.inf):
        return None
    one = replace(problem, n=1, criterion=type(problem.criterion)(rate), groups=None, order=None)
    alone = one.passes()
    search = new_searches(passes.shape, np.array([problem.capacity]), one.weights, 0.5 * one.weights)[0]
    prices = find_prices(alone, search)
    settled = passes.settle(prices, amounts, side)
    return (prices, settled) if abs(settled.total - problem.capacity) <= CONFIRMED * problem.capacity else None


def next_half(shape: int, before: float, price: float, widest: float, moved: float = math.nan) -> float:
    """Half a bracket about a price that the last step led to, NaN if that was too long; relative to `size_of`.

    With `moved`, that stands for the length of the step, as of Secant.narrow.
    """
    moved = moved_by(shape, before, price) if math.isnan(moved) else moved
    return min(max(MARGIN * moved, LEAST_HALF), widest) if moved <= LONG * widest else math.nan


def _step_out(model: SeriesModel, search: NDArray[np.float64]) -> tuple[float, float] | None:
    """None if the answer is in a model about the search's price. If not, the search goes on from the nearer end, or
    from the price itself: that price, and the total there.
    """
    target, price = float(search[core.TARGET]), float(search[core.PRICE])
    for end, sign in zip(model.ends, (1.0, -1.0)):
        total, slope = model.respond(end)
        if sign * (total - target) <= 0.0:
            sure = sign * (total - target) < -SURE * target and search[core.LOW] < end < search[core.HIGH]
            at = end if sure else price
            total, slope = (total, slope) if sure else model.respond(price)
            search[core.PRICE] = at
            step(search, model.shape, total, slope)
            return at, total
    return None


def settle_model(
    passes: Any, model: SeriesModel, search: NDArray[np.float64], amounts: Any, side: Any
) -> tuple[Prices, Settled] | None:
    """Settle at the model's price; what the total turns out to be beyond the model corrects it."""
    target, gap = float(search[core.TARGET]), FIRST_CONFIRMED if passes.n <= MANY else CONFIRMED
    for _ in range(CORRECTIONS):
        inner = new_searches(passes.shape, np.array([target]), search[core.TOP], search[core.PRICE])[0]
        inner[core.LOW], inner[core.HIGH] = model.ends
        prices = find_prices(model, inner)
        settled = passes.settle(prices, amounts, side)
        if abs(settled.total - target) <= gap * target:
            return prices, settled
        gap = CONFIRMED
        model.offset += settled.total - target
    return None


def settle_many(
    problem: Problem,
    passes: Any,
    search: NDArray[np.float64],
    amounts: Any,
    side: Any,
    n_jobs: int,
    before: float = math.nan,
) -> tuple[Prices, Settled] | None:
    """Search by passes, narrow when close, settle when found; None where the search ends by itself, or is to go on so.

    `before` is the price from which a step over all items led to the search's.
    """
    found = settle_in_proportion(problem, passes, amounts, side)
    if found:
        return found
    if step_to_tie(problem, passes, search):
        return None
    is_led = _are_held(problem, passes) or (passes.shape in STARTING and _has_upper(problem))
    led = SampleSteps(problem, *passes.bounds()[:2]) if is_led and passes.shape in STARTING else None
    if led and math.isnan(before) and _are_held(problem, passes):
        led.begin(search)
    widest, needed = widest_half(problem, float(search[core.PRICE]))
    if passes.shape == core.QUADRATIC and search[core.STATE] == core.RUNNING:  # slopes may tell nothing
        half = max(enclose(problem, passes, search), LEAST_HALF)  # or NaN
    elif math.isnan(before):
        half = widest if sharpen(problem, passes, search, needed) else math.nan
    else:
        half = next_half(passes.shape, before, float(search[core.PRICE]), widest)
    has_missed, n_enclosed = False, 0  # a model about a step; models of all between prices on both sides
    turn, too_wide = 0, math.inf
    while search[core.STATE] == core.RUNNING:
        if is_led and turn == MOST_TURNS:
            break
        if turn == LATE and step_to_tie(problem, passes, search, late=True):
            break
        if turn % CROSSED == CROSSED - 1:
            step_to_crossing(passes, search)
            if search[core.STATE] != core.RUNNING:
                break
        turn += 1
        across = across_of(search) if has_missed and n_enclosed < MOST_ENCLOSED else math.nan
        if across <= 2.0 * widest:
            search[core.PRICE] = math.sqrt(search[core.LOW] * search[core.HIGH])
            half, n_enclosed = 0.5 * across + ROUNDED, n_enclosed + 1
        price = float(search[core.PRICE])
        model = None
        if half > 0.0 and half * NARROWER <= too_wide and has_bracket(passes.shape, price):
            away = half * size_of(passes.shape, price)
            rough, terms = passes.expand(price, away, BENT)
            has_missed = passes.shape not in LINEAR
            if rough is None:
                too_wide = half if is_led else math.inf
            else:
                model = SeriesModel(problem, rough, price, away, terms, n_jobs)
        known = None if model is None else _step_out(model, search)
        if model is not None and known is None:
            found = settle_model(passes, model, search, amounts, side)
            if found:
                return found
        if known is None:
            total, slope = passes.respond(price)
            step(search, passes.shape, total, slope)
            known = price, total
        half = next_half(passes.shape, price, float(search[core.PRICE]), widest)
        if is_led and turn == SOON and led is None:
            led = SampleSteps(problem, *passes.bounds()[:2])
        if led and search[core.STATE] == core.RUNNING and led.move(search, *known):
            half = led.half(search, widest)
    return None
