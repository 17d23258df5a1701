"""The knapsack that change rates make: weights, bounds and groups by material, and its amounts to the last bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from knapsolve.nefk import solve_nefk
from knapsolve.nefk.criteria import Detection, Freshness, Harmonic, PoissonFreshness
from knapsolve.nefk.shares import absorb, share_out

CRITERIA = {
    "detection": Detection,
    "freshness": Freshness,
    "poisson": PoissonFreshness,
    "harmonic": Harmonic,
    "renewal": Detection,  # weighted, see `worth_of_changes`
}
BALANCE = 0.8  # as RenewalIndexPolicy's
ENOUGH = 4.0  # polls for each change, where "renewal" begins to lean to current copies
FARTHEST = 1e100  # of an even share to a rate
HEAVIEST = 1e140  # weight that a knapsack takes


def worth_of_changes(criterion: str, balance: float, capacity: float, n: int) -> tuple[float, float]:
    """(changes, current): a change found at rate L is worth changes + current / L, times the item's weight.

    One more poll a unit of time that finds G changes more makes G / L more of the time current (Cho and
    Garcia-Molina, 2003). "renewal" wants both: with B = capacity / n polls an item, a copy that is current for the time
    of four polls is worth balance / (1 - balance) changes found. All others count as they are.
    """
    if criterion != "renewal":
        return 1.0, 0.0
    return 1.0 - balance, balance * (capacity / n / ENOUGH)


def solve_at_rates(
    criterion: str, rates: np.ndarray, capacity: float, *, weights: Any = 1.0, balance: float = BALANCE, **options: Any
) -> Any:
    """The knapsack of a criterion at these rates (n,), an NEFKResult; `options` as of `solve_nefk`."""
    changes, current = worth_of_changes(criterion, balance, capacity, rates.size)
    if current > 0:
        weights = np.minimum(weights * (changes + np.minimum(current / rates, FARTHEST)), HEAVIEST)
    return solve_nefk(CRITERIA[criterion](rates), capacity, weights=weights, **options)


@dataclass(frozen=True)
class RateProblem:
    """What is fixed while rates change; columns are numbers or arrays (n,)."""

    criterion: str
    weights: Any
    lower: Any
    upper: Any
    groups: Any
    caps: Any
    balance: float = BALANCE

    @property
    def proportional(self) -> bool:
        """Whether amounts are in proportion to the rates: changes found at equal weights without bounds."""
        plain = isinstance(self.weights, float) and self.groups is None
        free = bool(np.all(self.lower == 0.0) and np.all(self.upper == np.inf))
        changes = self.criterion == "detection" or (self.criterion == "renewal" and self.balance == 0.0)
        return changes and plain and free

    def worth(self, capacity: float, n: int) -> tuple[float, float]:
        """What a change found is worth to the compiled loop."""
        return worth_of_changes(self.criterion, self.balance, capacity, n)

    def explored(self, exploration: float, capacity: float, n: int) -> RateProblem:
        """The same with bounds that tame a loop: at least `exploration` of an even share, at most everything.

        Upper bounds and caps come first.
        """
        if self.proportional:
            return self
        upper = np.minimum(np.full(n, capacity), self.upper)
        floors = np.minimum(exploration * capacity / n, upper)
        if self.groups is not None:
            upper = np.minimum(upper, np.append(self.caps, np.inf)[self.groups])
            needs = np.zeros(len(self.caps) + 1)
            np.add.at(needs, self.groups, np.maximum(floors, self.lower))
            share = np.append(np.minimum(1.0, 0.5 * self.caps / np.maximum(needs[:-1], 1e-300)), 1.0)
            floors *= share[self.groups]
        lower = np.maximum(floors, self.lower)
        return replace(self, lower=lower, upper=np.maximum(upper, lower))

    def solve(self, rates: np.ndarray, capacity: float) -> Any:
        """The exact solution (an NEFKResult)."""
        return solve_at_rates(
            self.criterion,
            rates,
            capacity,
            weights=self.weights,
            balance=self.balance,
            lower=self.lower,
            upper=self.upper,
            groups=self.groups,
            group_caps=self.caps,
        )

    def amounts(self, rates: np.ndarray, capacity: float) -> np.ndarray:
        """Amounts (n,) with ``math.fsum(amounts) == capacity``."""
        if self.proportional:
            return share_out(rates, capacity)
        result = self.solve(rates, capacity)
        free = result.side == 0
        if self.groups is not None:
            capped = np.append(result.group_prices > 0, False)  # -1, no group, comes last
            free &= ~capped[self.groups]
        return absorb(result.amounts, capacity, free)
