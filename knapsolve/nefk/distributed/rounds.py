"""The driver's side: which prices to ask next, until they enclose the capacity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve._validation import check_real, shown
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk.criteria import LogExponential
from knapsolve.nefk.criterion import Criterion
from knapsolve.nefk.distributed.partitions import Answer, Request
from knapsolve.nefk.problem import SLACK
from knapsolve.nefk.search import UNDERFLOW, share_of

Array = NDArray[np.float64]
LADDER = 2.0 ** np.arange(-460.0, 461.0)  # prices of the first round
SAMPLE = 8192  # items of a partition that the first round looks at
AROUND = (
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    1e-2,
    3e-2,
    0.1,
    0.3,
    1.0,
    3.0,
    10.0,
)  # distances of the second round, in log price
DIVISIONS = 16  # of the bracket, in every later round
FINE_DIVISIONS = 96  # after a round that did not narrow the bracket by GAIN
GAIN = 100
DECADES = 7  # by which prices close in on the estimate
MET = 2e-15
ALL = -1.0  # a price at which every item takes all that it may, those of weight 0 too


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
        if (
            not isinstance(criterion, Criterion)
            or isinstance(criterion, LogExponential)
            or not hasattr(criterion, "_parameter")
        ):
            raise TypeError(f"criterion must be one with a closed form, got {criterion!r}")
        self.capacity = check_real("capacity", capacity, low=0.0, low_open=True, high=1e140)
        self.equality, self.n_rounds = equality, 0
        self._by_price = criterion._shape == core.QUADRATIC  # slopes are by price, else by log price
        self._signed = self._by_price and self.equality
        self._underflows = criterion._shape == core.EXPONENTIAL
        ladder = np.concatenate([-LADDER[::-1], LADDER]) if self._signed else LADDER
        self.request = Request(ladder, SAMPLE)
        self.answer: Answer | None = None
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
        slopes, most = summary[2:, 2], math.inf
        if prices[0] == ALL and not self._signed:
            prices, totals, slopes, most = prices[1:], totals[1:], slopes[1:], float(totals[0])
        gaps = np.abs(totals - self.capacity)
        best = int(np.argmin(gaps))
        if gaps[best] <= MET * self.capacity:
            self._end(float(prices[best]), float(prices[best]), 0.0)
            return
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slopes = slopes if self._by_price else slopes / prices
        points = [(float(p), float(t), float(s)) for p, t, s in zip(prices, totals, slopes)]
        above, below = (
            [q for q in points if q[1] > self.capacity],
            [q for q in points if q[1] < self.capacity],
        )
        self._low = max([*above, *([self._low] if self._low else [])], default=None)
        self._high = min([*below, *([self._high] if self._high else [])], default=None)
        self._next(most)

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
        ends = [0.0, 1e290, *((-1e290 if self._signed else ALL,) if self.equality else ())]
        self.request = Request(np.unique(np.concatenate([centre * np.exp(around), ends])))

    def _next(self, most: float) -> None:
        """The next request, or the answer; `most` is the total of a round that asked for all, else infinite."""
        if self._low is None:  # even at the least price too little is taken
            if self._high is None or self._high[0] > 0.0 or not self.equality:
                self.answer = Answer(0.0, 0.0, 0.0)
                return
            self._low = (-1e290, math.inf, 0.0) if self._signed else (ALL, most, 0.0)
        if self._high is None:
            raise InfeasibleError(f"no price brings the total below {shown(self._low[1])}")
        if self._high[0] == 0.0 and not self.equality:
            self.answer = Answer(0.0, 0.0, 0.0)
            return
        low, high = _rank(self._low[0]), _rank(self._high[0])
        if high - low <= 1 or (self._low[0] < 0.0 and not self._signed):
            total = self._low[1]
            share = share_of(self.capacity, total, self._high[1]) if math.isfinite(total) else 0.0
            self._end(self._low[0], self._high[0], share)
            return
        centre, width = _rank(self._estimate()), high - low
        parts = DIVISIONS if width * GAIN < self._width else FINE_DIVISIONS
        self._width = width
        ranks = {low + width * k // parts for k in range(1, parts)} | {centre}
        for k in range(1, DECADES + 1):
            step = max(width // 10**k, 1)
            ranks |= {centre - step, centre + step}
        self.request = Request(np.array([_double(r) for r in sorted(ranks) if low < r < high]))

    def _end(self, low: float, high: float, share: float) -> None:
        """The answer, unless doubles do not hold its price."""
        if self._underflows and 0.0 < high < UNDERFLOW:
            raise ValueError(
                f"capacity must leave exponential items a price of {UNDERFLOW:g} or more in rounds, got "
                f"{shown(self.capacity)}, with a price of {high:.3g}; solve_nefk has logarithms of prices and solves it"
            )
        self.answer = Answer(low, high, share)

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
