"""Change logs out of CSV and Parquet files, standard input, and the bundled data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from knapsolve._identifiers import factorize
from knapsolve.cli.columns import read_columns
from knapsolve.cli.source import Source
from knapsolve.cli.time_doubts import warn_of_unit
from knapsolve.cli.values import (
    as_flags,
    as_times,
    check_order,
    refuse_rows,
    refuse_times,
    refuse_unit,
)
from knapsolve.replay.log import HALF, OF_POLLS, iso_seconds

BUNDLED = "debian"
DEBIAN_START = "2019-07-06"  # Debian 10: most of the changelogs are cut off at it, nothing before is complete
DEBIAN_SPLIT = "2021-07-01"  # two years to learn in, eighteen months to show it


@dataclass
class Log:
    """A change log as read: items (n,), times (n,) in `unit`s, and what of it is replayed by default.

    `dates` says whether times were dates, whose unit is in no doubt.
    """

    items: Any
    times: np.ndarray
    unit: str
    start: float
    stop: float
    split: str = HALF
    dates: bool = True


def read_log(source: str, item_column: str, time_column: str | None, unit: str | None, sort: bool) -> Log:
    """Read a change log; ValueError or OSError in words if that cannot be done."""
    if source == BUNDLED and not Path(source).exists():
        refuse_unit("the bundled data", unit)
        return _bundled()
    wanted = {"--item-column": item_column, "--time-column": time_column or "timestamp"}
    others = {} if time_column else {"--time-column": "time"}
    optional = [] if "changed" in wanted.values() else ["changed"]  # no option, but polls are known by it
    wanted |= dict.fromkeys(optional, "changed")
    hint = f" (the bundled data are called {BUNDLED!r})"
    name, columns = read_columns(source, wanted, optional=optional, others=others, hint=hint)
    items, raw = columns["--item-column"], columns["--time-column"]
    read = as_times(name, raw, unit)
    times = read.values
    codes, found = factorize(items)
    refuse_rows(name, codes < 0, "has no item")
    refuse_times(name, times)
    if "changed" in columns:
        _refuse_polls(name, columns["changed"])
    first, last = float(times.min()), float(times.max())
    if not read.dates:
        warn_of_unit(name, first, last, read.unit)
    if sort:
        import pyarrow

        order = np.argsort(times, kind="stable")
        items, times = items.take(pyarrow.array(order)), times[order]
    else:
        check_order(name, codes, found, times, raw)
    if found.size < 2:
        raise ValueError(f"{name} must hold at least 2 different items, it holds only {found[0]!s}")
    return Log(items, times, read.unit, first, last, dates=read.dates)


def _refuse_polls(name: Source, changed: Any) -> None:
    """A column `changed` that holds a 0 makes a log of polls, not of changes."""
    flags = as_flags(changed)
    if flags is not None and (flags == 0).any():
        raise ValueError(f"{name} {OF_POLLS}")


def _bundled() -> Log:
    from knapsolve.datasets.debian import COMPLETE_UNTIL, load_debian_uploads

    items, times = load_debian_uploads(stop=None)  # all packages, also those first uploaded after the test
    return Log(items, times, "second", iso_seconds(DEBIAN_START), COMPLETE_UNTIL, DEBIAN_SPLIT)
