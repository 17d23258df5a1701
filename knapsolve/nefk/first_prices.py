"""First prices of searches for budgets of groups, before any pass over all items."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk import narrow
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_totals import FEW, capped_sums
from knapsolve.nefk.problem import Problem, odd_stride
from knapsolve.nefk.search import LINEAR, guess_price, sampled_price, step_beside

SAMPLE_STEPS = 8
SAMPLED_TILES = 6
LARGE_SAMPLE = 2048  # items of a large group in a sample
MUCH = 2.0  # times their share of the capacity, from which on what items of no group take tells the price
SAMPLED, CLOSE = 32768, 1e-6  # how many of them are asked at first, and the relative gap of what they take


def price_beside_caps(
    problem: Problem, sum_of_caps: float, find: Callable[[], NDArray[np.intp] | None], n_jobs: int = 1
) -> float:
    """The price at which the items of no group take what is left beside all caps, which the budget's is at most: near
    that where most caps bind. NaN unless they are to take far more than their share of the capacity.

    `find` tells the positions of those items, None if it can't. Of many, some are asked, and then all, if these are a
    small part of the problem: a price that is off costs more.
    """
    left = problem.capacity - sum_of_caps
    if not left > 0.0 or problem.criterion._shape in LINEAR:
        return math.nan
    which = find()
    if which is None or not which.size or left <= MUCH * problem.capacity * which.size / problem.n:
        return math.nan
    some = which[:: odd_stride(-(-which.size // SAMPLED))]
    part = problem.take(some, left * (some.size / which.size))
    top, guess = guess_price(part)
    price = sampled_price(part, part.passes(), top, guess, CLOSE)
    if some.size == which.size or which.size * FEW > problem.n:
        return price
    part = problem.take(which, left, n_jobs)
    return sampled_price(part, part.passes(n_jobs), top, price, CLOSE)


class GroupSample:
    """T of some tiles and of some items of large groups, scaled up. Answers prices as Passes do."""

    def __init__(self, passes: GroupPasses) -> None:
        self.passes, self.shape = passes, passes.shape
        _, _, begins, ends = passes.runs.places.T
        self.every, sizes = max(1, begins.size // SAMPLED_TILES), ends - begins
        self.scale = float(sizes.sum() / max(sizes[:: self.every].sum(), 1))
        self.large = []
        for one in passes.large:
            part = one.problem.sample(LARGE_SAMPLE)
            self.large.append((one.cap, one.problem.n / part.n, part.passes()))

    def respond(self, price: float) -> tuple[float, float, float]:
        """T, its slope and its part that caps hold at a price, roughly."""
        total, slope, fixed = self.scale * np.array(capped_sums(self.passes, *self.passes.respond(price, self.every)))
        for cap, scale, part in self.large:
            more, steeper = part.respond(price)
            loose = scale * more <= cap
            total += scale * more if loose else cap
            slope += scale * steeper if loose else 0.0
            fixed += 0.0 if loose else cap
        return float(total), float(slope), float(fixed)


def sampled_guess(passes: GroupPasses, search: NDArray[np.float64]) -> None:
    """Bring the first price of a search near the answer."""
    if passes.given.n <= narrow.MANY or search[core.STATE] != core.RUNNING:
        return
    sample, rough = GroupSample(passes), search.copy()
    rough[core.TOLERANCE] = 1e-3
    for _ in range(SAMPLE_STEPS):
        if rough[core.STATE] == core.RUNNING:
            step_beside(rough, sample.shape, *sample.respond(float(rough[core.PRICE])))
    price = float(rough[core.PRICE])
    if search[core.LOW] < price < search[core.HIGH] and (price > 0.0 or passes.shape in LINEAR):
        search[core.PRICE] = price
