"""What one partition answers, and how answers add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.criterion import Criterion
from knapsolve.nefk.passes import Passes, Prices, Settled
from knapsolve.nefk.problem import check_problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """What a round asks: totals at `prices` (k,), from `sample` items of each partition (None for all)."""

    prices: Array
    sample: int | None = None


@dataclass(frozen=True)
class Answer:
    """Prices that give the amounts: x(high) + share (x(low) - x(high))."""

    low: float
    high: float
    share: float

    @property
    def price(self) -> float:
        """Value of one more unit of capacity."""
        return self.high


def _passes(criterion: Criterion, columns: dict[str, Any]) -> Passes:
    """The items of one partition; their capacity is not known here."""
    weights, lower, upper = (columns.get(name) for name in ("weights", "lower", "upper"))
    problem = check_problem(criterion, 1.0, weights, lower, upper, None, None, True)
    return problem.passes(1)


def summarise(criterion: Criterion, request: Request, **columns: Any) -> Array:
    """Map: what one partition takes at the prices that a round asks.

    Parameters
    ----------
    criterion : one of knapsolve.criteria with a closed form
        The criterion of the partition's items.
    request : Request
        From ``Rounds.request``.
    **columns
        weights, lower and upper of the partition's items, as in `solve_nefk`.

    Returns
    -------
    ndarray of shape (k + 2, 3)
        Lower bounds and upper bounds, then for each price the total, its low part and its slope.
    """
    passes = _passes(criterion, columns)
    lower, upper, crossed = passes.bounds()
    if crossed < passes.n:
        raise InfeasibleError(f"lower exceeds upper at position {crossed} of a partition")
    out = np.zeros((len(request.prices) + 2, 3))
    out[0, 0], out[1, 0] = lower, upper
    part, scale = passes, 1.0
    if request.sample is not None and passes.n > request.sample:
        some = slice(None, None, -(-passes.n // request.sample))
        chosen = {name: x[some] if np.ndim(x) else x for name, x in columns.items() if x is not None}
        part = _passes(criterion._take(some), chosen)
        scale = passes.n / part.n
    for row, price in zip(out[2:], request.prices):
        total, slope = part.respond(float(price))
        row[0], row[2] = scale * total, scale * slope
    return out


def combine(first: Array, second: Array) -> Array:
    """Reduce: the sum of two partitions' answers, in either order, with its rounding error kept."""
    with np.errstate(invalid="ignore"):
        total = first + second
        part = total[:, 0] - first[:, 0]
        error = (first[:, 0] - (total[:, 0] - part)) + (second[:, 0] - part)
    total[:, 1] += np.where(np.isfinite(error), error, 0.0)
    return total


def allocate(criterion: Criterion, answer: Answer, **columns: Any) -> Array:
    """Amounts (n,) of one partition's items once the rounds are done."""
    passes = _passes(criterion, columns)
    amounts = np.empty(passes.n)
    passes.settle(_prices(answer), amounts)
    return amounts


def check(criterion: Criterion, answer: Answer, **columns: Any) -> Array:
    """Map of the last round: total and value of one partition's amounts, and its largest violation (3, 3).

    Add the first two rows as `combine` does; of the third, take the largest.
    """
    passes = _passes(criterion, columns)
    settled: Settled = passes.settle(_prices(answer), np.empty(passes.n))
    return np.array([[settled.total, 0.0, 0.0], [settled.value, 0.0, 0.0], [settled.residual, 0.0, 0.0]])


def _prices(answer: Answer) -> Prices:
    return Prices(answer.low, answer.high, answer.share)
