"""Disjoint groups with caps: every item answers the larger of the budget's price and its group's own price.

The own price pi_g of a group is where its items alone take its cap; it does not depend on the budget. So the
total at a price mu is T(mu) = sum over groups of min(S_g(mu), cap_g) + what the ungrouped take, and a pass that
tries mu for the budget tries prices for all groups that mu is known to cap. Both searches run in the same passes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.nefk as core
from knapsolve.nefk.narrow import narrows, settle_many
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.search import FAR, enclosed, find_prices, new_searches, share_of, step

Array = NDArray[np.float64]
NO_CAP = 1e290  # beyond any total
CLOSE = 1e-3  # relative step of the budget's price from which the capped groups are likely to stay


class GroupSearch:
    """The budget's search and one search for each group, over common passes.

    Near the end they part: the budget's price is found on the items outside capped groups alone, and confirmed by
    a pass that caps the same groups; the capped groups go on by themselves, the fewer the longer it takes.
    """

    def __init__(self, problem: Problem, passes: Any, budget: Array, n_jobs: int, scratch: tuple[Any, Any]) -> None:
        self.problem, self.passes, self.budget, self.n_jobs = problem, passes, budget, n_jobs
        self.scratch = scratch
        self.caps = np.minimum(problem.caps, NO_CAP)
        self.own = new_searches(passes.shape, self.caps, budget[core.TOP], budget[core.PRICE])

    def run(self) -> tuple[Prices, Array]:
        """Prices of the answer by group (g + 1,), and each group's own price (g,); -inf where its cap is loose."""
        splits = hasattr(self.passes, "narrow")
        while self.budget[core.STATE] == core.RUNNING:
            mu = float(self.budget[core.PRICE])
            self._pass(mu)
            near = abs(float(self.budget[core.PRICE]) - mu) <= CLOSE * abs(mu)
            if splits and near and self.budget[core.STATE] == core.RUNNING:
                self._find_budget_price(self._capped(mu))
        if not self.problem.equality and self.budget[core.PRICE] <= 0.0 and self.passes.shape != core.LOG_EXPONENTIAL:
            self.budget[core.PRICE], self.budget[core.STATE] = 0.0, core.MET  # capacity is left over
            self._pass(0.0)
        mu = float(self.budget[core.PRICE])
        while not splits and self._open(mu).any():
            self._pass(mu)
        self._find_own_prices(mu)
        return self._prices(mu)

    def _items_of(self, chosen: NDArray[np.bool_], ungrouped: bool) -> NDArray[np.intp]:
        """Positions of the items of the chosen groups."""
        return np.flatnonzero(np.concatenate([chosen, [ungrouped]])[self.problem.groups])  # -1 is the last

    def _find_budget_price(self, capped: NDArray[np.bool_]) -> None:
        """The price at which the items outside capped groups take what those leave, if it caps the same groups."""
        prices = self._loose_prices(capped)
        if prices is None:
            return
        for price in (prices.low, prices.high):
            self._try(price)
        same = all((self._capped(price) == capped).all() for price in (prices.low, prices.high))
        if self.budget[core.STATE] == core.RUNNING and same:
            self.budget[core.LOW], self.budget[core.PRICE] = prices.low, prices.high
            self.budget[core.STATE] = core.MET if prices.low == prices.high else core.ENCLOSED

    def _try(self, price: float) -> None:
        """One pass at a price that may lie outside the budget's bracket."""
        low, high = self.budget[core.LOW], self.budget[core.HIGH]
        self.budget[core.PRICE] = price
        self._pass(price)
        self.budget[core.LOW] = max(self.budget[core.LOW], low)
        self.budget[core.HIGH] = min(self.budget[core.HIGH], high)

    def _loose_prices(self, capped: NDArray[np.bool_]) -> Prices | None:
        """Prices of the items outside the capped groups alone."""
        left = self.problem.capacity - math.fsum(self.caps[capped])
        loose = self.problem.take(self._items_of(~capped, True), left)
        if loose.n == 0 or not left > 0:
            return None
        guess = float(self.budget[core.PRICE])
        search = new_searches(self.passes.shape, np.array([left]), self.budget[core.TOP], guess)[0]
        with loose.passes(self.n_jobs) as passes:
            amounts, side = (x[: loose.n] for x in self.scratch)
            found = settle_many(loose, passes, search, amounts, side, self.n_jobs) if narrows(loose, passes) else None
            self.passes.count += passes.count
            return found[0] if found else find_prices(passes, search)

    def _find_own_prices(self, mu: float) -> None:
        """The own prices of all groups that are capped at the budget's price."""
        passes: Any = None
        members, size = np.empty(0, dtype=np.intp), np.inf
        while (open_ := np.flatnonzero(self._open(mu))).size:
            if open_.size <= 0.5 * size:
                members, size = open_, open_.size
                passes = self._passes_of(members)
            prices = np.concatenate([[FAR], self.own[members, core.PRICE]])
            sums = passes.respond_by_group(prices)[1:]
            totals, slopes = np.zeros((2, len(self.caps)))
            totals[members], slopes[members] = sums[:, 0] + sums[:, 1], sums[:, 2]
            core.advance(self.own, self.passes.shape, totals, slopes, open_)
            self.passes.count += 1

    def _passes_of(self, members: NDArray[np.intp]) -> Any:
        """Passes over the items of some groups alone."""
        chosen, place = np.zeros(len(self.caps), dtype=bool), np.empty(len(self.caps), dtype=np.intp)
        chosen[members], place[members] = True, np.arange(members.size)
        which = self._items_of(chosen, False)
        part = self.problem.take(which, self.problem.capacity)
        return replace(part, groups=place[self.problem.groups[which]], caps=self.caps[members]).passes(self.n_jobs)

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
