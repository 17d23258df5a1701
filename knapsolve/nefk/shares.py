"""Amounts whose exact sum rounds to the capacity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from knapsolve._core.exact_sum import SCALE, exact_sum

MOST_CORRECTIONS = 6


def share_out(amounts: np.ndarray, capacity: float) -> np.ndarray:
    """Scale non-negative `amounts` (n,) so that their exact sum rounds to `capacity`."""
    if not amounts.any():
        amounts = np.ones(amounts.size)
    total = exact_sum(np.ascontiguousarray(amounts, dtype=np.float64)) / SCALE
    scale = capacity / total
    shares = amounts * scale if math.isfinite(scale) else amounts / total * capacity
    return absorb(shares, capacity)


def absorb(amounts: np.ndarray, capacity: float, free: Any = None) -> np.ndarray:
    """Put the rounding that is left of the capacity on the largest amounts (n,), in place, if they are `free` (n,)."""
    largest, second = _top_two(amounts)
    if free is not None and not (free[largest] and free[second]) and free.any():
        largest, second = _top_two(np.where(free, amounts, -1.0))
    total, wanted = exact_sum(amounts), _integer(capacity)
    for _ in range(MOST_CORRECTIONS):
        if total / SCALE == capacity:
            break
        rest, which = (wanted - total) / SCALE, largest
        before = float(amounts[largest])
        if before + rest != before:
            after = before + rest
        elif free is not None and not free[second] and free[largest]:
            break  # nothing else may change
        else:  # the sum lies half way between two numbers, and the wrong one is even
            which, before = second, float(amounts[second])
            after = math.nextafter(before, math.copysign(math.inf, rest))
        total += _integer(after) - _integer(before)
        amounts[which] = after
    return amounts


def _top_two(amounts: np.ndarray) -> tuple[int, int]:
    """Positions of the largest and the second largest amount (n,), the last ones of equals."""
    last = amounts.size - 1
    largest = last - int(amounts[::-1].argmax())
    below, above = amounts[:largest], amounts[largest + 1 :]
    others = [largest - 1 - int(below[::-1].argmax())] if below.size else []
    others += [last - int(above[::-1].argmax())] if above.size else []
    return largest, max(others, key=lambda k: (amounts[k], k), default=largest)


def _integer(number: float) -> int:
    """A finite number times SCALE."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (SCALE // denominator)
