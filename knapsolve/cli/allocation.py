"""From a poll log to amounts: rates by the renewal index's filters or an estimator, amounts by the knapsack."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve.cli.bounds import Limits
from knapsolve.cli.output import progress_bar, working
from knapsolve.cli.polls import PollLog
from knapsolve.learners import RenewalIndexPolicy
from knapsolve.rates import ChangeRateEstimator
from knapsolve.rates.problem import solve_at_rates

LONG = 500_000  # polls: from here on there is a bar, which moves this often


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

    def intervals(self, scale: float) -> np.ndarray:
        """Times between polls, in a unit of which the log's has `scale`; NaN for items that are never polled."""
        with np.errstate(divide="ignore"):
            intervals = scale / self.amounts
        return np.where(np.isfinite(intervals), intervals, np.nan)

    def rows(self, log: PollLog, scale: float, which: np.ndarray | None = None) -> list[dict[str, Any]]:
        """A row an item, with times in another unit, of which the log's has `scale`."""
        chosen = np.arange(self.amounts.size) if which is None else which
        intervals, freshness = self.intervals(scale)[chosen], self.freshness[chosen]
        return [
            {
                "item": log.names[k].item() if hasattr(log.names[k], "item") else log.names[k],
                "interval": None if np.isnan(interval) else float(interval),
                "rate": float(self.rates[k]) / scale,
                "rate_low": float(self.low[k]) / scale,
                "rate_high": float(self.high[k]) / scale,
                "freshness": float(fresh),
                "polls": int(log.polls[k]),
            }
            for k, interval, fresh in zip(chosen, intervals, freshness)
        ]


def allocate(
    log: PollLog, capacity: float, criterion: str, balance: float, rates_by: str, limits: Limits
) -> Allocation:
    """Amounts that serve the criterion best, at rates learnt from the log."""
    weights = np.ones(log.names.size) if log.weights is None else log.weights
    if not weights.any():
        raise ValueError("the weight column must hold at least one positive weight")
    low, rates, high = _estimated_rates(log, "mle" if rates_by == "renewal" else rates_by)
    if rates_by == "renewal":  # its filters know rates, but not how sure they are
        rates = _renewal_rates(log)
        low, high = np.minimum(low, rates), np.maximum(high, rates)
    least = 0.0 if limits.longest == np.inf else 1 / limits.longest
    most = np.inf if limits.shortest == 0 else 1 / limits.shortest
    bounded = limits.host_caps is not None or most < np.inf
    amounts = solve_at_rates(
        criterion, rates, capacity, weights=weights, balance=balance, lower=least, upper=most, equality=not bounded,
        groups=None if limits.host_caps is None else log.hosts, group_caps=limits.host_caps,
    ).amounts  # fmt: skip
    return Allocation(capacity, amounts, rates, low, high)


Rates = tuple[np.ndarray, np.ndarray, np.ndarray]  # low, rate, high


def _renewal_rates(log: PollLog) -> np.ndarray:
    policy = RenewalIndexPolicy(n_materials=log.names.size, capacity=log.pace)
    _learn(policy, log)
    return policy.rates_


def _estimated_rates(log: PollLog, estimator: str) -> Rates:
    """An item without a second poll may be like any other: all that is known of it is the prior that items share.

    That is what "mle" says, whichever the estimator: no other has such a prior.
    """
    once = log.polls == 1
    low, rates, high = np.empty((3, log.names.size))
    with working(f"learning rates from {log.items.size:,} polls"):
        model = _fitted(log, estimator)
        known = model.materials_[:-1].astype(np.intp)
        rates[known] = model.rates_[:-1]
    with working(f"finding the intervals of {known.size:,} rates"):
        ends = model.rate_interval()
        low[known], high[known] = ends[:-1].T
        if once.any():
            if estimator != "mle":
                model = _fitted(log, "mle")
                ends = model.rate_interval()
            rates[once], (low[once], high[once]) = model.rates_[-1], ends[-1]
    return np.minimum(low, rates), rates, np.maximum(high, rates)


def _fitted(log: PollLog, estimator: str) -> ChangeRateEstimator:
    """What the log tells, and last of one item more, polled again after no time, which tells nothing."""
    columns = [np.append(log.items, log.names.size), np.append(log.elapsed, 0.0)]
    places = {}
    for role in ("n_changes", "age"):
        if (told := getattr(log, role)) is not None:
            places[role] = len(columns)
            columns.append(np.append(told, np.nan))
    model = ChangeRateEstimator(estimator, **places)  # type: ignore[arg-type]
    return model.fit(np.column_stack(columns), np.append(log.changed, 0))


def _learn(policy: RenewalIndexPolicy, log: PollLog) -> None:
    long = log.items.size > LONG
    with progress_bar(log.items.size) if long else nullcontext() as stage:
        for begin in range(0, log.items.size, LONG):
            part = slice(begin, begin + LONG)
            columns = np.column_stack([log.items[part], log.elapsed[part]])
            policy.partial_fit(columns, log.changed[part])
            if stage is not None:
                stage("learning", begin)(columns.shape[0], 0)
