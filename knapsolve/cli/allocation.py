"""From a poll log to amounts: rates by the renewal index's filters, amounts by the knapsack."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import gamma

from knapsolve import criteria
from knapsolve.cli.output import progress_bar
from knapsolve.cli.polls import PollLog
from knapsolve.learners import RenewalIndexPolicy
from knapsolve.nefk import solve_nefk

LONG = 500_000  # polls: from here on there is a bar, which moves this often
TAIL = 0.025


@dataclass(frozen=True)
class Limits:
    """Bounds of intervals, and polls per unit of time of each host (n_hosts,) or None, in the log's unit of time."""

    shortest: float
    longest: float
    host_caps: np.ndarray | None


@dataclass(frozen=True)
class Allocation:
    """Amounts and rates with their ends, in the log's unit of time, and what they should come to; all (n_items,)."""

    capacity: float
    amounts: np.ndarray
    rates: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def found_by_a_poll(self) -> np.ndarray:
        """Probability that a poll finds a change: 1 - exp(-rate * interval)."""
        with np.errstate(divide="ignore"):
            return -np.expm1(-self.rates / self.amounts)

    @property
    def freshness(self) -> np.ndarray:
        """Expected share of time that the copy is current, with polls at even intervals."""
        return self.found_by_a_poll * (self.amounts / self.rates)

    def rows(self, log: PollLog, scale: float, which: np.ndarray | None = None) -> list[dict[str, Any]]:
        """A row an item, with times in another unit, of which the log's has `scale`."""
        chosen = np.arange(self.amounts.size) if which is None else which
        with np.errstate(divide="ignore"):
            intervals = scale / self.amounts[chosen]
        freshness = self.freshness[chosen]
        return [
            {
                "item": log.names[k].item() if hasattr(log.names[k], "item") else log.names[k],
                "interval": float(interval) if np.isfinite(interval) else None,
                "rate": float(self.rates[k]) / scale,
                "rate_low": float(self.low[k]) / scale,
                "rate_high": float(self.high[k]) / scale,
                "freshness": float(fresh),
                "polls": int(log.polls[k]),
            }
            for k, interval, fresh in zip(chosen, intervals, freshness)
        ]


def allocate(log: PollLog, capacity: float, criterion: str, balance: float, limits: Limits) -> Allocation:
    """Amounts that serve the criterion best, at rates learnt from the log."""
    policy = RenewalIndexPolicy(balance=balance, n_materials=log.names.size, capacity=log.pace)
    _learn(policy, log)
    rates = policy.rates_
    weights = np.ones(rates.size) if log.weights is None else log.weights
    if not weights.any():
        raise ValueError("the weight column must hold at least one positive weight")
    if criterion == "renewal":  # its long-run amounts are those best for detection with these weights
        weights = weights * policy._core().indices(np.full(rates.size, 1e300))
    kinds = {"renewal": criteria.Detection, "detection": criteria.Detection, "freshness": criteria.Freshness}
    kind = kinds.get(criterion, criteria.Harmonic)
    least = 0.0 if limits.longest == np.inf else 1 / limits.longest
    most = np.inf if limits.shortest == 0 else 1 / limits.shortest
    _check_room(least * rates.size, capacity)
    bounded = limits.host_caps is not None or most < np.inf
    amounts = solve_nefk(
        kind(rates), capacity, weights=weights, lower=least, upper=most, equality=not bounded,
        groups=None if limits.host_caps is None else log.hosts, group_caps=limits.host_caps,
    ).amounts  # fmt: skip
    shape = policy.items_[: rates.size, 2] + 2.0  # of the last filter's Gamma, whose mean is the rate
    low, high = (gamma.ppf(tail, shape) * (rates / shape) for tail in (TAIL, 1 - TAIL))
    return Allocation(capacity, amounts, rates, low, high)


def _check_room(needed: float, capacity: float) -> None:
    if needed > capacity * (1 + 1e-12):
        raise ValueError(
            f"--max-interval needs {needed / capacity:.4g} times the polls that --capacity allows: make it longer"
        )


def _learn(policy: RenewalIndexPolicy, log: PollLog) -> None:
    long = log.items.size > LONG
    with progress_bar(log.items.size) if long else nullcontext() as stage:
        for begin in range(0, log.items.size, LONG):
            part = slice(begin, begin + LONG)
            columns = np.column_stack([log.items[part], log.elapsed[part]])
            policy.partial_fit(columns, log.changed[part])
            if stage is not None:
                stage("learning", begin)(columns.shape[0], 0)
