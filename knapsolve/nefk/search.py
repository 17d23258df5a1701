"""The price at which the total amount is the capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Passes, Prices
from knapsolve.nefk.problem import sampled

LINEAR = (core.QUADRATIC, core.LOG_EXPONENTIAL)  # shapes whose price has either sign
POWERS = (core.HARMONIC, core.POWER)  # shapes of which totals are near a power of the price at any price
STARTING = (core.DETECTION, core.FRESHNESS)  # shapes of which items start to take something below some price
FAR = 1e300
UNDERFLOW = 1e-280  # exponential prices below are handled by their logarithm
SUBNORMAL = float(np.finfo(np.float64).tiny)  # prices below have few digits
TOLERANCE = 2e-15
SAMPLE = 32  # a price is guessed on one in so many items, within the next two
FEW = 512  # items that tell the price above which nothing is taken, where a guess of the answer is known
LEAST_SAMPLE, MOST_SAMPLE = 2048, 8192
SAMPLE_STEPS = 6
LEAST_LEFT = 1e-2  # share of a target that is never taken for fixed
MOST_SECANTS = 8  # what they do not end, jumps or crawls, and is for brackets to be halved
NEARER, FLATTER, STEEPER = 0.25, 0.1, 1.5  # part of a bracket up to which the line leads close by, and how steep a
# total must be there, and elsewhere, over that line for Newton's step
DOUBT = 20.0  # what a straight line says may be off, over its distance to the nearer side
MOST_CROSSED, CROSSED = 65536, 3  # quadratic items that are copied; steps between which fewer may be left
LATE = 7  # steps that most searches need
MOST_LINES, BETWEEN = 3, 4  # lines between two ends; of LATE steps, those that they, and the ends, make up for
BESIDE = 4e-16  # of a price: a double or two
LEAST_HALF = 1e-7  # half a bracket of a model, in log price


def new_searches(shape: int, targets: NDArray[np.float64], top: Any, guess: Any) -> NDArray[np.float64]:
    """Searches (n, 8) for totals that meet `targets` (n,), from a guessed price, knowing nothing."""
    searches = np.zeros((len(targets), 8))
    searches[:, core.LOW] = -FAR if shape in LINEAR else -1.0
    searches[:, core.HIGH] = FAR
    searches[:, core.PRICE] = guess
    searches[:, core.TARGET] = targets
    searches[:, core.TOLERANCE] = TOLERANCE
    searches[:, core.TOP] = top
    return searches


def enclosed(search: NDArray[np.float64]) -> bool:
    """Whether the search (8,) ended between neighbouring prices."""
    return search[core.STATE] == core.ENCLOSED


def share_of(target: float, low_total: float, high_total: float) -> float:
    """Which share of the jump from the higher to the lower price's total meets the target."""
    jump = low_total - high_total
    return min(max((target - high_total) / jump, 0.0), 1.0) if jump > 0.0 else 0.0


def find_prices(
    passes: Any,
    search: NDArray[np.float64],
    find_starts: Callable[[], NDArray[np.float64]] | None = None,
    tried: int = 0,
) -> Prices:
    """Run one search (8,) to its end, of which some steps were tried; a jump is shared so that the total is met.

    A total jumps where an item starts to take something, and falls without end just below: steps only creep there. Late
    ones try the nearest start, from both sides, and go by the next one above. Where items start, the passes know of
    some, or `find_starts` tells.
    """
    step_to_crossing(passes, search)
    passes.search(search)
    starts, top = np.empty(0), float(search[core.TOP])
    while search[core.STATE] == core.RUNNING:
        if tried % CROSSED == CROSSED - 1:
            step_to_crossing(passes, search)
        if tried == LATE and find_starts:
            starts = find_starts()
        elif tried == LATE and hasattr(passes, "starts"):
            starts = passes.starts(search)
        start = nearest(starts, search)
        for price in (start + BESIDE * start, start - BESIDE * start):
            if search[core.LOW] < price < search[core.HIGH] and search[core.STATE] == core.RUNNING:
                step_at(passes, search, price)
        if search[core.STATE] == core.RUNNING:
            later = starts[(starts > search[core.PRICE]) & (starts <= search[core.HIGH] * (1.0 + BESIDE))]
            search[core.TOP] = later.min() if later.size else top
            step_at(passes, search, float(search[core.PRICE]))
            search[core.TOP] = top
        tried += 1
    if not enclosed(search):
        return Prices(search[core.PRICE], search[core.PRICE])
    low, high = float(search[core.LOW]), float(search[core.HIGH])
    return Prices(low, high, share_of(search[core.TARGET], passes.respond(low)[0], passes.respond(high)[0]))


