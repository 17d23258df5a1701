"""Steps of a search for the budget's price that know what every group takes, and so where caps begin to bind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk import narrow
from knapsolve.nefk.narrow import HALVES, moved_by, next_half
from knapsolve.nefk.passes import Slopes
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LINEAR, Secant, step_beside

Array = NDArray[np.float64]
LEAST_NARROWED = 4096  # items from which a model of T costs less than the passes that it saves
LONG = 0.02  # a step, in log price, over which caps matter, and after which a pass costs less than a model
SMALL = 64  # items of groups, in the mean, that fall each in its own way
MOST_GROUPS = 4096  # that are looked at; others are taken to be like them
SAMPLE = 2048  # items whose total leads to those of groups
ALIKE = 2.0  # how many times as steep as all, or as flat, groups are taken to be at most
MOST_STEPS = 40
MET = 1e-5  # relative gap of a total that ends the search of a step
FARTHEST = 20.0  # of a step, in log price


def next_step(
    passes: Any,
    search: Array,
    mu: float,
    taken: tuple[Array, Slopes],
    sums: tuple[float, float, float],
    between: Secant,
) -> float:
    """One step of a search from what groups take at a price; half a bracket about the next one, NaN if it was too long
    for one.
    """
    step_beside(search, passes.shape, *sums)
    if search[core.STATE] != core.RUNNING:
        return math.nan
    half, shape, n = math.nan, passes.shape, passes.given.n
    width = between.narrow(search, mu, sums[0])
    is_enclosed, price = not math.isnan(width), float(search[core.PRICE])
    if n > min(narrow.MANY, LEAST_NARROWED):
        half = next_half(shape, mu, price, HALVES[0] if is_enclosed else HALVES[-1], width)
    are_large = n >= SMALL * len(passes.caps)
    is_long = math.isnan(half) or (are_large and not moved_by(shape, mu, price) <= LONG)
    if n <= narrow.MANY or shape in LINEAR or not is_long or (is_enclosed and not are_large):
        return half
    price = price_by_groups(passes.given, *taken, sums[0], mu, float(search[core.TARGET]))
    if not search[core.LOW] < price < search[core.HIGH]:
        return half
    search[core.PRICE] = price
    return next_half(shape, mu, price, HALVES[0]) if moved_by(shape, mu, price) <= LONG else math.nan


def beyond(search: Array, shape: int, price: float, sums: tuple[float, float, float]) -> float:
    """The price to which a step leads that nothing is learnt of."""
    other = search.copy()
    other[core.PRICE] = price
    step_beside(other, shape, *sums)
    return float(other[core.PRICE])


def price_by_groups(problem: Problem, total: Array, slope: Slopes, now: float, price: float, target: float) -> float:
    """The price at which T meets a target if every group falls as a sample of all items does, to some power; NaN if
    there is none.

    From totals and slopes (g + 1,) at a price, of no group's items first, and what T is now. Powers are elasticities of
    groups over that of all: single items that are about to start make the sample's own a bad one.
    """
    every = -(-len(problem.caps) // MOST_GROUPS)
    taken, cap = np.append(total[0], total[1::every]), np.append(np.inf, problem.caps[::every])
    scale = np.append(1.0, np.full(len(taken) - 1, float(every)))
    with problem.sample(SAMPLE).passes() as sample, np.errstate(all="ignore"):
        first = sample.respond(price)[0]
        power = np.append(slope[0], slope[1::every]) / taken * (total.sum() / slope.sum(dtype=np.float64))
        power = np.clip(np.where(np.isfinite(power), power, 1.0), 1.0 / ALIKE, ALIKE)
        others = now - (scale * np.minimum(taken, cap)).sum()
        low, high, t = -FARTHEST, FARTHEST, 0.0
        for _ in range(MOST_STEPS):
            at = price * math.exp(t)
            all_, fall = np.array(sample.respond(at))
            here = taken * (all_ / first) ** power
            gap = float(others + (scale * np.minimum(here, cap)).sum() - target)
            if math.isnan(gap):
                break
            if abs(gap) <= MET * target:
                return at
            low, high = (t, high) if gap > 0.0 else (low, t)
            t += float(gap / ((scale * power * here)[here < cap].sum() * fall / all_ * at))
            if not low < t < high:
                t = 0.5 * (low + high)
    return math.nan
