"""A change log in any of the forms that a user may have it in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from knapsolve._frames import column_names, is_frame
from knapsolve._validation import check_real
from knapsolve.environments import TraceEnvironment
from knapsolve.environments.trace import epoch_seconds

FORMS = "(items, times), rows of an item and a time, a data frame or a TraceEnvironment"
Time = float | str | date | np.datetime64
NO = ("0", "0.0", "false", "no", "f", "n")
OF_POLLS = (
    "is a log of polls, some with changed = 0; replay needs a row a change. "
    "Take the rows with changed = 1, or use knapsolve allocate"
)
HALF = "50%"  # of a stretch: as much to learn in as to show it


class Unsaid(str):
    """A default that is told from the same text given: a log that has a split of its own keeps it."""


HALF_UNLESS_SAID = Unsaid(HALF)


def as_trace(log: Any, start: Time | None, stop: Time | None) -> TraceEnvironment:
    """The log with its items in sorted order, so that nothing depends on the order of its rows."""
    start, stop = as_time("start", start), as_time("stop", stop)
    if isinstance(log, TraceEnvironment):
        return _sorted(log.between(log.start if start is None else start, log.stop if stop is None else stop))
    _refuse_polls(log)
    items, times = _columns(log) if is_frame(log) else _pairs(log)
    return _sorted(TraceEnvironment(items, as_moments(times), start, stop))


def as_split(log: Any, split: Time | None, whole: TraceEnvironment) -> float | None:
    """Where counting begins: what `split` says, None being the start.

    A TraceEnvironment that counts from a moment inside keeps it where `split` is Unsaid.
    """
    own = log.count_from if isinstance(split, Unsaid) and isinstance(log, TraceEnvironment) else None
    if own is not None and max(log.start, whole.start) < own < whole.stop:
        return own
    share = as_share(split)
    since = as_time("split", split) if share is None else whole.start + share * (whole.stop - whole.start)
    if since is not None and not whole.start < since < whole.stop:
        raise ValueError(
            f"split must lie between start={whole.start:.15g} and stop={whole.stop:.15g}, got "
            + (f"{since:.15g}" if share is None else repr(split))
        )
    return since


def as_share(value: Any) -> float | None:
    """The share that a text such as 50% says, NaN if its number is none; None of all else."""
    if not (isinstance(value, str) and re.fullmatch(r"\s*[\d.]+\s*%\s*", value)):
        return None
    try:
        return float(value.strip()[:-1]) / 100
    except ValueError:
        return math.nan


def as_time(name: str, value: Time | None) -> float | None:
    """A moment in the log's unit; dates, ISO strings among them, count in seconds since 1970 as those of a log do."""
    if value is None:
        return None
    if isinstance(value, np.datetime64):
        return check_real(name, (value - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if isinstance(value, date):
        value = value.isoformat()
    if not isinstance(value, str):
        return check_real(name, value)
    try:
        return iso_seconds(value)
    except ValueError:
        raise ValueError(f"{name} must be a number or an ISO date such as 2021-07-01, got {value!r}") from None


def as_moments(times: Any) -> Any:
    """Dates, as text too, as seconds since 1970; anything else as it is, numbers that are text among it."""
    column = np.asarray(times)
    if column.dtype.kind == "M":
        return epoch_seconds(column)
    if column.dtype.kind not in "OUT" or not any(isinstance(each, str | date) for each in column.ravel()[:1]):
        return column
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        pass
    texts = column.tolist()
    numbers = [_is_number(each) for each in texts]
    if any(numbers) and not all(numbers):
        row = numbers.index(False)
        as_time(f"times[{row}]", texts[row])
        raise ValueError(f"times must be numbers or dates throughout, got {texts[row]!r} at position {row}")
    return np.array([as_time(f"times[{row}]", each) for row, each in enumerate(texts)], dtype=float)


def _is_number(value: Any) -> bool:
    try:
        return not math.isnan(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def iso_seconds(text: str) -> float:
    """Seconds since 1970 of an ISO date; UTC unless it says otherwise."""
    moment = datetime.fromisoformat(text.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _sorted(trace: TraceEnvironment) -> TraceEnvironment:
    """Items that have no order stay as they first appear."""
    try:
        order = np.argsort(trace.materials, kind="stable")
    except TypeError:
        return trace
    rows = np.argsort(np.argsort(order)[trace.items], kind="stable")
    items = trace.materials[trace.items[rows]]
    return TraceEnvironment(items, trace.times[rows], trace.start, trace.stop)


def _refuse_polls(log: Any) -> None:
    """A column `changed` that holds a 0 makes a table one of polls, not of changes."""
    if "changed" not in (column_names(log) if is_frame(log) else log if isinstance(log, Mapping) else ()):
        return
    column = np.asarray(log["changed"])
    if column.dtype.kind in "biuf":
        quiet = bool((column == 0).any())
    else:
        quiet = any(str(each).strip().lower() in NO for each in column.ravel().tolist())
    if quiet:
        raise ValueError(f"log {OF_POLLS}")


def _pairs(log: Any) -> tuple[Any, Any]:
    """Items and times, of two columns or of rows; two rows alone are rows as a list of tuples only."""
    try:
        parts = log.tolist() if isinstance(log, np.ndarray) and len(log) != 2 else list(log)
    except TypeError as error:
        raise TypeError(f"log must be {FORMS}, got {type(log).__name__}") from error
    rows = isinstance(log, list) and all(isinstance(part, tuple) and len(part) == 2 for part in parts)
    if len(parts) == 2 and not rows:
        return parts[0], parts[1]
    for place, row in enumerate(parts):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise TypeError(f"log must be {FORMS}, got {type(row).__name__} in row {place}")
        if len(row) != 2:
            raise ValueError(f"log must hold an item and a time in each row, got {len(row)} values in row {place}")
    return [row[0] for row in parts], [row[1] for row in parts]


def _columns(frame: Any) -> tuple[Any, Any]:
    """Items and times of a data frame."""
    names = column_names(frame)
    times = [name for name in ("time", "timestamp") if name in names]
    if "item" not in names or len(times) != 1:
        raise TypeError(f"log must have columns 'item' and 'time' (or 'timestamp'), it has {names}")
    return frame["item"], frame[times[0]]
