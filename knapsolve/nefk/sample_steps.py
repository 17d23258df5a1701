"""Steps of a search that a sample of the items leads.

Where bounds hold nearly all of a total, its slope tells nothing of what lies beyond the next corner, and Newton's
method only halves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import CHUNK
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import BESIDE, FAR, LEAST_HALF, new_searches

SIZE = 4096  # of a sample, about
MOST_STEPS = 12  # in one search: jumps take more of them than of others
ROUGHLY = 0.02  # of a gap, within which a sample's total is to close it
LEAST = 1e-13  # of a sample's total, for that
OFF = 0.6  # what a step may be off, over its distance to the nearer of the prices between which it lies
NEXT = 1.5  # items of a sample, in the mean, from a known total: nearer, it tells nothing
CREEPING = 0.5  # of the last gap, on its side: then Newton's step is taken, once
BEYOND = 1e-9  # of a price, where a sample jumps
LONG = 8.0  # times as far as the widest half bracket may hold: then a total at the price itself is asked for
assert 2 * SIZE <= CHUNK  # a search of a sample is one compiled call


class _Known(NamedTuple):
    """The total of all items at some price, and of a sample."""

    whole: float
    part: float


class SampleSteps:
    """The steps of one search of items with bounds, of which upper ones may be infinite.

    What lies between the totals at two prices is shared as the same of a sample is: so a price between is off by chance
    no farther than these are. At price 0 items take all that they can, and at an infinite one as little.
    """

    def __init__(self, problem: Problem, least: float, most: float) -> None:
        """Of items whose lower bounds sum to `least`, and upper ones to `most`."""
        part = problem.sample(SIZE)
        self._passes, self._share, self._left = part.passes(), part.n / problem.n, MOST_STEPS
        self._off, self._gap = OFF, math.nan  # the gap of the last total
        lower, upper = self._passes.bounds()[:2]
        self._low, self._high = _Known(most, upper if most < math.inf else math.inf), _Known(least, lower)

    def begin(self, search: NDArray[np.float64]) -> None:
        """Move a search's first price to where the sample says that it meets the target."""
        self._aim(search, float(search[core.PRICE]))

    def move(self, search: NDArray[np.float64], price: float, total: float) -> bool:
        """The same of the next price of a search which has taken in the total at one; False if the sample tells none,
        or has told many.
        """
        known, last = _Known(total, self._passes.respond(price)[0]), self._gap
        gap = total - float(search[core.TARGET])
        if gap > 0.0:
            self._low = known
        else:
            self._high = known
        # a few items may be much of a sample, or missing in it
        creeps = (gap > 0.0) == (last > 0.0) and abs(gap) > CREEPING * abs(last)  # not if last is NaN
        self._gap = math.nan if creeps else gap
        if creeps or not self._left:
            return False
        self._left -= 1
        return self._aim(search, price)

    def half(self, search: NDArray[np.float64], widest: float) -> float:
        """Half a bracket about a search's price which is likely to hold the answer, in log price; NaN if it would be
        far wider than `widest`.
        """
        price, ends = float(search[core.PRICE]), (float(search[core.LOW]), float(search[core.HIGH]))
        away = min((abs(math.log(price / end)) for end in ends if 0.0 < end < FAR and price > 0.0), default=math.inf)
        off = self._off * away
        return min(max(off, LEAST_HALF), widest) if off <= LONG * widest else math.nan

    def _aim(self, search: NDArray[np.float64], guess: float) -> bool:
        """Move the price between those of which most is known, at least as far from them as one item tells."""
        (more, above), (less, below), target = self._low, self._high, float(search[core.TARGET])
        self._off = 1.0
        if more < math.inf:
            goal = below + (above - below) * ((target - less) / (more - less)) if more > less else math.nan
        else:
            goal = below + self._share * (target - less)
        if search[core.STATE] != core.RUNNING or not below < goal < above:
            return False
        apart = NEXT * goal / self._passes.n
        is_wide = 2.0 * apart < above - below
        aim = min(max(goal, below + apart), above - apart) if is_wide else min(max(goal, below), above)
        self._off = OFF if is_wide and aim == goal else 1.0
        low, high = max(float(search[core.LOW]), 0.0), float(search[core.HIGH])
        tolerance = max(ROUGHLY * min(aim - below, above - aim) / aim, LEAST)
        price = self._find(search, aim, guess, tolerance)
        if not low < price < high:  # the sample jumps there
            self._off, side = 1.0, 1.0 if price >= high else -1.0
            end = high if side > 0.0 else low
            edge = next((x for x in (end - side * away * end for away in (BEYOND, BESIDE)) if low < x < high), math.nan)
            told = self._passes.respond(edge)[0] + side * apart if edge > 0.0 else math.nan
            price = self._find(search, told, edge, tolerance) if below < told < above else edge
        if not low < price < high:  # or NaN
            return False
        search[core.PRICE] = price
        return True

    def _find(self, search: NDArray[np.float64], goal: float, guess: float, tolerance: float) -> float:
        """Where the sample's total is so much, within a search's bracket."""
        inner: Any = new_searches(self._passes.shape, np.array([goal]), search[core.TOP], guess)[0]
        inner[core.LOW], inner[core.HIGH] = search[core.LOW], search[core.HIGH]
        inner[core.TOLERANCE] = tolerance
        self._passes.search(inner)
        return float(inner[core.PRICE])
