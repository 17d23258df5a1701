"""Solves without the items that bounds are sure to hold.

An item that is at its upper bound at some price is there at any lower one, too; so is one at its lower bound at any
higher one. One pass at a price on the right side of the answer's lists the others, of which a much smaller problem
tells the price: where upper bounds allow hardly more than the capacity, or where few items take more than their lower
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.narrow import CONFIRMED
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import Problem, sampled
from knapsolve.nefk.search import STARTING

FEWEST, MANY = 8192, 200_000  # items of which a pass costs more than the bookkeeping here, and much more
SIZE = 4096  # of a sample, about
NEARLY = 0.25  # of what bounds sum to, or of the capacity: no more may be beyond them in all, where they hold most
LEAST_FREE = 64  # of a sample, at its first price
FREE, FREE_FEW = 4, 64  # one in so many of a sample at most, and where nothing but that calls for a list
STARTED, LISTED = 8, 4  # one in so many at most, at a guessed price, and in a list, for which there is room
SURELY = 4.0  # standard errors, roughly, of what so many items take
NEARER, FARTHER = 1.25, 4.0  # times as many, for the next price


def solve_beside_held(
    problem: Problem,
    passes: Any,
    search: NDArray[np.float64],
    find: Callable[[Problem], Prices],
    amounts: Any,
    side: Any,
    n_jobs: int,
) -> tuple[Prices, Settled] | None:
    """Prices, and how the amounts settled, as `find` tells the prices of the items that bounds may not hold; None where
    these are many.
    """
    if problem.n < FEWEST or not hasattr(passes, "list_free") or search[core.STATE] != core.RUNNING:
        return None
    least, most = passes.bounds()[:2]
    target, every = float(search[core.TARGET]), FREE
    at_lower = target < (1.0 - NEARLY) * most
    if at_lower and least < (1.0 - NEARLY) * target:
        every = _few_may_start(problem, passes.shape, float(search[core.PRICE]))
    if not every:
        return None
    part = problem.sample(SIZE)
    apart = (target - least if at_lower else most - target) * (part.n / problem.n)
    for price in sides(part, apart, at_lower, every):
        listed, total, held = passes.list_free(price, at_lower)
        is_right = total > target if at_lower else total < target
        if is_right and len(listed) * LISTED > problem.n:
            return None
        if is_right:
            prices = find(problem.take(listed, target - held, n_jobs))
            settled = passes.settle(prices, amounts, side)
            return (prices, settled) if abs(settled.total - target) <= CONFIRMED * target else None
    return None


def _few_may_start(problem: Problem, shape: int, price: float) -> int:
    """One in how many items of a sample may take more than its lower bound; 0 if at a guessed price more are likely to
    than pays.
    """
    if shape not in STARTING:
        return FREE_FEW if problem.n >= MANY else 0
    starts = problem.starts(sampled(problem.n, SIZE))
    return FREE if np.count_nonzero(starts > price) * STARTED < starts.size else 0


def sides(part: Problem, apart: float, at_lower: bool, every: int) -> Iterator[float]:
    """Prices at which, of a sample, surely so much lies between what items take and what their bounds sum to; at most
    one in so many of them has left its bound there. The next one, if that was not so.
    """
    passes = part.passes()
    edge = np.broadcast_to(np.asarray(part.lower if at_lower else part.upper, dtype=np.float64), part.n)
    corners = passes.worth(np.ascontiguousarray(edge))[1][np.broadcast_to(np.less(part.lower, part.upper), part.n)]
    corners = np.sort(-corners if at_lower else corners)  # the first that leave their bounds
    bounds = passes.bounds()
    whole = bounds[0] if at_lower else bounds[1]
    free, most = LEAST_FREE, min(part.n // every, len(corners))
    tied = float(corners[most]) if most < len(corners) else math.nan  # too many leave their bounds together
    while free <= most and corners[free - 1] != tied:
        price = -float(corners[free - 1]) if at_lower else float(corners[free - 1])
        if not math.isfinite(price):
            return
        beyond, wanted = abs(passes.respond(price)[0] - whole), apart * (1.0 + SURELY / math.sqrt(free))
        if beyond >= wanted:
            yield price
        tells = 0.0 < beyond < wanted  # if not, it was on the wrong side, or nothing has moved
        free = math.ceil(free * (min(max(math.sqrt(wanted / beyond), NEARER), FARTHER) if tells else FARTHER))
