"""Amounts whose exact sum rounds to the capacity."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np


def share_out(amounts: np.ndarray, capacity: float) -> np.ndarray:
    """Scale non-negative `amounts` (n,) so that their exact sum rounds to `capacity`."""
    if not amounts.any():
        amounts = np.ones(amounts.size)
    total = math.fsum(amounts)
    scale = capacity / total
    shares = amounts * scale if math.isfinite(scale) else amounts / total * capacity
    second, largest = np.argsort(shares)[-2:]
    for _ in range(5):
        if math.fsum(shares) == capacity:
            break
        rest = math.fsum(chain([capacity], -shares))
        if shares[largest] + rest != shares[largest]:
            shares[largest] += rest
        else:  # the sum lies halfway between two numbers, and the wrong one is even
            shares[second] = np.nextafter(shares[second], math.copysign(math.inf, rest))
    return shares


def absorb(amounts: np.ndarray, capacity: float, free: np.ndarray) -> np.ndarray:
    """Put the rounding that is left of the capacity on the largest amounts (n,) among those that are free."""
    order = np.argsort(np.where(free, amounts, -1.0))[-2:] if free.any() else np.argsort(amounts)[-2:]
    for k in range(6):
        if math.fsum(amounts) == capacity:
            break
        rest = math.fsum(chain([capacity], -amounts))
        largest, second = order[-1], order[0]
        if k < 3 and amounts[largest] + rest != amounts[largest]:
            amounts[largest] += rest
        else:  # the sum lies half way between two numbers, and the wrong one is even
            amounts[second] = np.nextafter(amounts[second], math.copysign(math.inf, rest))
    return amounts
