"""The knapsack beyond one machine: map and sum over partitions, a few rounds of small messages, no data moved.

Every round asks the totals at some thirty prices. A partition answers with one small array (`summarise`), arrays
are added in any order (`combine`), and `Rounds` draws the next prices from the sum, until the prices that enclose
the capacity are neighbouring doubles or meet it. Then each partition writes its own amounts (`allocate`).
Any map-reduce engine serves; `solve_dask` does it with dask.

A first round looks at a few thousand items of each partition, the others at all. Around the best estimate of
the price half of the prices close in by powers of ten, so a smooth total is found in two or three rounds; the other
half divides the bracket evenly, more finely after a round that gained little, so that no total takes many more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knapsolve._core import nefk as core
from knapsolve._validation import check_real
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.criteria import Criterion, LogExponential
from knapsolve.nefk.passes import Passes, Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem, check_problem
from knapsolve.nefk.search import share_of

__all__ = ["Answer", "Request", "Rounds", "allocate", "check", "combine", "solve_dask", "summarise"]

Array = NDArray[np.float64]
LADDER = 2.0 ** np.arange(-460.0, 461.0)  # prices of the first round
SAMPLE = 8192  # items of a partition that the first round looks at
AROUND = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0)  # distances of the second round, in log price
DIVISIONS = 16  # of the bracket, in every later round
FINE_DIVISIONS = 96  # after a round that did not narrow the bracket by GAIN
GAIN = 100
DECADES = 7  # by which prices close in on the estimate
MET = 2e-15


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
    problem = check_problem(criterion, 1.0, weights, 0.0 if lower is None else lower, upper, None, None, True)
    return problem.passes(1)


def summarise(criterion: Criterion, request: Request, **columns: ArrayLike | None) -> Array:
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
    with _passes(criterion, columns) as passes:
        lower, upper, crossed, _ = passes.bounds()
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


def allocate(criterion: Criterion, answer: Answer, **columns: ArrayLike | None) -> Array:
    """Amounts (n,) of one partition's items once the rounds are done."""
    with _passes(criterion, columns) as passes:
        amounts = np.empty(passes.n)
        passes.settle(_prices(answer), amounts, np.empty(passes.n, dtype=np.int8))
        return amounts


def check(criterion: Criterion, answer: Answer, **columns: ArrayLike | None) -> Array:
    """Map of the last round: total and value of one partition's amounts, and its largest violation (3, 3).

    Add the first two rows as `combine` does; of the third, take the largest.
    """
    with _passes(criterion, columns) as passes:
        settled: Settled = passes.settle(_prices(answer), np.empty(passes.n), np.empty(passes.n, dtype=np.int8))
        return np.array([[settled.total, 0.0, 0.0], [settled.value, 0.0, 0.0], [settled.residual, 0.0, 0.0]])


def _prices(answer: Answer) -> Prices:
    return Prices(answer.low, answer.high, answer.share)


