"""Totals that jump, as of linear and nearly linear items, or where many items start: slopes tell nothing, but a sample
tells of prices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import Problem, sampled
from knapsolve.nefk.room import has_no_bounds
from knapsolve.nefk.search import BESIDE, STARTING, find_prices, step_at

ENCLOSING, SURE_ERRORS = 16384, 3.0  # items of a sample whose total encloses a price, by so many standard errors
ENCLOSED_ROUGHLY = 1e-3  # relative gap of the sample's total that ends a search for an end
MOST_HALF = 0.5  # of a bracket: beyond, an end is so near 0 that weights are lost in rounding
TIED = 24  # one in so many items of one weight is many
PROBE, SAMPLE = 256, 2048  # items on which it is seen whether many start at one price, and at which
MOST_TIES, MOSTLY = 32, 0.25  # prices at which that share of the items start
CLOSE = 1e-8  # relative difference of such prices that are looked at as one
NEAR_TIES = 1e-3  # below such a price, over that: there Newton's method knows where those items start
NEARBY = 0.5  # a price that such a one is worth a look from, over that


def enclose(problem: Problem, passes: Any, search: NDArray[np.float64]) -> float:
    """Bring the price between those at which a sample takes as much more and less than its share as chance explains;
    half that bracket, over the price, or NaN.
    """
    part = problem.sample(ENCLOSING)
    some, amounts = part.passes(), np.empty(part.n)

    def prices_of(target: float) -> Prices:
        if target <= 0.0:
            return Prices(float(search[core.HIGH]), float(search[core.HIGH]))
        own = search.copy()
        own[core.TARGET], own[core.TOLERANCE] = target, ENCLOSED_ROUGHLY
        return find_prices(some, own)

    core.respond(some.items, core.Column(prices_of(part.capacity).high), 0, part.n, amounts)
    error = SURE_ERRORS * float(amounts.std()) * math.sqrt(part.n)
    low = max(float(prices_of(part.capacity + error).low), 0.0)
    high = float(prices_of(part.capacity - error).high)
    for beside in beside_tie(part, low, 0.5 * (low + high), high):
        if search[core.STATE] == core.RUNNING and search[core.LOW] < beside < search[core.HIGH]:
            step_at(passes, search, beside)
    low, high = max(low, float(search[core.LOW])), min(high, float(search[core.HIGH]))
    price = 0.5 * (low + high)
    if search[core.STATE] != core.RUNNING or not (low < high and search[core.LOW] < price < search[core.HIGH]):
        return math.nan
    search[core.PRICE] = price
    return 0.5 * (high - low) / price if high - low <= 2.0 * MOST_HALF * price else math.nan


def beside_tie(part: Problem, low: float, price: float, high: float) -> list[float]:
    """The prices about those weights that many of some quadratic items have, between two prices, nearest first. Where a
    total jumps so far, models of it would list too many items.
    """
    columns = part.weights, part.criterion._parameter, part.upper
    weights, curvature, upper = (np.broadcast_to(np.asarray(x, dtype=np.float64), part.n) for x in columns)
    values, counts = np.unique(weights[(low <= weights) & (weights <= high)], return_counts=True)
    ties = sorted(values[counts * TIED >= part.n].tolist(), key=lambda tie: abs(tie - price))
    with np.errstate(invalid="ignore"):
        fall = np.where(curvature > 0.0, np.minimum(curvature * upper, 1.0), 0.0)
    sides = ((tie, math.nextafter(tie, -1.0), tie * (1.0 - float(fall[weights == tie].max()))) for tie in ties)
    return [beside for side in sides for beside in side]


def tied_starts(problem: Problem) -> NDArray[np.float64]:
    """The prices at which many items start, in order, of a sample; none if those are many, or few items do."""
    if problem.criterion._shape not in STARTING or not _tied_in(problem, PROBE).size:
        return np.empty(0)
    return _tied_in(problem, SAMPLE)


def ends_of_ties(starts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lowest and the highest of prices (k,) in order that are close to each other, of each such cluster (m, 2)."""
    if not starts.size:
        return np.empty((0, 2))
    apart = 1 + np.flatnonzero(starts[1:] > starts[:-1] * (1.0 + CLOSE))
    return np.column_stack([starts[np.append(0, apart)], starts[np.append(apart, starts.size) - 1]])


def _tied_in(problem: Problem, size: int) -> NDArray[np.float64]:
    """The same of a sample of some size."""
    starts = np.sort(problem.starts(sampled(problem.n, size)))
    if starts.size == 1:
        return starts[(starts > 0.0) & (starts < np.inf)]
    is_tie = starts[1:] == starts[:-1]
    if np.count_nonzero(is_tie) < MOSTLY * starts.size:
        return np.empty(0)
    values, counts = np.unique(starts, return_counts=True)
    are_many = (counts * TIED * MOST_TIES >= starts.size) & (counts > 1) & (values > 0.0) & (values < np.inf)
    is_mostly = counts[are_many].sum() >= MOSTLY * starts.size
    return values[are_many] if is_mostly and np.count_nonzero(are_many) <= MOST_TIES else np.empty(0)


def step_to_tie(problem: Problem, passes: Any, search: NDArray[np.float64], late: bool = False) -> bool:
    """Take a search whose price is near one at which many items start, between bounds, below the first such price where
    the total is too low, and above the one before. If the answer seems to be there, or next below, that becomes the top
    by which Newton's method goes, else the search is where it was. Without bounds, steps mostly find it: only `late`.
    """
    ties = tied_starts(problem) if late == has_no_bounds(problem) else np.empty(0)
    price, top, low, high = float(search[core.PRICE]), float(search[core.TOP]), 0, ties.size
    if not (np.abs(ties - price) <= NEARBY * price).any():
        return False
    k = min(int(ties.searchsorted(price)), high - 1)  # then the one below, and the middle of what is left
    while low < high and search[core.STATE] == core.RUNNING:
        beyond = float(ties[k]) * (1.0 + BESIDE)
        if search[core.LOW] < beyond < search[core.HIGH]:
            step_at(passes, search, beyond)
        if search[core.LOW] >= beyond:
            low, k = k + 1, (k + 1 + high) // 2
        else:
            high, k = k, k - 1 if high == ties.size else (low + k) // 2
        k = min(max(k, low), max(high - 1, low))
    if search[core.STATE] == core.RUNNING and high < ties.size:
        search[core.TOP], below = float(ties[high]), float(ties[high]) * (1.0 - BESIDE)
        if search[core.LOW] < below < search[core.HIGH]:
            step_at(passes, search, below)
        if search[core.STATE] == core.RUNNING and search[core.PRICE] >= ties[high] * (1.0 - NEAR_TIES):
            return True
        search[core.TOP] = top
    if search[core.LOW] < price < search[core.HIGH] and search[core.STATE] == core.RUNNING:
        search[core.PRICE] = price
    return False
