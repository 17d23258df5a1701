"""Poll logs out of CSV and Parquet files and standard input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from knapsolve._identifiers import factorize
from knapsolve.cli.columns import read_columns
from knapsolve.cli.output import counted, warn
from knapsolve.cli.source import Source
from knapsolve.cli.values import (
    Times,
    as_flags,
    as_times,
    check_numbers,
    check_order,
    refuse_rows,
    refuse_times,
)


@dataclass
class PollLog:
    """A poll log as read, in time order.

    Of each item: its name, number of polls, time of the last one, weight and host (-1: none), (n_items,).
    Of each poll but every item's first: item (n,), time since its previous poll (n,), whether it had changed (n,), and
    where the source tells, the number of changes and the time since the last one (n,), NaN where it does not.
    """

    names: np.ndarray
    polls: np.ndarray
    last: np.ndarray
    unit: str
    dates: bool
    items: np.ndarray
    elapsed: np.ndarray
    changed: np.ndarray
    span: float  # from the first poll to the last
    pace: float  # polls per unit of time
    n_changes: np.ndarray | None = None
    age: np.ndarray | None = None
    weights: np.ndarray | None = None
    hosts: np.ndarray | None = None
    host_names: list[str] = field(default_factory=list)


def read_polls(source: str, columns: dict[str, str | None], unit: str | None, sort: bool) -> PollLog:
    """Read a poll log; ValueError or OSError in words if that cannot be done.

    `columns` maps item, time and changed, and n_changes, age, weight and host to the columns' names; None for the
    latter: if they are there; for time: that or timestamp.
    """
    wanted = {_option(role): column or role for role, column in columns.items()}
    optional = [_option(role) for role, column in columns.items() if column is None and role != "time"]
    others = {} if columns["time"] else {"--time-column": "timestamp"}
    name, found = read_columns(source, wanted, optional=optional, others=others)
    read = as_times(name, found["--time-column"], unit)
    times = read.values
    codes, names = factorize(found["--item-column"])
    refuse_rows(name, codes < 0, "has no item")
    refuse_times(name, times)
    changed = _as_changed(name, found["--changed-column"])
    if sort:
        order = np.lexsort((times, codes))
    else:
        order = check_order(name, codes, names, times, found["--time-column"])
    told = {role: _told(name, found[_option(role)], role) for role in ("n_changes", "age") if _option(role) in found}
    if "n_changes" in told:
        known = ~np.isnan(told["n_changes"])
        refuse_rows(name, known & ((told["n_changes"] > 0) != (changed > 0)), "has n_changes that contradicts changed")
    log = _derive(name, codes, read, changed, told, names, order)
    last_row = np.zeros(names.size, dtype=np.intp)
    last_row[codes] = np.arange(codes.size)  # of repeated indices the last one stays
    contrary = {}
    if "--weight-column" in found:
        weights = _weights(name, found["--weight-column"])
        log.weights = weights[last_row]
        contrary["weight"] = weights != log.weights[codes]
    if "--host-column" in found:
        hosts, host_names = factorize(found["--host-column"])
        log.hosts, log.host_names = hosts[last_row], [str(each) for each in host_names]
        contrary["host"] = hosts != log.hosts[codes]
    _warn_of_contradictions(name, codes, contrary)
    return log


def _warn_of_contradictions(name: Source, codes: np.ndarray, contrary: dict[str, np.ndarray]) -> None:
    """Say how many items have rows that differ from their last one: `contrary` (n,) by what differs."""
    differing = [what for what, rows in contrary.items() if rows.any()]
    if differing:
        items = counted(np.unique(codes[np.logical_or.reduce(list(contrary.values()))]).size, "item")
        warn(
            f"the rows of {items} of {name} disagree on {' and '.join(differing)}: "
            "an item's last row in the file counts"
        )


def hosts_of_urls(names: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Host of each item (n_items,), and the hosts; ValueError if an item is no URL."""
    import pyarrow
    import pyarrow.compute as pc

    texts = pyarrow.array([str(each) for each in names.tolist()])
    parts = pc.extract_regex(texts, pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?(?P<host>[^/?#]+)")
    strange = np.asarray(pc.is_null(parts))
    if strange.any():
        first = str(names[int(np.argmax(strange))])
        raise ValueError(f"--host-cap needs a column of hosts (--host-column), or items that are URLs; got {first!r}")
    codes, found = factorize(pc.utf8_lower(pc.struct_field(parts, "host")))
    return codes, [str(each) for each in found]


def _derive(
    name: Source,
    codes: np.ndarray,
    times: Times,
    changed: np.ndarray,
    told: dict[str, np.ndarray],
    names: np.ndarray,
    order: np.ndarray,
) -> PollLog:
    """Times since each item's previous poll, from rows and their order by item and time.

    Polls of one item at one time are one poll.
    """
    item, when, hit = codes[order], times.values[order], changed[order]
    told = {role: values[order] for role, values in told.items()}
    first = np.ones(item.size, dtype=bool)
    first[1:] = np.diff(item) != 0
    fresh = first.copy()
    fresh[1:] |= np.diff(when) > 0
    if not fresh.all():
        again = int((~fresh).sum())
        contrary = np.flatnonzero(~fresh[1:] & (hit[1:] != hit[:-1]))
        if contrary.size:
            before, after = map(int, order[contrary[0] : contrary[0] + 2])
            raise ValueError(
                f"{name}, {name.row(after)}: changed is {changed[after]} for item {str(names[codes[after]])!r}, "
                f"but {changed[before]} at the same time in {name.row(before)}: "
                "keep one row for each item and time, with changed 1 if any of its rows has it"
            )
        warn(
            f"{again:,} of {item.size:,} rows of {name} have item and time of another row: such rows count as one poll"
        )
        starts = np.flatnonzero(fresh)
        hit = np.maximum.reduceat(hit, starts)
        together = {"n_changes": np.add, "age": np.fmin}
        told = {role: together[role].reduceat(values, starts) for role, values in told.items()}
        item, when, first, order = item[starts], when[starts], first[starts], order[starts]
    gaps = np.diff(when, prepend=when[0])
    polls = np.bincount(item, minlength=names.size)
    last = when[np.cumsum(polls) - 1]
    later = np.flatnonzero(~first)
    if later.size == 0:
        raise ValueError(f"{name} must poll some item more than once: a first poll alone says nothing")
    later = _in_time(later, when[later], order[later], codes.size)
    span = float(when.max() - when.min())
    pace = later.size / span
    n_changes, age = (told[role][later] if role in told else None for role in ("n_changes", "age"))
    columns = item[later], gaps[later], hit[later]
    return PollLog(names, polls, last, times.unit, times.dates, *columns, span, pace, n_changes, age)


def _in_time(which: np.ndarray, when: np.ndarray, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Positions `which` in order of time, given their times and rows; rows are mostly in that order already."""
    place = np.full(n_rows, -1)
    place[rows] = np.arange(rows.size)
    as_read = place[place >= 0]
    if (np.diff(when[as_read]) >= 0).all():
        return which[as_read]
    return which[np.argsort(when, kind="stable")]


def _option(role: str) -> str:
    return f"--{role.replace('_', '-')}-column"


def _as_changed(name: Source, raw: Any) -> np.ndarray:
    """Whether each poll found a change (n,) int8, from 0 and 1, true and false, yes and no."""
    numbers = as_flags(raw)
    if numbers is None:
        numbers = np.full(len(raw), np.nan)
    bad = ~((numbers == 0) | (numbers == 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name}, {name.row(row)}: changed must be 0 or 1 (or true, false), got {raw[row].as_py()!r}")
    return numbers.astype(np.int8)


def _told(name: Source, raw: Any, role: str) -> np.ndarray:
    """Numbers (n,) of at least 0, NaN where nothing is known; whole for counts."""
    numbers = check_numbers(name, raw, role)
    refuse_rows(name, (numbers < 0) | np.isinf(numbers), f"has {role} that is negative or infinite")
    if role == "n_changes":
        refuse_rows(name, np.floor(numbers) < numbers, "has n_changes that is not whole")
    return numbers


def _weights(name: Source, raw: Any) -> np.ndarray:
    numbers = check_numbers(name, raw, "weight")
    refuse_rows(name, ~(np.isfinite(numbers) & (numbers >= 0)), "has no finite, non-negative weight")
    return numbers
