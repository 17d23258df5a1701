"""Few passes over many items: all that is far from any corner is summed up once, the rest is listed.

Near its activation an item's amount goes like 1 / log of the distance: Newton on the total then crawls, or halves
down to neighbouring doubles. Over a narrow bracket of prices only a few items do that. One pass lists them and fixes
the sum of all others to fourth order by its values and slopes at both ends (Hermite); the price is then found on
the list alone, and a settling pass confirms it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import LINEAR, find_prices, new_searches, step

MANY = 65536  # items from which a pass costs more than the bookkeeping here
NARROW = 1e-3  # widest half bracket, in log price
MARGIN = 0.3  # half the bracket over the last Newton step
BENT = 2e-8  # bend over the bracket, relative to the amount, that makes an item rough
CONFIRMED = 3e-13  # relative gap of the total that a settling pass accepts
CORRECTIONS = 4  # settling passes before the search goes on


def narrows(problem: Problem, passes: Any) -> bool:
    """Whether the items are many enough for this, and compiled."""
    return problem.n > MANY and hasattr(passes, "narrow")


class NarrowModel:
    """The total over a bracket: rough items exactly, all others by a cubic. Answers prices as Passes do."""

    def __init__(
        self,
        problem: Problem,
        rough: NDArray[np.integer],
        ends: tuple[float, float],
        width: float,
        sums: tuple[float, ...],
        n_jobs: int,
    ) -> None:
        self.shape, self.ends, self.width, self.sums = problem.criterion._shape, ends, width, sums
        self.offset = 0.0  # what passes over all items found beyond the model
        self.rough = problem.take(rough, problem.capacity).passes(n_jobs) if len(rough) else None

    def search(self, search: NDArray[np.float64]) -> None:
        """Nothing is compiled for this one."""

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount and slope at a price within the bracket."""
        total, slope = self.rough.respond(price) if self.rough else (0.0, 0.0)
        low, _ = self.ends
        t = ((price - low) if self.shape in LINEAR else math.log1p((price - low) / low)) / self.width
        more, more_slope, less, less_slope = self.sums
        fall, rise = more_slope * self.width, less_slope * self.width
        drop = more - less
        bend = fall - drop, rise - drop  # the cubic through both values with both slopes
        cubic = more - t * (drop + (1.0 - t) * (bend[0] * (1.0 - t) - bend[1] * t))
        tilt = drop + bend[0] * (1.0 - t) * (1.0 - 3.0 * t) - bend[1] * t * (2.0 - 3.0 * t)
        return total + cubic + self.offset, slope + tilt / self.width


def window(search: NDArray[np.float64], linear: bool, half: float) -> tuple[float, float]:
    """Two prices with the answer likely between them: the bracket if that is narrow, else about the next price."""
    price, low, high = (float(search[k]) for k in (core.PRICE, core.LOW, core.HIGH))
    half = half if linear else min(half, 1.0)
    if linear:
        return (low, high) if high - low <= 4.0 * half else (price - half, price + half)
    narrow = low > 0.0 and high <= low * (1.0 + 2.0 * NARROW)
    return (low, high) if narrow else (price * math.exp(-half), price * math.exp(half))


def narrow_model(
    problem: Problem, passes: Any, search: NDArray[np.float64], ends: tuple[float, float], n_jobs: int
) -> NarrowModel | None:
    """The model of the total between two prices, if the answer is there.

    If it is not, the search goes on from the nearer end.
    """
    target, (low, high) = float(search[core.TARGET]), ends
    width = high - low if passes.shape in LINEAR else math.log(high / low)
    if not width > 0.0:
        return None
    rough, sums = passes.narrow(low, high, width, BENT)
    if rough is None:
        return None
    model = NarrowModel(problem, rough, (low, high), width, sums, n_jobs)
    for end, sign in ((low, 1.0), (high, -1.0)):
        total, slope = model.respond(end)
        if sign * (total - target) <= 0.0:
            search[core.PRICE] = end
            step(search, passes.shape, total, slope)
            return None
    return model


def settle_model(
    passes: Any, model: NarrowModel, search: NDArray[np.float64], amounts: Any, side: Any
) -> tuple[Prices, Settled] | None:
    """Settle at the model's price; what the total turns out to be beyond the model corrects it."""
    target = float(search[core.TARGET])
    for _ in range(CORRECTIONS):
        inner = new_searches(passes.shape, np.array([target]), search[core.TOP], search[core.PRICE])[0]
        inner[core.LOW], inner[core.HIGH] = model.ends
        prices = find_prices(model, inner)
        settled = passes.settle(prices, amounts, side)
        if abs(settled.total - target) <= CONFIRMED * target:
            return prices, settled
        model.offset += settled.total - target
    return None


def settle_many(
    problem: Problem, passes: Any, search: NDArray[np.float64], amounts: Any, side: Any, n_jobs: int
) -> tuple[Prices, Settled] | None:
    """Search by passes, narrow when close, settle when found; None where the search ends by itself."""
    while search[core.STATE] == core.RUNNING:
        price, linear = float(search[core.PRICE]), passes.shape in LINEAR
        step(search, passes.shape, *passes.respond(price))
        moved = float(search[core.PRICE]) - price
        if search[core.STATE] != core.RUNNING or not (linear or (price > 0.0 and search[core.PRICE] > 0.0)):
            continue
        ends = window(search, linear, MARGIN * abs(moved if linear else moved / price))
        if not (linear or ends[1] <= ends[0] * (1.0 + 3.0 * NARROW)):
            continue
        model = narrow_model(problem, passes, search, ends, n_jobs)
        found = model and settle_model(passes, model, search, amounts, side)
        if found:
            return found
    return None
