"""Change logs out of CSV and Parquet files, standard input, and the bundled data."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from knapsolve._frames import factorize
from knapsolve.cli.units import SECONDS, iso_seconds

BUNDLED = "debian"
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
YEAR_10000 = 253_402_300_800.0  # seconds since 1970
DEBIAN_START = "2019-07-06"  # Debian 10: most of the changelogs are cut off at it, nothing before is complete
DEBIAN_SPLIT = "2021-07-01"  # two years to learn in, eighteen months to show it


@dataclass
class Log:
    """A change log as read: items (n,), times (n,) in `unit`s; and what of it is replayed by default."""

    items: Any
    times: np.ndarray
    unit: str
    start: float
    stop: float
    split: str = "50%"


def read_log(source: str, item_column: str, time_column: str, unit: str, sort: bool) -> Log:
    """Read a change log; ValueError or OSError in words if that cannot be done."""
    if source == BUNDLED and not Path(source).exists():
        return _bundled()
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reading files needs pyarrow: pip install 'knapsolve[cli]'") from error
    if source == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name, path = source, Path(source)
        if not path.exists():
            raise ValueError(f"there is no file {source!r} (the bundled data are called {BUNDLED!r})")
        with pyarrow.input_stream(path.open("rb"), compression=_compression(path)) as stream:
            data = stream.read()
    if not data.strip():
        raise ValueError(f"{name} is empty")
    read_columns = _parquet_columns if data[:4] == b"PAR1" else _csv_columns
    items, raw = read_columns(name, data, item_column, time_column)
    if len(raw) == 0:
        raise ValueError(f"{name} holds no rows")
    times, unit = _as_numbers(name, raw, unit)
    codes, found = factorize(items)
    _refuse(name, codes < 0, "has no item")
    _refuse(name, ~np.isfinite(times), "has no finite time")
    if found.size < 2:
        raise ValueError(f"{name} must hold at least 2 different items, it holds only {found[0]!s}")
    if times.max() * SECONDS[unit] >= YEAR_10000:
        _warn_of_unit(name, unit)
    if sort:
        order = np.argsort(times, kind="stable")
        items, times = items.take(pyarrow.array(order)), times[order]
    else:
        _check_order(name, codes, times, raw)
    return Log(items, times, unit, float(times.min()), float(times.max()))


def _warn_of_unit(name: str, unit: str) -> None:
    """Warn of times that would be dates after the year 9999; times that are no dates may be as large."""
    print(
        f"knapsolve: warning: as {unit}s since 1970 the times of {name} are after the year 9999: "
        "if they are finer, say so (--time-unit ms for milliseconds)",
        file=sys.stderr,
    )


def _bundled() -> Log:
    from knapsolve.datasets.debian import COMPLETE_UNTIL, load_debian_uploads

    items, times = load_debian_uploads(stop=None)  # all packages, also those first uploaded after the test
    return Log(items, times, "second", iso_seconds(DEBIAN_START), COMPLETE_UNTIL, DEBIAN_SPLIT)


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix)


def _csv_columns(name: str, data: bytes, item_column: str, time_column: str) -> tuple[Any, Any]:
    """Both columns as text."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    try:
        header = next(csv.reader(io.StringIO(data.lstrip().split(b"\n", 1)[0].decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is not a CSV file in UTF-8") from error
    wanted = [_find(name, header, column, option) for column, option in _named(item_column, time_column)]
    convert = arrow_csv.ConvertOptions(
        include_columns=wanted,
        column_types=dict.fromkeys(wanted, pyarrow.string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    try:
        source = pyarrow.BufferReader(data.lstrip())
        table = arrow_csv.read_csv(source, parse_options=parse, convert_options=convert)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{name} is malformed: {error}") from error
    return table.column(wanted[0]), table.column(wanted[1])


def _parquet_columns(name: str, data: bytes, item_column: str, time_column: str) -> tuple[Any, Any]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        header = file.schema_arrow.names
        wanted = [_find(name, header, column, option) for column, option in _named(item_column, time_column)]
        table = file.read(columns=wanted)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} is a malformed Parquet file: {error}") from error
    return table.column(wanted[0]), table.column(wanted[1])


def _named(item_column: str, time_column: str) -> tuple[tuple[str, str], tuple[str, str]]:
    if item_column == time_column:
        raise ValueError(f"--item-column and --time-column must differ, got {item_column!r} for both")
    return (item_column, "--item-column"), (time_column, "--time-column")


def _find(name: str, header: list[str], column: str, option: str) -> str:
    if header.count(column) == 1:
        return column
    trouble = "no" if column not in header else "more than one"
    columns = ", ".join(map(repr, header))
    hint = ""
    if any(";" in each or "\t" in each or _is(float, each) or _is(iso_seconds, each) for each in header):
        hint = "; the first line must be a header, and commas must separate the columns"
    raise ValueError(
        f"{name} has {trouble} column {column!r} (it has {columns}): say which by {option}{hint}"
    )


def _as_numbers(name: str, raw: Any, unit: str) -> tuple[np.ndarray, str]:
    """Times as numbers, and their unit: that given where they are numbers, seconds where they are dates."""
    import pyarrow
    import pyarrow.compute as pc

    kind = raw.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind):
        if pyarrow.types.is_date(kind):
            raw = pc.cast(raw, pyarrow.timestamp("ms"))
        ticks = pc.cast(raw, pyarrow.int64()).cast(pyarrow.float64(), safe=False)
        return np.asarray(ticks.to_numpy()) / PER_SECOND[raw.type.unit], "second"
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind):
        return np.asarray(raw.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=float), unit
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise ValueError(f"{name}: the time column must hold numbers or dates, it holds {kind}")
    _refuse(name, np.asarray(pc.is_null(raw)), "has no time")
    trimmed = pc.utf8_trim_whitespace(raw)
    try:
        return np.asarray(pc.cast(trimmed, pyarrow.float64()).to_numpy()), unit
    except pyarrow.ArrowInvalid:
        return _dates(name, trimmed.to_pylist()), "second"


def _dates(name: str, texts: list[str]) -> np.ndarray:
    """ISO dates as seconds since 1970."""
    try:
        return np.fromiter(map(iso_seconds, texts), dtype=float, count=len(texts))
    except ValueError:
        pass
    numbers = np.array([_is(float, text) for text in texts])
    strange = ~numbers & ~np.array([_is(iso_seconds, text) for text in texts])
    row = int(np.argmax(strange if strange.any() else numbers))
    what = "neither a number nor an ISO date" if strange.any() else "a number, but others are dates"
    raise ValueError(f"{name}, row {row + 1}: the time {texts[row]!r} is {what}")


def _is(kind: Callable[[str], float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _refuse(name: str, bad: np.ndarray, what: str) -> None:
    if bad.any():
        raise ValueError(f"{name}, row {int(np.argmax(bad)) + 1} {what}")


def _check_order(name: str, codes: np.ndarray, times: np.ndarray, raw: Any) -> None:
    order = np.argsort(codes, kind="stable")
    backwards = (np.diff(times[order]) < 0) & (np.diff(codes[order]) == 0)
    if backwards.any():
        where = int(np.argmax(backwards))
        before, after = int(order[where]), int(order[where + 1])
        raise ValueError(
            f"{name}, row {after + 1}: times must ascend within each item, "
            f"got {raw[after]} after {raw[before]} in row {before + 1} (--sort sorts them)"
        )