class Secant:
    """Totals of which parts become fixed, or start, within any step: Newton's steps go too far. Once prices on both
    sides of the answer are known, the straight line between their totals leads to the next, some times; the gap of a
    side that stays is halved (the Illinois method: Dowell and Jarratt, BIT 11 (1971)). Where a slope tells of more
    than the line does, or close to an end of a tenth of that, Newton's step stays.
    """

    def __init__(self, shape: int) -> None:
        self.shape, self.less, self.more, self.count = shape, (math.nan, math.nan), (math.nan, math.nan), 0
        self._last = math.nan

    def narrow(self, search: NDArray[np.float64], price: float, total: float, slope: float = 0.0) -> float:
        """Take in a total and what it falls by, and move the search's price, which is that of Newton's step, between
        both sides; how far off it may be, relatively (NaN if the other side is not known).
        """
        target = float(search[core.TARGET])
        gap = total - target
        if self.shape in POWERS and 0.0 < total < math.inf and target > 0.0:
            gap, slope = target * (math.log(total) - math.log(target)), slope * (target / total)
        elif 0.0 < target < gap < math.inf:  # so far from it a total falls as a power of the price, not along a line
            gap, slope = target * (1.0 + math.log(gap) - math.log(target)), slope * (target / gap)
        left = 0.5 if gap * self._last > 0.0 else 1.0
        if gap > 0.0:
            self.less, self.more = (price, gap), (self.more[0], self.more[1] * left)
        else:
            self.less, self.more = (self.less[0], self.less[1] * left), (price, gap)
        self._last = gap
        (low, above), (high, below) = self.less, self.more
        if self.shape in LINEAR or not 0.0 < low < high < math.inf or self.count == MOST_SECANTS:
            return math.nan
        self.count += 1
        width, part = math.log(high / low), above / (above - below)
        next_, newton = low * math.exp(width * part), float(search[core.PRICE])
        least = FLATTER if min(part, 1.0 - part) < NEARER else STEEPER
        if slope * width > least * (above - below) and low < newton < high:
            next_ = newton
        if search[core.LOW] < next_ < search[core.HIGH]:
            search[core.PRICE] = next_
        return width * min(1.0, DOUBT * min(part, 1.0 - part))


def across_of(search: NDArray[np.float64]) -> float:
    """How wide a search's bracket is, in log price; NaN where that makes no sense."""
    low, high = float(search[core.LOW]), float(search[core.HIGH])
    return math.log(high / low) if 0.0 < low < high < math.inf else math.nan


def find_between(passes: Any, search: NDArray[np.float64], ends: list[tuple[float, float, float]]) -> Prices:
    """The same of one that has not begun, between two prices, the lower one first, beside totals and slopes there. A
    line leads to the answer of totals that bend in many places; where it does not, items start.
    """
    search[core.LOW], search[core.HIGH] = ends[0][0], ends[1][0]
    if passes.shape in LINEAR:
        return find_prices(passes, search)
    between = Secant(passes.shape)
    for price, total, slope in ends:
        search[core.PRICE] = price
        between.narrow(search, price, total, slope)
    for _ in range(MOST_LINES):
        price = float(search[core.PRICE])
        total, slope = passes.respond(price)
        step(search, passes.shape, total, slope)
        if search[core.STATE] != core.RUNNING:
            break
        between.narrow(search, price, total, slope)
    return find_prices(passes, search, tried=BETWEEN)


