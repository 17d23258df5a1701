"""A change log in any of the forms that a user may have it in."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._frames import column_names, is_frame
from knapsolve.environments import TraceEnvironment


def as_trace(log: Any, start: float | None, stop: float | None) -> TraceEnvironment:
    """The log with its items in sorted order, so that nothing depends on the order of its rows."""
    if isinstance(log, TraceEnvironment):
        return _sorted(log.between(log.start if start is None else start, log.stop if stop is None else stop))
    if is_frame(log):
        items, times = _columns(log)
    else:
        try:
            items, times = log
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"log must be (items, times), a data frame or a TraceEnvironment, got {type(log).__name__}"
            ) from error
    return _sorted(TraceEnvironment(items, times, start, stop))


def _sorted(trace: TraceEnvironment) -> TraceEnvironment:
    """Items that have no order stay as they first appear."""
    try:
        order = np.argsort(trace.materials, kind="stable")
    except TypeError:
        return trace
    rows = np.argsort(np.argsort(order)[trace.items], kind="stable")
    items = trace.materials[trace.items[rows]]
    return TraceEnvironment(items, trace.times[rows], trace.start, trace.stop)


def _columns(frame: Any) -> tuple[Any, Any]:
    """Items and times of a data frame."""
    names = column_names(frame)
    times = [name for name in ("time", "timestamp") if name in names]
    if "item" not in names or len(times) != 1:
        raise TypeError(f"log must have columns 'item' and 'time' (or 'timestamp'), it has {names}")
    return frame["item"], frame[times[0]]