class Rounds:
    """The driver's side: asks for totals at prices until they enclose the capacity.

    Parameters
    ----------
    criterion : one of knapsolve.criteria with a closed form
        Only its class matters here.
    capacity : float
        What there is to share out; positive.
    equality : bool, default=True
        Whether all capacity must be given out.

    Attributes
    ----------
    request : Request
        What to ask of every partition next.
    answer : Answer or None
        Set when the rounds are done.
    n_rounds : int
        Rounds so far.

    Examples
    --------
    >>> from knapsolve.criteria import Freshness
    >>> from knapsolve.nefk.distributed import Rounds, allocate, combine, summarise
    >>> parts = [Freshness([1.0, 2.0]), Freshness([5.0, 10.0])]
    >>> rounds = Rounds(parts[0], capacity=20.0)
    >>> while rounds.answer is None:
    ...     rounds.update(combine(*(summarise(part, rounds.request) for part in parts)))
    >>> [allocate(part, rounds.answer).round(3).tolist() for part in parts]
    [[3.089, 4.152], [5.836, 6.922]]
    """

    def __init__(self, criterion: Criterion, capacity: float, equality: bool = True) -> None:
        if not isinstance(criterion, Criterion) or isinstance(criterion, LogExponential) or not hasattr(
            criterion, "_parameter"
        ):
            raise TypeError(f"criterion must be one with a closed form, got {criterion!r}")
        self.capacity = check_real("capacity", capacity, low=0.0, low_open=True, high=1e140)
        self.equality, self.n_rounds = equality, 0
        self._by_price = criterion._shape == core.QUADRATIC  # slopes are by price, else by log price
        self._signed = self._by_price and self.equality
        ladder = np.concatenate([-LADDER[::-1], LADDER]) if self._signed else LADDER
        self.request, self.answer = Request(ladder, SAMPLE), None
        self._width = 2**65  # of the bracket, in doubles
        self._low: tuple[float, float, float] | None = None  # price, total, slope by price
        self._high: tuple[float, float, float] | None = None

    def update(self, summary: Array) -> None:
        """Take the sum of all partitions' answers to the request."""
        self.n_rounds += 1
        self._check_feasible(float(summary[0, 0]), float(summary[1, 0]))
        prices, totals = self.request.prices, summary[2:, 0] + summary[2:, 1]
        if self.request.sample is not None:
            self._second(prices, totals)
            return
        gaps = np.abs(totals - self.capacity)
        best = int(np.argmin(gaps))
        if gaps[best] <= MET * self.capacity:
            self.answer = Answer(float(prices[best]), float(prices[best]), 0.0)
            return
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = summary[2:, 2] if self._by_price else summary[2:, 2] / prices
        points = [(float(p), float(t), float(s)) for p, t, s in zip(prices, totals, slopes)]
        above, below = [q for q in points if q[1] > self.capacity], [q for q in points if q[1] < self.capacity]
        self._low = max([*above, *([self._low] if self._low else [])], default=None)
        self._high = min([*below, *([self._high] if self._high else [])], default=None)
        self._next()

    def _check_feasible(self, lower: float, upper: float) -> None:
        if lower > self.capacity * (1 + SLACK):
            raise InfeasibleError(f"the lower bounds sum to {lower!r}, more than the capacity {self.capacity!r}")
        if self.equality and upper < self.capacity * (1 - SLACK):
            raise InfeasibleError(f"the upper bounds sum to {upper!r}, less than the capacity {self.capacity!r}")

    def _second(self, prices: Array, totals: Array) -> None:
        """Prices around the estimate that the sample gives, and at the ends of what is possible."""
        k = int(np.clip(np.searchsorted(-totals, -self.capacity), 1, len(prices) - 1))
        low, high = sorted(totals[k - 1 : k + 1])
        inside = 0.0 < low < self.capacity < high and prices[k - 1] > 0
        share = math.log(high / self.capacity) / math.log(high / low) if inside else 0.5
        centre = prices[k - 1] * (prices[k] / prices[k - 1]) ** share if inside else prices[k - 1]
        around = np.concatenate([-np.array(AROUND[::-1]), [0.0], AROUND])
        ends = [0.0, 1e290, *((-1e290,) if self._signed else ())]
        self.request = Request(np.unique(np.concatenate([centre * np.exp(around), ends])))

    def _next(self) -> None:
        if self._low is None:  # even at the least price too little is taken
            low = -1e290 if self._signed else -1.0
            if self._high is None or self._high[0] > 0.0 or not self.equality:
                self.answer = Answer(0.0, 0.0, 0.0)
                return
            self._low = (low, math.inf, 0.0)
        if self._high is None:
            raise InfeasibleError(f"no price brings the total below {self._low[1]!r}")
        if self._high[0] == 0.0 and not self.equality:
            self.answer = Answer(0.0, 0.0, 0.0)
            return
        low, high = _rank(self._low[0]), _rank(self._high[0])
        if high - low <= 1 or (self._low[0] < 0.0 and not self._signed):
            total = self._low[1]
            share = share_of(self.capacity, total, self._high[1]) if math.isfinite(total) else 0.0
            self.answer = Answer(self._low[0], self._high[0], share)
            return
        centre, width = _rank(self._estimate()), high - low
        parts = DIVISIONS if width * GAIN < self._width else FINE_DIVISIONS
        self._width = width
        ranks = {low + width * k // parts for k in range(1, parts)} | {centre}
        for k in range(1, DECADES + 1):
            step = max(width // 10**k, 1)
            ranks |= {centre - step, centre + step}
        self.request = Request(np.array([_double(r) for r in sorted(ranks) if low < r < high]))

    def _estimate(self) -> float:
        """Root of the cubic through both ends with their slopes, where the bracket is narrow."""
        (a, more, fall), (b, less, rise) = self._low, self._high  # type: ignore[misc]
        if not (math.isfinite(more) and 0 < b - a < 0.1 * max(abs(a), abs(b)) and math.isfinite(fall + rise)):
            return _double((_rank(a) + _rank(b)) // 2)
        drop, h = more - less, b - a
        low, high = 0.0, 1.0
        for _ in range(60):
            t = 0.5 * (low + high)
            bend = (fall * h - drop) * (1 - t) - (rise * h - drop) * t
            if more - t * (drop + (1 - t) * bend) > self.capacity:
                low = t
            else:
                high = t
        return a + high * h


def _rank(x: float) -> int:
    """Position of a double in the order of all doubles."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits + 2**63)


def _double(rank: int) -> float:
    return float(np.int64(rank if rank >= 0 else -rank - 2**63).view(np.float64))


@dataclass(frozen=True)
class DistributedResult:
    """Like NEFKResult; `amounts` is a dask array (n,) that no one has computed yet."""

    amounts: Any
    price: float
    value: float
    kkt_residual: float
    budget_residual: float
    n_rounds: int

    @property
    def residual(self) -> float:
        """The larger of the two residuals."""
        return max(self.kkt_residual, self.budget_residual)


def solve_dask(criterion: Callable[[Any], Criterion], parameter: Any, capacity: float, *, weights: Any = None,
               lower: Any = None, upper: Any = None, equality: bool = True) -> DistributedResult:
    """Solve a knapsack whose columns are dask arrays.

    Parameters
    ----------
    criterion : class of knapsolve.criteria with a closed form
        For instance ``knapsolve.criteria.Freshness``; called with each partition's parameters.
    parameter : dask array of shape (n,)
        The criterion's parameter of each item.
    capacity : float
        What there is to share out.
    weights, lower, upper : dask array of shape (n,), float or None
        As in `solve_nefk`; arrays in the same chunks as `parameter`.
    equality : bool, default=True
        Whether all capacity must be given out.

    Returns
    -------
    DistributedResult
        Amounts as a dask array, price, value, residuals, and rounds taken, the last of which checks the answer.
    """
    import dask
    import dask.array as da

    if not isinstance(parameter, da.Array) or parameter.ndim != 1:
        raise TypeError(f"parameter must be a one-dimensional dask array, got {type(parameter).__name__}")
    columns = {"weights": weights, "lower": lower, "upper": upper}
    for name, column in columns.items():
        if isinstance(column, da.Array) and column.chunks != parameter.chunks:
            raise ValueError(f"{name} must have the chunks of parameter, {parameter.chunks}, got {column.chunks}")
    blocks = [
        {"parameter": part, **{name: _block(column, k) for name, column in columns.items() if column is not None}}
        for k, part in enumerate(parameter.to_delayed().ravel())
    ]

    def everywhere(task: Callable[..., Array], *given: Any) -> list[Any]:
        return [dask.delayed(_call)(task, criterion, given, block) for block in blocks]

    def gather(parts: list[Any], join: Callable[[Array, Array], Array]) -> Array:
        while len(parts) > 1:
            pairs = [dask.delayed(join)(*parts[k : k + 2]) for k in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[2 * len(pairs) :]
        return dask.compute(parts[0])[0]

    rounds = Rounds(criterion(1.0) if criterion.__name__ != "Power" else criterion(0.5), capacity, equality)
    while rounds.answer is None:
        rounds.update(gather(everywhere(summarise, rounds.request), combine))
    answer = rounds.answer
    total, value, residual = gather(everywhere(check, answer), _join_checks)[:, 0]
    pieces = [da.from_delayed(part, (size,), dtype=np.float64)
              for part, size in zip(everywhere(allocate, answer), parameter.chunks[0])]
    gap = total - rounds.capacity
    gap = max(gap, 0.0) if not equality and answer.price <= 0.0 else abs(gap)
    return DistributedResult(da.concatenate(pieces), answer.price, float(value), float(residual),
                             float(gap / rounds.capacity), rounds.n_rounds + 1)


def _block(column: Any, k: int) -> Any:
    return column.to_delayed().ravel()[k] if hasattr(column, "to_delayed") else column


def _call(task: Callable[..., Array], criterion: Callable[[Any], Criterion], given: tuple[Any, ...],
          block: dict[str, Any]) -> Array:
    columns = dict(block)
    return task(criterion(columns.pop("parameter")), *given, **columns)


def _join_checks(first: Array, second: Array) -> Array:
    joined = combine(first, second)
    joined[2] = np.maximum(first[2], second[2])
    return joined