def within(starts: NDArray[np.float64], search: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those starts (k,) that are within a search's bracket."""
    return starts[(starts > search[core.LOW]) & (starts < search[core.HIGH])]


def nearest(starts: NDArray[np.float64], search: NDArray[np.float64]) -> float:
    """The start (k,) within the bracket that is nearest to the price; NaN if there is none."""
    inside = within(starts, search)
    return float(inside[np.abs(inside - search[core.PRICE]).argmin()]) if inside.size else math.nan


def step_at(passes: Any, search: NDArray[np.float64], price: float) -> None:
    """One step of one search (8,) from a price within its bracket."""
    search[core.PRICE] = price
    step(search, passes.shape, *passes.respond(price))


def step(search: NDArray[np.float64], shape: int, total: float, slope: float) -> None:
    """One step of one search (8,)."""
    core.step(search, shape, total, slope)


def step_to_crossing(passes: Any, search: NDArray[np.float64]) -> None:
    """Take a search (8,) over quadratic items, of which not too many bend or jump within its bracket, to between two of
    the prices where they do: what they take falls straight between, while Newton's method only halves where many are
    close to each other.
    """
    is_quadratic = isinstance(passes, Passes) and passes.shape == core.QUADRATIC
    if not is_quadratic or search[core.STATE] != core.RUNNING:
        return
    target, bracket = float(search[core.TARGET]), (float(search[core.LOW]), float(search[core.HIGH]))
    found = core.cross(passes.items, passes.n, target, *bracket, MOST_CROSSED)
    if found is None:
        return
    low, price, high = found
    ends = (math.nextafter(price, -math.inf),) if low == high else (math.nan, low, high)
    for at in (price, *ends):
        at = float(search[core.PRICE]) if math.isnan(at) else at  # Newton's next, for what rounding left
        if search[core.LOW] < at < search[core.HIGH] and search[core.STATE] == core.RUNNING:
            step_at(passes, search, at)


def step_beside(search: NDArray[np.float64], shape: int, total: float, slope: float, fixed: float) -> None:
    """One step of one search (8,) of whose total a part is `fixed` at any price: Newton goes by the rest."""
    target, tolerance = float(search[core.TARGET]), float(search[core.TOLERANCE])
    left = max(target - fixed, LEAST_LEFT * target)
    if left > 0.0:
        search[core.TARGET], search[core.TOLERANCE] = left, tolerance * (target / left)
    step(search, shape, total - (target - left), slope)
    search[core.TARGET], search[core.TOLERANCE] = target, tolerance


def guess_price(problem: Any, known: float = math.nan, most: int = MOST_SAMPLE) -> tuple[float, float]:
    """A guess of the price above which nothing is taken, and of the answer's price, from a sample of so many of the
    items at most, or nearly.

    A `known` guess of the answer's price stays.
    """
    if not math.isnan(known):
        starts = problem.starts(sampled(problem.n, FEW))
        if starts.size and 0.0 < starts.max() < np.inf:
            return float(starts.max()), known
    size = min(max(problem.n // SAMPLE, LEAST_SAMPLE), most)
    part = problem.sample(size if math.isnan(known) else FEW)
    return price_of_part(part, part.passes(), part.n < problem.n, known)


def price_of_part(part: Any, passes: Any, is_sample: bool, known: float = math.nan) -> tuple[float, float]:
    """The same from all items of a problem, who answer prices; if these are no sample, all steps are left to others."""
    top = 1.0 if passes.shape in LINEAR else float(passes.worth(np.zeros(part.n))[1].max())
    is_top = 0.0 < top < np.inf
    if math.isnan(known):
        known = _even_price(part, passes, top)
        if is_sample:
            known = sampled_price(part, passes, top if is_top else 1.0, known, 1e-3)
    return (top if is_top else 1.0), known


def _even_price(part: Any, passes: Any, top: float) -> float:
    """The mean slope where all get the same, of items whose slope at 0 is at most `top`."""
    even = passes.worth(np.full(part.n, min(part.capacity / part.n, FAR)))[1]
    if passes.shape in LINEAR:
        return float(even.mean())
    even = even[(even > 0.0) & (even < np.inf)]
    return float(np.exp(np.log(even).mean())) if even.size else min(0.5 * top, 1.0)


def sampled_price(part: Any, passes: Any, top: float, guess: float, tolerance: float) -> float:
    """The price that solves a sample roughly."""
    search = new_searches(passes.shape, np.array([part.capacity]), top, guess)[0]
    search[core.TOLERANCE] = tolerance
    step_to_crossing(passes, search)
    passes.search(search)
    for _ in range(SAMPLE_STEPS):
        if search[core.STATE] != core.RUNNING:
            break
        step(search, passes.shape, *passes.respond(float(search[core.PRICE])))
    price = float(search[core.PRICE])
    return price if 0.0 < price < np.inf or passes.shape in LINEAR else guess
