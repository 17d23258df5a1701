"""Recorded change times, polled as if live."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.environments import Trace
from knapsolve._identifiers import identify
from knapsolve._validation import check_after, check_real, check_same_length, check_vector, shown

SECONDS = {  # of a unit, as a ratio of whole numbers
    "W": (604_800, 1), "D": (86_400, 1), "h": (3_600, 1), "m": (60, 1), "s": (1, 1),
    "ms": (1, 10**3), "us": (1, 10**6), "ns": (1, 10**9), "ps": (1, 10**12), "fs": (1, 10**15), "as": (1, 10**18),
}  # fmt: skip


LATEST = 1e140  # times: ages are integrated over time, so that squares of times must be numbers


class TraceEnvironment:
    """Recorded changes of real items: a poll finds a change if one was recorded since the item's last poll.

    Parameters
    ----------
    items : array-like of shape (n_changes,)
        Which item changed.
    times : array-like of shape (n_changes,)
        When, in any unit, ascending within each item, from -1e140 to 1e140. ``datetime64`` values count in seconds
        since 1970.
    start, stop : float, optional
        The stretch of time to poll in; by default from the first to the last change. All copies are current
        at `start`; changes outside ``(start, stop]`` do not count, but their items are polled nevertheless.
    count_from : float, optional
        Polls, detections and what copies are like count from here on; from `start` by default. What earlier
        polls have left is not lost: a copy may be out of date here, and the next poll of it find a change.

    Attributes
    ----------
    materials : ndarray of shape (n_materials,)
        The items, in order of first appearance.
    n_materials : int
        Their number.
    n_changes : ndarray of shape (n_materials,), intp
        Number of recorded changes in ``(count_from, stop]`` of each item.

    Raises
    ------
    ValueError, TypeError
        If the columns do not match, a time is not in [-1e140, 1e140] or runs backwards within an item, there are fewer
        than two items, `stop` is not after `start`, or `count_from` not between them.

    References
    ----------
    Pandey, Ramamritham and Chakrabarti, "Monitoring the dynamic web to respond to continuous queries", WWW
    2003.

    Examples
    --------
    >>> from knapsolve.environments import TraceEnvironment
    >>> trace = TraceEnvironment(["a", "a", "b"], [1., 2., 5.], start=0)
    >>> trace.materials.tolist(), trace.n_changes.tolist(), trace.stop
    (['a', 'b'], [2, 1], 5.0)
    """

    def __init__(
        self,
        items: Any,
        times: Any,
        start: float | None = None,
        stop: float | None = None,
        count_from: float | None = None,
    ):
        times = np.asarray(times)
        if times.dtype.kind == "M":
            times = epoch_seconds(times)
        self.times = check_vector("times", times, low=-LATEST, high=LATEST)
        codes, self.materials = identify(items, "items")
        check_same_length(items=codes, times=self.times)
        if self.materials.size < 2:
            raise ValueError(f"items must hold at least 2 different items, got {self.materials.size}")
        order = np.argsort(codes, kind="stable")
        self.items, self.times = codes[order], self.times[order]
        backwards = (np.diff(self.times) < 0) & (np.diff(self.items) == 0)
        if backwards.any():
            where = int(np.argmax(backwards)) + 1
            raise ValueError(
                f"times must ascend within each item, got {self.times[where]:.15g} at position {order[where]} after "
                f"{self.times[where - 1]:.15g} for {shown(self.materials.tolist()[self.items[where]])}"
            )
        self.start = check_real("start", self.times.min() if start is None else start, low=-LATEST, high=LATEST)
        stop = check_real("stop", self.times.max() if stop is None else stop, low=-LATEST, high=LATEST)
        self.stop = check_after(self.start, stop)
        since = self.start if count_from is None else check_real("count_from", count_from)
        if not self.start <= since < self.stop:
            raise ValueError(
                f"count_from must lie between start={self.start:.15g} and stop={self.stop:.15g}, got {since:.15g}"
            )
        self.count_from = since
        inside = (self.times > since) & (self.times <= self.stop)
        self.n_changes = np.bincount(self.items[inside], minlength=self.materials.size)

    @property
    def n_materials(self) -> int:
        """Number of items."""
        return self.materials.size

    def between(self, start: float, stop: float) -> TraceEnvironment:
        """The same recording, polled from `start` to `stop`, and counted from there.

        Parameters
        ----------
        start, stop : float
            The stretch of time, in the trace's unit.

        Returns
        -------
        trace : TraceEnvironment
            A new environment.

        Raises
        ------
        ValueError
            If `stop` is not after `start`.
        """
        return TraceEnvironment(self.materials[self.items], self.times, start, stop)

    def _core(self) -> Trace:
        first = np.searchsorted(self.items, np.arange(self.n_materials + 1)).astype(np.int64)
        return Trace(first, self.times, self.start, self.count_from)

    def __repr__(self) -> str:
        changes = int(self.n_changes.sum())
        held = f"<{self.n_materials} items, {changes} changes>"
        return f"TraceEnvironment({held}, start={self.start:g}, stop={self.stop:g})"


def epoch_seconds(dates: np.ndarray) -> np.ndarray:
    """Seconds since 1970 of ``datetime64`` values in any unit, without passing through a finer one."""
    if np.isnat(dates).any():
        raise ValueError(f"times must not be missing, got NaT at position {int(np.argmax(np.isnat(dates)))}")
    unit, count = np.datetime_data(dates.dtype)
    if unit in ("Y", "M"):  # of uneven lengths
        days = dates.astype("datetime64[D]")
        if (days.astype(dates.dtype) != dates).any():
            raise ValueError(f"times must be dates that fit in 64 bits as days, got dtype {dates.dtype}")
        dates, unit, count = days, "D", 1
    if unit not in SECONDS:
        raise ValueError(f"times must be dates in a unit such as 's' or 'ns', got dtype {dates.dtype}")
    return dates.astype(np.int64).astype(float) * count / SECONDS[unit][1] * SECONDS[unit][0]
