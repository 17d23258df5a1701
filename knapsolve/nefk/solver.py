"""solve_nefk: the deterministic nonlinear fractional knapsack on its price."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from knapsolve._core import nefk as core
from knapsolve._validation import check_column, check_real
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.criteria import LARGEST, Criterion
from knapsolve.nefk.passes import Passes
from knapsolve.nefk.result import NEFKResult
from knapsolve.nefk.search import find_price

SLACK = 1e-12


def solve_nefk(
    criterion: Criterion,
    capacity: float,
    *,
    weights: ArrayLike | None = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_caps: ArrayLike | None = None,
    equality: bool = True,
    n_jobs: int | None = None,
) -> NEFKResult:
    """Maximise sum w_i f_i(x_i) subject to sum x_i = capacity and lower <= x <= upper."""
    if groups is not None or group_caps is not None:
        raise NotImplementedError("groups")
    capacity = check_real("capacity", capacity, low=0.0, high=LARGEST)
    weight = 1.0 if weights is None else check_column("weights", weights, low=0.0, high=LARGEST)
    low = check_column("lower", lower, low=0.0, high=LARGEST)
    high = math.inf if upper is None else check_column("upper", upper, low=0.0, high=LARGEST, or_infinite=True)
    n = common_size(parameter=criterion._parameter, weights=weight, lower=low, upper=high)
    items = criterion._items(n, weight, low, high, 2.0 * capacity + 1e-300)
    with Passes(items, n, effective_n_jobs(n_jobs)) as passes:
        return solve_plain(criterion, passes, capacity, weight, low, high, equality)


def common_size(**columns: Any) -> int:
    """The number of items that all columns agree on."""
    sizes = {name: column.size for name, column in columns.items() if isinstance(column, np.ndarray)}
    if not sizes:
        return 1
    name, n = next(iter(sizes.items()))
    for other, size in sizes.items():
        if size != n:
            raise ValueError(f"{other} must have {n} entries like {name}, got {size}")
    if n == 0:
        raise ValueError(f"{name} must not be empty")
    return n


def solve_plain(criterion: Criterion, passes: Passes, capacity: float, weight: Any, low: Any, high: Any,
                equality: bool) -> NEFKResult:
    n, shape = passes.n, criterion._shape
    floor = math.fsum(low) if isinstance(low, np.ndarray) else low * n
    ceiling = math.fsum(high) if isinstance(high, np.ndarray) else high * n
    if np.any(np.greater(low, high)):
        where = int(np.argmax(np.broadcast_to(np.greater(low, high), (n,))))
        raise InfeasibleError(f"lower exceeds upper at position {where}: "
                              f"{np.broadcast_to(low, (n,))[where]!r} > {np.broadcast_to(high, (n,))[where]!r}")
    if floor > capacity * (1 + SLACK):
        raise InfeasibleError(f"the lower bounds sum to {floor!r}, more than the capacity {capacity!r}")
    if ceiling < capacity * (1 - SLACK) and equality:
        raise InfeasibleError(f"the upper bounds sum to {ceiling!r}, less than the capacity {capacity!r}")
    amounts, side = np.empty(n), np.empty(n, np.int8)
    lows, highs = np.broadcast_to(low, (n,)), np.broadcast_to(high, (n,))
    ones = np.broadcast_to(weight, (n,))
    if floor >= capacity * (1 - SLACK):
        amounts[:] = lows
        price = float(np.max(np.where(lows < highs, ones * criterion.derivative(lows), -np.inf)))
        price = 0.0 if price == -np.inf else price
    elif ceiling <= capacity * (1 + SLACK):
        amounts[:] = highs
        if ceiling < capacity * (1 - SLACK):
            price = 0.0
        else:
            price = float(np.min(np.where(lows < highs, ones * criterion.derivative(highs), np.inf)))
    else:
        price = interior(criterion, passes, capacity, ones, lows, highs, equality, amounts)
    total, value, residual = passes.audit(core.Column(float(price)), amounts, side)
    gap = abs(total - capacity) / capacity if capacity > 0 else total
    if not equality and price == 0.0:
        gap = max(total - capacity, 0.0) / capacity
    return NEFKResult(amounts, price, value, residual, gap, passes.count, side)


def interior(criterion, passes, capacity, weight, lows, highs, equality, amounts) -> float:
    shape = criterion._shape
    with np.errstate(all="ignore"):
        slopes = criterion.derivative(np.zeros(passes.n)) * weight
    top = float(np.max(slopes))
    if shape in (core.HARMONIC, core.POWER):
        top = math.inf
        least, most = 1e-300, 1e300
    elif shape == core.QUADRATIC:
        least, most = 0.0, math.nextafter(top, math.inf)
        if passes.sums(0.0)[0] < capacity:
            if not equality:
                passes.fill(0.0, amounts)
                return 0.0
            most = 0.0
            least = -1e300
    else:
        least, most = 0.0, math.nextafter(top, math.inf)
    a, b = find_price(passes.sums, capacity, shape, least, most, top, 0.5 * top if top < math.inf else 1.0)
    total = passes.fill(b, amounts)
    if a != b:
        more = np.empty_like(amounts)
        above = passes.fill(a, more)
        if above > total:
            amounts += (capacity - total) / (above - total) * (more - amounts)
    return b
