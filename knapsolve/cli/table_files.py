"""Tables of intervals and of polls to come, saved as CSV."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from knapsolve.cli.allocation import Allocation
from knapsolve.cli.polls import PollLog
from knapsolve.replay.units import SECONDS
from knapsolve.schedulers import Timetable


def write_intervals(path: Path | BinaryIO, log: PollLog, found: Allocation, scale: float) -> None:
    """A row an item, in the log's order of first appearance; times in the unit of which the log's has `scale`.

    The interval of an item that is never polled is an empty field.
    """
    columns: dict[str, Any] = {
        "item": _text(log.names),
        "interval": found.intervals(scale),
        "rate": found.rates / scale,
        "rate_low": found.low / scale,
        "rate_high": found.high / scale,
        "freshness": found.freshness,
        "polls": log.polls,
    }
    if log.hosts is not None:
        columns["host"] = _text(np.array([*log.host_names, ""]))[log.hosts]
    _write(path, columns)


def write_schedule(path: Path, log: PollLog, table: Timetable) -> None:
    """A row a poll; times as the log has them: numbers, or dates in UTC."""
    columns: dict[str, Any] = {"time": table.times, "item": _text(log.names)[table.items]}
    if log.dates:
        ticks = np.round(table.times * (SECONDS[log.unit] * 1000)).astype(np.int64)
        columns["time"] = np.char.add(np.datetime_as_string(ticks.astype("M8[ms]")), "Z")
    if log.hosts is not None:
        columns["host"] = _text(np.array([*log.host_names, ""]))[log.hosts[table.items]]
    _write(path, columns)


def _text(names: np.ndarray) -> np.ndarray:
    """Names as objects, which a table takes as they are."""
    return names.astype(object)


def _write(path: Path | BinaryIO, columns: dict[str, Any]) -> None:
    import pyarrow
    from pyarrow import csv

    table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()})
    with path.open("wb") if isinstance(path, Path) else nullcontext(path) as file:  # pyarrow knows names in UTF-8 alone
        csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
