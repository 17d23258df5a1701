"""Steps of a search for the budget's price that go by where items start: there totals jump, or nearly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.jumps import MOST_TIES, NEAR_TIES, PROBE, SAMPLE, ends_of_ties
from knapsolve.nefk.passes import parts_of
from knapsolve.nefk.problem import Problem, sampled
from knapsolve.nefk.search import BESIDE, LATE, STARTING, nearest, step_beside

Array = NDArray[np.float64]
FEW = 4096  # items all of whose starts are known, up to
LATE_OF_MANY = 2  # steps of a search over more, which cost more
TRIED = 3  # late steps to one, or two, beside a start
SKIPPED = 8.0  # times as far as the next start, in logs: a step that does not stop there
FEW_WITHIN = 8  # starts within a bracket: of more, the next one may be a single item's
VERY_LATE = 11  # steps of a search over many items, from which on it pays to look where all start
LATE_CROSSED = MOST_TIES - 4  # steps left, of those that may end beside such, from which on the middle one is tried


def _known(starts: Array) -> Array:
    """Starts that are numbers: items without a rate take nothing at any price, and start nowhere."""
    return starts[np.isfinite(starts)]


class StartSteps:
    """The steps of one search, of which `count` are taken."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.shape, self.count = problem, problem.criterion._shape, 0
        self.has_starts, self.are_many = self.shape in STARTING, problem.n > FEW
        self.late = LATE_OF_MANY if self.are_many else LATE
        self._starts: Array | None = None  # of items, if they were asked for
        self._within: Array | None = None  # of all items, between the ends of a bracket, and the next one
        self._has_looked = False  # for these
        self._ties: Array | None = None  # ends of clusters of them
        self._beside = list[float]()  # prices beside a start that are still to be tried
        self._crossings = MOST_TIES  # steps that may end beside such

    def newton(self, search: Array, mu: float, sums: tuple[float, float, float]) -> bool:
        """One step of Newton's method from `capped_sums` at a price, which goes by where items start next; whether many
        do, next above the price.
        """
        top = float(search[core.TOP])
        near = self._next_start(mu, top)
        follows_ties = self.are_many and top != near <= mu * (1.0 + NEAR_TIES) and sums[1] > 0.0
        if 0.0 < mu < near < top and sums[1] > 0.0 and not follows_ties:
            further = search.copy()
            step_beside(further, self.shape, *sums)
            step = float(further[core.PRICE]) / mu
            if step > 1.0 and math.log(step) > SKIPPED * math.log(near / mu):  # a few starts change little of it
                search[:] = further
                return False
        search[core.TOP] = near
        step_beside(search, self.shape, *sums)
        search[core.TOP] = top
        return follows_ties

    def try_start(self, search: Array) -> bool:
        """Late in a search, move its price to either side of the nearest start of an item, now and then, as
        `find_prices` does: towards a jump, steps only creep. False if there is none in the bracket, or at its ends.
        """
        if not self.has_starts or self.count <= self.late:
            return False
        if self.are_many and self.count >= VERY_LATE and not self._has_looked:
            self._within, self._has_looked = self._all_within(search), True
        if not self._beside and (self.count - self.late) % TRIED == 0:
            wider = search.copy()
            wider[core.LOW] -= BESIDE * abs(wider[core.LOW])
            wider[core.HIGH] += BESIDE * abs(wider[core.HIGH])
            start = nearest(self.starts() if self._within is None else self._within, wider)
            self._beside = [start - BESIDE * start, start + BESIDE * start]
        while self._beside:
            price = self._beside.pop()
            if search[core.LOW] < price < search[core.HIGH]:
                search[core.PRICE] = price
                return True
        return False

    def cross(self, search: Array, mu: float) -> bool:
        """Move a search's price beside the first of few prices at which many items start that a step from another one
        crosses, later the middle one; False if there is none.
        """
        if not self.has_starts or not self.are_many:
            return False
        if self._ties is None:
            self._ties = ends_of_ties(self.starts())
        if not 0 < len(self._ties) <= self._crossings:
            return False
        low, high = sorted((mu, float(search[core.PRICE])))
        crossed = self._ties[(self._ties[:, 1] >= low) & (self._ties[:, 0] <= high)] * (1.0 - BESIDE, 1.0 + BESIDE)
        if low < mu:
            crossed = crossed[::-1, ::-1]
        for price in crossed[0 if self._crossings > LATE_CROSSED else len(crossed) // 2 :].ravel().tolist():
            if search[core.LOW] < price < search[core.HIGH]:
                search[core.PRICE] = price
                self._crossings -= 1
                return True
        return False

    def starts(self) -> Array:
        """Prices at which items start; of many items such as many start at, as a sample tells."""
        if self._starts is None and not self.are_many:
            self._starts = _known(self.problem.starts())
        elif self._starts is None:
            self._starts = self._several_in(PROBE)
            if self._starts.size:
                self._starts = self._several_in(SAMPLE)
        return self._starts

    def _several_in(self, size: int) -> Array:
        """Prices at which several items of a sample of some size start."""
        starts = self.problem.starts(sampled(self.problem.n, size))
        if starts.size == 1:
            return _known(starts)
        starts = np.sort(_known(starts))
        return np.unique(starts[1:][starts[1:] == starts[:-1]])

    def _all_within(self, search: Array) -> Array | None:
        """Prices within a search's bracket at which items start, and the next one above it; None if they are many."""
        low, high = float(search[core.LOW]), float(search[core.HIGH])
        found, above = np.empty(0), math.inf
        for part in parts_of(self.problem.n):
            starts = _known(self.problem.starts(part))
            found = np.union1d(found, starts[(starts >= low) & (starts <= high)])
            above = min(above, float(starts[starts > high].min(initial=math.inf)))
            if found.size > FEW:
                return None
        return np.append(found, above) if above < math.inf else found

    def _next_start(self, mu: float, top: float) -> float:
        """The next price at which an item starts, or many do, late in a search: slopes have no end there. Elsewhere
        that at which the first one does.
        """
        if not self.has_starts or self.count < self.late:
            return top
        starts = self.starts() if self._within is None or self._within.size > FEW_WITHIN else self._within
        later = starts[starts > mu]
        return float(later.min()) if later.size else top
