"""Columns as numbers, times and flags, and the checks of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve.cli.source import Source
from knapsolve.environments.trace import LATEST
from knapsolve.replay.log import NO, iso_seconds

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
YES = ("1", "1.0", "true", "yes", "t", "y")


def refuse_unit(name: object, unit: str | None) -> None:
    """Refuse a unit given for dates."""
    if unit is not None:
        raise ValueError(f"--time-unit is of times that are numbers: those of {name} are dates, got {unit!r}")


@dataclass(frozen=True)
class Times:
    """Times as numbers (n,) and their unit, and whether they were dates: then they are seconds since 1970."""

    values: np.ndarray
    unit: str
    dates: bool


def as_times(name: Source, raw: Any, unit: str | None) -> Times:
    """Times as numbers, in the unit given where they are numbers, seconds by default and for dates."""
    import pyarrow
    import pyarrow.compute as pc

    kind = raw.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind):
        refuse_unit(name, unit)
        if pyarrow.types.is_date(kind):
            raw = pc.cast(raw, pyarrow.timestamp("ms"))
        return Times(_since_1970(raw), "second", True)
    if _is_text(kind):
        refuse_rows(name, np.asarray(pc.is_null(raw)), "has no time")
    numbers = as_floats(raw)
    if numbers is not None:
        return Times(numbers, unit or "second", False)
    if not _is_text(kind):
        raise ValueError(f"{name}: the time column must hold numbers or dates, it holds {kind}")
    seconds = _dates(name, raw)
    refuse_unit(name, unit)
    return Times(seconds, "second", True)


def _since_1970(stamps: Any) -> np.ndarray:
    """Seconds of Arrow's timestamps."""
    import pyarrow
    import pyarrow.compute as pc

    ticks = pc.cast(stamps, pyarrow.int64()).cast(pyarrow.float64(), safe=False)
    return np.asarray(ticks.to_numpy()) / PER_SECOND[stamps.type.unit]


def as_floats(raw: Any) -> np.ndarray | None:
    """Numbers, or text that says numbers, as floats with NaN for what is missing; None if it is neither."""
    import pyarrow
    import pyarrow.compute as pc

    kind = raw.type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind):
        return np.asarray(raw.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=float)
    if not _is_text(kind):
        return None
    numbers = _cast(raw, pyarrow.float64())
    if numbers is None:
        numbers = _cast(pc.utf8_trim_whitespace(raw), pyarrow.float64())
    return None if numbers is None else np.asarray(numbers.to_numpy(), dtype=float)


def _cast(column: Any, kind: Any) -> Any:
    """Text as Arrow reads it, None if it cannot; the first row is tried alone, as rows that fail take long."""
    import pyarrow
    import pyarrow.compute as pc

    try:
        pc.cast(column[:1], kind)
        return pc.cast(column, kind)
    except pyarrow.ArrowInvalid:
        return None


def check_numbers(name: Source, raw: Any, what: str) -> np.ndarray:
    """The floats of a column, NaN for what is missing, or ValueError at the first row that holds no number."""
    numbers = as_floats(raw)
    if numbers is None:
        row = next(k for k in range(len(raw)) if as_floats(raw[k : k + 1]) is None)
        raise ValueError(f"{name}, {name.row(row)}: the {what} {raw[row].as_py()!r} is not a number")
    return numbers


def as_flags(raw: Any) -> np.ndarray | None:
    """1.0 for yes, 0.0 for no (n,), as numbers, truth values or words; other numbers as they are, NaN for the rest.

    None if the column can hold neither.
    """
    import pyarrow
    import pyarrow.compute as pc

    if pyarrow.types.is_boolean(raw.type):
        return np.asarray(pc.cast(raw, pyarrow.int8()).cast(pyarrow.float64()).to_numpy(), dtype=float)
    numbers = as_floats(raw)
    if numbers is None and _is_text(raw.type):
        words = pc.utf8_lower(pc.utf8_trim_whitespace(raw))
        yes, no = (pc.is_in(words, pyarrow.array(each)).to_numpy(zero_copy_only=False) for each in (YES, NO))
        numbers = np.where(yes, 1.0, np.where(no, 0.0, np.nan))
    return numbers


def _is_text(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _dates(name: Source, raw: Any) -> np.ndarray:
    """ISO dates as seconds since 1970. Arrow reads the plain forms, and the same, several times as fast."""
    import pyarrow
    import pyarrow.compute as pc

    for zone in (None, "UTC"):
        stamps = _cast(raw, pyarrow.timestamp("us", zone))
        if stamps is not None:
            return _since_1970(stamps)
    texts = pc.utf8_trim_whitespace(raw).to_pylist()
    try:
        return np.fromiter(map(iso_seconds, texts), dtype=float, count=len(texts))
    except ValueError:
        pass
    numbers = np.array([is_number(text) for text in texts])
    strange = ~numbers & ~np.array([is_date(text) for text in texts])
    row = int(np.argmax(strange if strange.any() else numbers))
    what = "neither a number nor an ISO date" if strange.any() else "a number, but others are dates"
    raise ValueError(f"{name}, {name.row(row)}: the time {texts[row]!r} is {what}")


def is_number(text: str) -> bool:
    return _is(float, text)


def is_date(text: str) -> bool:
    return _is(iso_seconds, text)


def _is(kind: Callable[[str], float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def refuse_rows(name: Source, bad: np.ndarray, what: str) -> None:
    if bad.any():
        raise ValueError(f"{name}, {name.row(int(np.argmax(bad)))} {what}")


def refuse_times(name: Source, times: np.ndarray) -> None:
    """Refuse times (n,) that are missing, infinite or farther off than a log's may be."""
    refuse_rows(name, ~np.isfinite(times), "has no finite time")
    refuse_rows(name, np.abs(times) > LATEST, f"has a time that is not in [-{LATEST:g}, {LATEST:g}]")


def order_by_item(codes: np.ndarray) -> np.ndarray:
    """Rows (n,) in order of their `codes` (n,), rows of one code as they were; several times as fast as argsort."""
    return np.sort(codes * codes.size + np.arange(codes.size)) % max(codes.size, 1)


def check_order(name: Source, codes: np.ndarray, items: np.ndarray, times: np.ndarray, raw: Any) -> np.ndarray:
    """The order by item of rows, of the items (n_items,) by their `codes` (n,); refused if an item's times descend."""
    order = order_by_item(codes)
    backwards = (np.diff(times[order]) < 0) & (np.diff(codes[order]) == 0)
    if backwards.any():
        where = int(np.argmax(backwards))
        before, after = int(order[where]), int(order[where + 1])
        raise ValueError(
            f"{name}, {name.row(after)}: times must ascend within each item, got {raw[after]} after {raw[before]} "
            f"in {name.row(before)} for item {str(items[codes[after]])!r} (--sort sorts them)"
        )
    return order
