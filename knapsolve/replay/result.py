"""What a replay shows: four numbers a policy, each with a bootstrap interval over items."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from knapsolve._validation import check_choice

METRICS = ("polls", "detected", "detected_share", "freshness")
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
    item_fresh : ndarray of shape (n_items,)
        Share of the stretch during which the item's copy was current.
    polls, detections : ndarray of shape (n_records,)
        Detections so far after so many polls.
    """

    name: str
    item_polls: np.ndarray
    item_detections: np.ndarray
    item_fresh: np.ndarray
    polls: np.ndarray
    detections: np.ndarray


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """Policies compared on the same test stretch of a change log, at the same number of polls.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        The items, in order of first appearance in the log.
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
        metric : {"polls", "detected", "detected_share", "freshness"}
            Polls made; polls that found a change; their share of all recorded changes; mean over items of the
            share of time that the item's copy was current.

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
        metric : {"polls", "detected", "detected_share", "freshness"}
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
        rows = []
        for name in self.runs:
            row: dict[str, Any] = {"policy": name}
            for metric in METRICS:
                value, low, high = self.estimate(name, metric)
                row |= {metric: value, f"{metric}_low": low, f"{metric}_high": high}
            rows.append(row)
        return rows

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

    def __str__(self) -> str:
        width = max([6, *map(len, self.runs)])
        heads = ("policy".ljust(width), "polls", "changes detected", "detected share", "freshness")
        lines = ["{} {:>24} {:>24} {:>20} {:>23}".format(*heads)]
        for name in self.runs:
            cells = (format_estimate(self.estimate(name, metric), metric) for metric in METRICS)
            lines.append("{} {:>24} {:>24} {:>20} {:>23}".format(name.ljust(width), *cells))
        return "\n".join(lines)

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
            with np.errstate(
                invalid="ignore"
            ):  # nan for a resample without any change: left out of the interval
                return self._sums(run.item_detections) / self._sums(self.n_changes)
        column = {"polls": run.item_polls, "detected": run.item_detections, "freshness": run.item_fresh}[
            metric
        ]
        n_resampled = self._sums(np.ones(self.items.size))  # not quite n_items where blocks differ in size
        return self._sums(column) * ((1 if metric == "freshness" else self.items.size) / n_resampled)


def format_estimate(estimate: Estimate, metric: str) -> str:
    """`value [low, high]` as text: whole numbers for counts, three or four decimals for shares."""
    if metric in ("polls", "detected"):
        return "{:,.0f} [{:,.0f}, {:,.0f}]".format(*estimate)
    digits = 4 if metric == "freshness" else 3
    return "{0:.{3}f} [{1:.{3}f}, {2:.{3}f}]".format(*estimate, digits)


def _summarise(values: np.ndarray) -> Estimate:
    """The sample's value and the percentile interval of its resamples."""
    tail = (100 - LEVEL) / 2
    low, high = np.nanpercentile(values[1:], [tail, 100 - tail])
    return Estimate(float(values[0]), float(low), float(high))
