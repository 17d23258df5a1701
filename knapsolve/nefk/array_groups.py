"""Groups with caps for criteria without kernels: the searches of all prices over common passes.

The own price pi_g of a group is where its items alone take its cap; it does not depend on the budget. So the
total at a price mu is T(mu) = sum over groups of min(S_g(mu), cap_g) + what the ungrouped take, and a pass that
tries mu for the budget tries prices for all groups that mu is known to cap. Both searches run in the same passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import enclosed, new_searches, share_of, step

Array = NDArray[np.float64]
NO_CAP = 1e290  # beyond any total


class ArrayGroupSearch:
    """The budget's search and one search for each group, over common passes."""

    def __init__(self, problem: Problem, passes: Any, budget: Array) -> None:
        self.problem, self.passes, self.budget = problem, passes, budget
        self.caps = np.minimum(problem.caps, NO_CAP)
        self.own = new_searches(passes.shape, self.caps, budget[core.TOP], budget[core.PRICE])

    def run(self) -> tuple[Prices, Array]:
        """Prices of the answer by group (g + 1,), and each group's own price (g,); -inf where its cap is loose."""
        while self.budget[core.STATE] == core.RUNNING:
            self._pass(float(self.budget[core.PRICE]))
        if not self.problem.equality and self.budget[core.PRICE] <= 0.0:
            self.budget[core.PRICE], self.budget[core.STATE] = 0.0, core.MET  # capacity is left over
            self._pass(0.0)
        mu = float(self.budget[core.PRICE])
        while self._open(mu).any():
            self._pass(mu)
        return self._prices(mu)

    def _capped(self, mu: float) -> NDArray[np.bool_]:
        """Groups that are known to reach their cap at the budget's price."""
        met = self.own[:, core.STATE] == core.MET
        return (self.own[:, core.LOW] >= mu) | (met & (self.own[:, core.PRICE] > mu))

    def _open(self, mu: float) -> NDArray[np.bool_]:
        """Of those, the groups whose own price is not known yet."""
        return self._capped(mu) & (self.own[:, core.STATE] == core.RUNNING)

    def _pass(self, mu: float) -> None:
        """Take every total once: groups known to be capped at their own next price, all others at mu."""
        running = self.own[:, core.STATE] == core.RUNNING
        capped = self._capped(mu)
        tried = np.where(capped, self.own[:, core.PRICE], mu)
        sums = self.passes.respond_by_group(np.concatenate([[mu], tried]))
        totals, slopes = sums[:, 0] + sums[:, 1], sums[:, 2].copy()
        moves = np.flatnonzero(running & (capped | (tried > self.own[:, core.LOW]) & (tried < self.own[:, core.HIGH])))
        self.own[moves, core.PRICE] = tried[moves]
        core.advance(self.own, self.passes.shape, totals[1:], slopes[1:], moves)
        if self.budget[core.STATE] == core.RUNNING:
            over = capped | (totals[1:] > self.caps)
            total = float(np.sum(np.where(over, self.caps, totals[1:]))) + totals[0]
            step(self.budget, self.passes.shape, total, float(np.sum(slopes[1:][~over])) + slopes[0])

    def _totals(self, prices: Array) -> Array:
        sums = self.passes.respond_by_group(prices)
        return sums[:, 0] + sums[:, 1]

    def _prices(self, mu: float) -> tuple[Prices, Array]:
        """Tables of prices and shares once every search has ended."""
        low = float(self.budget[core.LOW]) if enclosed(self.budget) else mu
        capped = self._capped(mu)
        ended = self.own[:, core.STATE] == core.ENCLOSED
        split = np.flatnonzero(capped & ended)
        highs = np.concatenate([[mu], np.where(capped, self.own[:, core.PRICE], mu)])
        lows = np.concatenate([[low], np.where(capped, self.own[:, core.PRICE], low)])
        lows[1 + split] = self.own[split, core.LOW]
        shares = np.zeros(len(highs))
        if (lows != highs).any():
            at_low, at_high = self._totals(lows), self._totals(highs)
            for g in 1 + split:
                shares[g] = share_of(self.caps[g - 1], at_low[g], at_high[g])
            loose = np.concatenate([[True], ~capped])
            limit = np.concatenate([[np.inf], self.caps])
            room = np.where(loose, np.maximum(np.minimum(at_low, limit) - at_high, 0.0), 0.0)
            fixed = np.where(loose, at_high, limit)
            part = share_of(self.budget[core.TARGET], fixed.sum() + room.sum(), fixed.sum())
            moves = loose & (at_low > at_high)
            shares[moves] = part * room[moves] / (at_low - at_high)[moves]
        return Prices(lows, highs, shares), np.where(capped, highs[1:], -np.inf)
