"""What a replay shows: six numbers a policy, each with a bootstrap interval over items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from knapsolve._validation import check_choice
from knapsolve.replay.digits import format_estimates

METRICS = ("polls", "detected", "detected_share", "freshness", "harmonic_penalty", "mean_age")
COUNTS = ("polls", "detected")
COLUMNS = {
    "polls": "item_polls",
    "detected": "item_detections",
    "freshness": "item_fresh",
    "harmonic_penalty": "item_penalty",
    "mean_age": "item_age",
}
MOST_BLOCKS = 5_000  # more items than that are resampled in random groups
LEVEL = 95  # per cent


class Estimate(NamedTuple):
    """A number and its 95% bootstrap interval over items."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PolicyReplay:
    """One policy's polls of the test stretch.

    Attributes
    ----------
    name : str
        What the policy is called.
    item_polls, item_detections : ndarray of shape (n_items,)
        Polls of each item, and those that found a change; means where there were several runs.
    item_carried : ndarray of shape (n_items,)
        Detections of a change that came before the split.
    item_fresh : ndarray of shape (n_items,)
        Share of the stretch during which the item's copy was current.
    item_penalty : ndarray of shape (n_items,)
        Mean over time of 1 + 1/2 + ... + 1/N, with N the changes since the item's last poll.
    item_age : ndarray of shape (n_items,)
        Mean over time of the time since the first change after the item's last poll (0 if there is none).
    polls, detections : ndarray of shape (n_records,)
        Detections so far after so many polls.
    """

    name: str
    item_polls: np.ndarray
    item_detections: np.ndarray
    item_carried: np.ndarray
    item_fresh: np.ndarray
    item_penalty: np.ndarray
    item_age: np.ndarray
    polls: np.ndarray
    detections: np.ndarray


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """Policies compared on the same test stretch of a change log, at the same number of polls.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        The items, in sorted order; in order of first appearance where they have none (mixed types).
    n_changes : ndarray of shape (n_items,), intp
        Recorded changes of each item in the test stretch.
    start, split, stop : float
        Training goes from `start` to `split` (None: no training), the test from there to `stop`.
    capacity : float
        Polls per unit of time.
    runs : dict of str to PolicyReplay
        The policies.
    n_bootstrap, seed : int
        Number of resamples of the items, and their seed.
    """

    items: np.ndarray
    n_changes: np.ndarray
    start: float
    split: float | None
    stop: float
    capacity: float
    runs: dict[str, PolicyReplay] = field(default_factory=dict)
    n_bootstrap: int = 2000
    seed: int = 0

    def estimate(self, policy: str, metric: str) -> Estimate:
        """One number of the table.

        Parameters
        ----------
        policy : str
            A key of `runs`.
        metric : {"polls", "detected", "detected_share", "freshness", "harmonic_penalty", "mean_age"}
            Polls made; polls that found a change; their share of all recorded changes; means over items of the
            share of time that the item's copy was current, of its harmonic penalty, and of its age.

        Returns
        -------
        estimate : Estimate
            Value and 95% interval from resampling the items; totals are of as many items as there are.

        Raises
        ------
        ValueError
            If there is no such policy or metric.

        References
        ----------
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentile interval).
        """
        return _summarise(self._resampled(policy, metric))

    def difference(self, policy: str, other: str, metric: str) -> Estimate:
        """How much more one policy has than another, both on the same resampled items.

        Parameters
        ----------
        policy, other : str
            Keys of `runs`.
        metric : {"polls", "detected", "detected_share", "freshness", "harmonic_penalty", "mean_age"}
            What to compare.

        Returns
        -------
        estimate : Estimate
            Value of `policy` less that of `other`, with its 95% interval: sharper than the two
            intervals apart.

        Raises
        ------
        ValueError
            If there is no such policy or metric.

        References
        ----------
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentile interval).
        """
        return _summarise(self._resampled(policy, metric) - self._resampled(other, metric))

    def table(self) -> list[dict[str, Any]]:
        """All numbers.

        Returns
        -------
        rows : list of dict
            One row a policy: its name, and each metric with ``_low`` and ``_high`` ends of its interval.
        """
        return [{"policy": name} | _cells(self.estimate, name) for name in self.runs]

    def differences(self, baseline: str) -> list[dict[str, Any]]:
        """All policies less one of them, in every metric but the number of polls.

        Parameters
        ----------
        baseline : str
            A key of `runs`.

        Returns
        -------
        rows : list of dict
            One row for each other policy, as in `table`: `difference` with its paired interval.

        Raises
        ------
        ValueError
            If there is no such policy.
        """
        check_choice("baseline", baseline, self.runs)

        def less(name: str, metric: str) -> Estimate:
            return self.difference(name, baseline, metric)

        return [{"policy": name} | _cells(less, name, METRICS[1:]) for name in self.runs if name != baseline]

    def plot(self, ax: Any = None) -> Any:
        """Draw the comparison.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : ReplayDisplay
            The display, which keeps the artists.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed (``pip install knapsolve[plot]``).
        """
        from knapsolve.displays import ReplayDisplay

        return ReplayDisplay.from_result(self, ax=ax)

    def __repr__(self) -> str:
        return str(self)  # not thousands of items

    def __str__(self) -> str:
        heads = ["policy", *(metric.replace("_", " ") for metric in METRICS)]
        columns = [format_estimates([self.estimate(name, metric) for name in self.runs], metric) for metric in METRICS]
        rows = list(zip(self.runs, *columns))
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))])
            for row in [heads, *rows]
        ]
        since = self.start if self.split is None else self.split
        trained = "" if self.split is None else f"; learners trained from {self.start:.15g}"
        counted = f"{self.items.size:,} items, {self.n_changes.sum():,} changes"
        return "\n".join([*lines, f"{counted} counted from {since:.15g} to {self.stop:.15g}{trained}"])

    @cached_property
    def _resamples(self) -> np.ndarray:
        """How often each resample holds each block of items, (n_bootstrap + 1, n_blocks); row 0: once."""
        n_blocks = min(self.items.size, MOST_BLOCKS)
        generator = np.random.default_rng(self.seed)
        counts = np.ones((self.n_bootstrap + 1, n_blocks), dtype=np.float32)
        for row in counts[1:]:
            row[:] = np.bincount(generator.integers(n_blocks, size=n_blocks), minlength=n_blocks)
        return counts

    def _sums(self, per_item: np.ndarray) -> np.ndarray:
        """Sum of a number per item over each resample, (n_bootstrap + 1,)."""
        n_blocks = self._resamples.shape[1]
        if per_item.size > n_blocks:
            block = np.random.default_rng(self.seed).permutation(per_item.size) % n_blocks
            per_item = np.bincount(block, weights=per_item, minlength=n_blocks)
        return np.array([row @ per_item for row in self._resamples])

    def _resampled(self, policy: str, metric: str) -> np.ndarray:
        """A metric's value over all items, then over each resample, (n_bootstrap + 1,)."""
        run = self.runs[check_choice("policy", policy, self.runs)]
        check_choice("metric", metric, METRICS)
        if metric == "detected_share":
            changes = self._sums(self.n_changes)
            changes[changes == 0] = np.nan  # a resample without any change is left out of the interval
            return self._sums(run.item_detections) / changes
        n_resampled = self._sums(np.ones(self.items.size))  # not quite n_items where blocks differ in size
        total = self._sums(getattr(run, COLUMNS[metric]))
        return total * ((self.items.size if metric in COUNTS else 1) / n_resampled)


def _cells(estimate: Callable[[str, str], Estimate], name: str, metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Each metric of a policy, and the ends of its interval."""
    cells: dict[str, float] = {}
    for metric in metrics:
        value, low, high = estimate(name, metric)
        cells |= {metric: value, f"{metric}_low": low, f"{metric}_high": high}
    return cells


def _summarise(values: np.ndarray) -> Estimate:
    """The sample's value and the percentile interval of its resamples."""
    tail = (100 - LEVEL) / 2
    low, high = np.nanpercentile(values[1:], [tail, 100 - tail])
    return Estimate(float(values[0]), float(low), float(high))
