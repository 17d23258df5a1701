"""Groups that are too large for a tile: knapsacks by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.criterion import pick
from knapsolve.nefk.narrow import MANY
from knapsolve.nefk.passes import Prices, Settled
from knapsolve.nefk.problem import SLACK, Problem
from knapsolve.nefk.search import share_of
from knapsolve.nefk.single import beyond_edge, edge_price, find_and_settle, new_search

Array = NDArray[np.float64]
CLEARLY = 1.2  # over a price: what a guess says is most likely above it, and is tried without a look
LEAST = 1e-150  # a price: subnormal ones, which are tried where this does not tell, take ten times as long


@dataclass(frozen=True)
class LargeGroup:
    """A group that is too large for a tile: a problem of its own, in place. Of group 0, see also `all_but.Aside`."""

    group: int
    cap: float
    problem: Problem
    passes: Any
    where: slice | None  # its items, if they lie side by side, else by the problem's order
    copies: bool  # solve a copy of its items, side by side
    n_jobs: int

    def settle(self, prices: Prices, amounts: Any) -> Settled:
        """Write its amounts at prices."""
        return self.passes.settle(prices, self._own(amounts))

    def solve(self, guess: float, floor: float, amounts: Any) -> tuple[float, Settled]:
        """Fill its cap: its own price, and how it settled."""
        is_listed = self.problem.order is not None
        if not self.copies:
            search = new_search(self.problem, self.passes, guess)
            return self._search(self.problem, self.passes, search, floor, self._own(amounts))
        problem = self.problem.take(slice(None), self.problem.capacity)  # a copy, if it is listed
        x = np.empty(problem.n, amounts.dtype)
        passes = problem.passes(self.n_jobs)
        found = self._search(problem, passes, new_search(problem, passes, guess), floor, x)
        amounts[self.problem.order if is_listed else self.where] = x
        return found

    def fill(self, above: float, own: Array, guesses: bool, amounts: Any) -> Settled | None:
        """Fill its cap if its own price, which becomes that of `own` (g + 1,), is above a price: how it settled, else
        None, and nothing is written. With `guesses`, that of `own` is one before. Of items without lower bounds, side
        by side.
        """
        guess = float(own[self.group]) if guesses and self.problem.n <= MANY else math.nan
        own[self.group], floor = np.nan, math.nan
        if not self.cap > 0.0:
            return None
        search = new_search(self.problem, self.passes, guess)
        if not (above >= LEAST and search[core.PRICE] > CLEARLY * above):
            tried = (above,) if above >= LEAST else (LEAST, above)
            if not any(self.passes.respond(price)[0] > self.cap for price in tried):
                return None
            floor = above
        x = np.empty(self.problem.n, amounts.dtype)
        price, settled = self._search(self.problem, self.passes, search, floor, x)
        if not price > above and math.isnan(floor):  # a guess misled
            return None
        own[self.group], self._own(amounts)[:] = price, x
        return replace(settled, over=abs(settled.total - self.cap) / self.cap)

    def serve(self, own: Array, bounds: Any) -> tuple[float, float, bool]:
        """Write its part of the bounds that `GroupPasses.serve` asks for: the same of it alone."""
        lower, upper, crossed = self.passes.bounds()
        if crossed < self.problem.n or lower > self.cap * (1 + SLACK):
            return 0.0, 0.0, True
        if upper <= self.cap:
            own[self.group] = np.nan
            where = self.problem.order if self.where is None else self.where
            bounds[where] = pick(self.problem.upper, where if self.where is None else slice(None))
            return upper, 0.0, False
        if lower >= self.cap * (1 - SLACK):
            own[self.group] = edge = edge_price(self.problem, self.passes, at_lower=True)
            total = self.settle(beyond_edge(edge, True), bounds).total
        else:
            all_of_it = replace(self, problem=replace(self.problem, equality=True))
            own[self.group], settled = all_of_it.solve(math.nan, math.nan, bounds)
            total = settled.total
        off = abs(total - self.cap)
        return total, off / self.cap if off else 0.0, False

    def _search(self, problem: Problem, passes: Any, search: Array, floor: float, x: Any) -> tuple[float, Settled]:
        if floor < search[core.PRICE]:
            search[core.LOW] = floor
        prices, settled = find_and_settle(problem, passes, search, x, None, self.n_jobs)
        return float(prices.high), settled

    def _own(self, amounts: Any) -> Any:
        return amounts if self.where is None else amounts[self.where]

    def settle_under_cap(self, prices: Prices, own: Array, floor: float, amounts: Any) -> tuple[Settled, int]:
        """Write its amounts, as `GroupPasses.settle` has it: how they turned out, and whether it was misjudged."""
        cap, g = self.cap, self.group
        if cap < math.inf and self.passes.bounds()[0] >= cap * (1 - SLACK):
            edge = edge_price(self.problem, self.passes, at_lower=True)
            own[g] = edge if edge > prices.high else np.nan
            high = max(float(beyond_edge(edge, True).high), prices.high)
            settled, missed = self.settle(Prices(high, high), amounts), 0
        elif not np.isnan(own[g]):
            own[g], settled = self.solve(own[g], floor, amounts)
            missed = own[g] < prices.high
        else:
            share = prices.share
            if prices.low != prices.high and cap < math.inf:
                more, less = (self.passes.respond(x)[0] for x in (prices.low, prices.high))
                share *= share_of(min(more, cap), more, less)
            settled = self.settle(Prices(prices.low, prices.high, share), amounts)
            missed = settled.total > cap * (1 + SLACK)
        off = max(settled.total - cap, 0.0) if np.isnan(own[g]) else abs(settled.total - cap)
        return Settled(settled.total, settled.value, settled.residual, off / cap if off else 0.0), missed
