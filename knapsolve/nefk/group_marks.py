"""Which groups exceed their caps all over a bracket of prices, or nowhere in it, by what they take at one price."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

import knapsolve._core.group_tables as group_tables
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.narrow import MANY
from knapsolve.nefk.passes import Slopes
from knapsolve.nefk.room import has_no_bounds
from knapsolve.nefk.search import LINEAR, STARTING

CLEAR = 12.0  # an own price is clearly beyond the bracket if a straight total leads so many times as far
FLATTEST = 1.0  # slope, over the total, of a group of which upper bounds may hide how it falls
STEEP = 0.02  # over a price: items that start further up fall less than CLEAR times as much as that
SMALL_MEAN = 3  # items of a group, in the mean


def beside(ends: tuple[float, float], mu: float, side: float) -> tuple[float, float]:
    """The part of a bracket above a price at which T is surely too high, by a positive `side`, or below one at which it
    is too low: groups that are under their caps there, or over them, are so for sure.
    """
    low, high = ends
    return max(low, mu if side > 0.0 else low), min(high, mu if side < 0.0 else high)


def steepest(away: float) -> float:
    """How many times as far as by its slope what an item without bounds takes falls over a step up, relative to the
    price, at most: a little less than this if it is of freshness or detection, and starts where the step ends. No other
    kernel's items begin at an infinite slope.
    """
    return max(float(gammaincinv(2.0, 1.0 / (1.0 + away))), 1.0) if away > 0.0 else 0.0


def mark_surely(
    passes: GroupPasses, mu: float, ends: tuple[float, float], total: Any, slope: Slopes | None
) -> NDArray[np.int8]:
    """1 for groups (g + 1,) whose total at mu lies so far above their cap that it surely does over all of a bracket, 3
    for those where it surely does nowhere in it, else 0.
    """
    marks = np.zeros(len(total), dtype=np.int8)
    if slope is None:
        return marks
    low, high = ends
    is_linear, is_bounded = passes.shape in LINEAR, not has_no_bounds(passes.given)
    away = max(high - mu, 0.0) / (1.0 if is_linear else mu)
    least = away * (CLEAR if is_linear or is_bounded else steepest(away))
    flattest = FLATTEST if is_bounded and not is_linear else 0.0
    starts, rise = passes.shape in STARTING, 0.0 if mu <= low else math.inf
    are_small = passes.given.n <= min(MANY, SMALL_MEAN * len(passes.caps))
    looks = passes.is_rough or are_small  # at where items start, which takes less than sums by group of loose ones
    if low < mu and starts and not is_bounded and looks:
        rise = CLEAR * (mu / low - 1.0)
    group_tables.mark_surely(total, slope, passes.caps, least, marks, flattest, rise, passes.n_jobs)
    if starts and is_bounded:
        passes.unmark(mu, high * (1.0 + STEEP), marks)
    elif 0.0 < rise < math.inf:
        passes.unmark(low, mu, marks)
    return marks
