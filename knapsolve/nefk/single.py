"""One budget without groups: where to begin, and how to end."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.held_items import solve_beside_held
from knapsolve.nefk.narrow import narrows, settle_many
from knapsolve.nefk.passes import CHUNK, Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem
from knapsolve.nefk.search import FAR, LINEAR, MOST_SAMPLE, STARTING, find_prices, guess_price, new_searches, step_at

FEWEST_ASKED = 4096  # items of which a pass costs more than a look at where they start
EARLY = 6  # steps, after which a model costs less than those that would follow
BEYOND = 1e-3  # over the price of an edge; as in csrc/nefk_group_settle.c


def new_search(
    problem: Problem, passes: Any, known: float = math.nan, most: float = math.inf, size: int = MOST_SAMPLE
) -> NDArray[np.float64]:
    """The budget's search (8,), from a `known` guess of its price or else one made on a sample of about some size;
    met at price 0 if the most that caps and upper bounds allow leaves capacity over, which need not be used up.
    """
    target = np.array([min(problem.capacity, FAR)])
    top, guess = passes.guess(problem.capacity) if hasattr(passes, "guess") else guess_price(problem, known, size)
    search = new_searches(passes.shape, target, top, guess)[0]
    if passes.shape == core.QUADRATIC and hasattr(passes, "items"):  # above its largest slope nothing is taken
        search[core.HIGH] = np.nextafter(np.float64(np.max(problem.weights)), np.inf)
        if problem.equality and problem.groups is not None:  # caps may hold all at any low price
            search[core.LOW] = max(_lowest(problem), search[core.LOW])
    if (
        passes.shape == core.QUADRATIC and not problem.equality and problem.groups is None
    ):  # its price could be negative
        search[core.PRICE] = 0.0
        if passes.respond(0.0)[0] <= problem.capacity:
            search[core.STATE] = core.MET
            return search
        search[core.LOW], search[core.PRICE] = 0.0, guess
    is_left_over = most <= problem.capacity * (1 + SLACK) and not problem.equality
    if is_left_over and passes.shape != core.QUADRATIC:
        search[core.PRICE] = _lowest_logarithm(problem) if passes.shape == core.LOG_EXPONENTIAL else 0.0
        search[core.STATE] = core.MET
    return search


def _lowest(problem: Problem) -> float:
    """A price below which no quadratic item can have a slope."""
    with np.errstate(over="ignore"):
        most = min(float(np.max(problem.upper)), problem.capacity)
        weight, curvature = np.float64(np.max(problem.weights)), np.max(problem.criterion._parameter)
        low = -weight * (BEYOND + (1.0 + BEYOND) * float(curvature) * most)
    return float(low) if low < 0.0 else -math.inf


def _lowest_logarithm(problem: Problem) -> float:
    """The logarithm of a price at which exponential items take all that caps and upper bounds let them."""
    weights, rates = np.atleast_1d(problem.weights), np.atleast_1d(problem.criterion._parameter)
    ends = [np.max(x, initial=0.0, where=np.isfinite(x)) for x in (np.atleast_1d(problem.upper), problem.caps)]
    with np.errstate(divide="ignore"):
        least = np.log(np.min(weights, initial=np.inf, where=weights > 0.0)) + np.log(float(np.min(rates)))
    return float(np.clip(least - 1.0 - float(np.max(rates)) * float(max(ends)), -FAR, FAR))


def find_and_settle(
    problem: Problem,
    passes: Any,
    search: NDArray[np.float64],
    amounts: Any,
    side: Any,
    n_jobs: int,
    before: float = math.nan,
) -> tuple[Prices, Settled]:
    """Run a search to its end and write the amounts; `before` as in settle_many."""
    if math.isnan(before):
        found = solve_beside_held(problem, passes, search, partial(_find, n_jobs=n_jobs), amounts, side, n_jobs)
        if found:
            return found
    if narrows(problem, passes):
        found = settle_many(problem, passes, search, amounts, side, n_jobs, before)
    else:
        found = _settle_late(problem, passes, search, amounts, side, n_jobs)
    if found:
        return found
    are_asked = problem.n >= FEWEST_ASKED and passes.shape in STARTING
    prices = find_prices(passes, search, problem.starts if are_asked else None)
    if not problem.equality and prices.high <= 0.0 and passes.shape != core.LOG_EXPONENTIAL:
        prices = Prices(0.0, 0.0)
    return prices, passes.settle(prices, amounts, side)


def _find(problem: Problem, n_jobs: int) -> Prices:
    """The answer's prices."""
    passes = problem.passes(n_jobs)
    return find_and_settle(problem, passes, new_search(problem, passes), np.empty(problem.n), None, n_jobs)[0]


def _settle_late(
    problem: Problem, passes: Any, search: NDArray[np.float64], amounts: Any, side: Any, n_jobs: int
) -> tuple[Prices, Settled] | None:
    """Let some steps go first, and if they do not end a search of not so many items, narrow."""
    if problem.n <= CHUNK or passes.shape in LINEAR or not hasattr(passes, "expand"):  # fewer: in one compiled call
        return None
    for _ in range(EARLY):
        if search[core.STATE] == core.RUNNING:
            step_at(passes, search, float(search[core.PRICE]))
    low, high = float(search[core.LOW]), float(search[core.HIGH])
    if search[core.STATE] != core.RUNNING or not 0.0 < low < high < FAR:
        return None
    return settle_many(problem, passes, search, amounts, side, n_jobs, low)


def edge_price(problem: Problem, passes: Any, at_lower: bool) -> float:
    """The price just beyond which all items sit at a bound; 0 if none can move, and never less where capacity may be
    left over.
    """
    whole = problem if problem.order is None else problem.take(slice(None), problem.capacity)
    bounds = whole.lower if at_lower else whole.upper
    edge = np.ascontiguousarray(np.broadcast_to(np.asarray(bounds, dtype=np.float64), whole.n))
    slope = passes.worth(edge)[1]
    free = np.broadcast_to(np.less(whole.lower, whole.upper), whole.n)
    if not free.any():
        return 0.0
    price = float(slope[free].max() if at_lower else slope[free].min())
    if not problem.equality:
        price = max(price, 0.0)
    return price + (4e-16 if at_lower else -4e-16) * abs(price) if math.isfinite(price) else price


def beyond_edge(price: float, at_lower: bool) -> Prices:
    """Prices at which all items sit at a bound, given their edge: those next to it tell nothing of amounts where slopes
    hardly change.
    """
    away = BEYOND * abs(price) if math.isfinite(price) else 0.0
    return Prices(*2 * (price + away if at_lower else price - away,))
