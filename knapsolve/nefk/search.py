"""Root of the total amount in the price: Newton in the coordinate that suits the family, kept in a bracket."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from knapsolve._core import nefk as core

TOLERANCE = 1e-15
LARGEST = 1e300


def newton_price(shape: int, price: float, total: float, slope: float, capacity: float, top: float) -> float:
    """Next price from the total at `price` and its slope, by one Newton step; NaN where there is no step.

    Logarithmic, Poisson, exponential and quadratic totals are piecewise linear in 1/price, price^(-1/2),
    log(price) and price: the step is exact once the right items are in. Harmonic and power totals are near a
    power of the price. Detection and freshness totals are near a power of -log(1 - price / top) at both ends.
    """
    if not (slope > 0.0 and total > 0.0):
        return math.nan
    gap = capacity - total
    if shape == core.QUADRATIC:
        return price - gap / slope
    if shape == core.EXPONENTIAL:
        return price * math.exp(max(min(-gap / slope, 700.0), -700.0))
    if shape in (core.LOGARITHMIC, core.POISSON):
        ratio = 1.0 + gap / (slope if shape == core.LOGARITHMIC else 2.0 * slope)
        if ratio <= 0.0:
            return math.nan
        return price / (ratio if shape == core.LOGARITHMIC else ratio * ratio)
    step = math.log(total / capacity) * total / slope  # in log price
    if shape in (core.DETECTION, core.FRESHNESS):
        left = (top - price) / top
        if not 0.0 < left < 1.0:
            return math.nan
        t = -math.log1p(-price / top)
        return -top * math.expm1(-t * math.exp(max(min(step * price / (top * left * t), 700.0), -700.0)))
    return price * math.exp(max(min(step, 700.0), -700.0))


def middle(low: float, high: float) -> float:
    """The double half way between two in their order: few steps to any magnitude, adjacent ones at the end."""
    a, b = (_rank(x) for x in (low, high))
    rank = (a + b) // 2
    return float(np.int64(rank if rank >= 0 else -rank - 2**63).view(np.float64))


def _rank(x: float) -> int:
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits + 2**63)


def find_price(
    sums: Callable[[float], tuple[float, float]], capacity: float, shape: int, low: float, high: float,
    top: float, guess: float,
) -> tuple[float, float]:
    """Adjacent or equal prices (a, b), a <= b, whose totals enclose the capacity: total(a) >= c >= total(b).

    total(low) >= capacity >= total(high) is known. Invariant: so is it for the bracket kept. Newton steps that
    leave the bracket, or three in a row that do not halve it in the order of doubles, give way to a halving.
    """
    price, slow = guess, 0
    while True:
        if not low < price < high:
            price = middle(low, high)
            if not low < price < high:
                return low, high
        total, slope = sums(price)
        if abs(total - capacity) <= TOLERANCE * capacity:
            return price, price
        width = _rank(high) - _rank(low)
        if total > capacity:
            low = price
        else:
            high = price
        slow = 0 if _rank(high) - _rank(low) <= width // 2 else slow + 1
        proposal = newton_price(shape, price, total, slope, capacity, top)
        if proposal == price:
            proposal = math.nextafter(price, high if total > capacity else low)
        price = math.nan if slow >= 3 else proposal
        slow = 0 if slow >= 3 else slow
