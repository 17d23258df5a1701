"""Change logs and other columns out of CSV and Parquet files, standard input, and the bundled data."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from knapsolve._identifiers import factorize
from knapsolve.cli.source import Source, malformation, name_of, refuse_open_quote, set_aside, unpacked
from knapsolve.environments.trace import LATEST
from knapsolve.replay.log import HALF, NO, OF_POLLS, iso_seconds
from knapsolve.replay.units import SECONDS

BUNDLED = "debian"
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
YES = ("1", "1.0", "true", "yes", "t", "y")
SMALL = 2**20  # bytes, that are read without threads: a process that ends as they start may abort
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
    split: str = HALF


def read_log(source: str, item_column: str, time_column: str, unit: str | None, sort: bool) -> Log:
    """Read a change log; ValueError or OSError in words if that cannot be done."""
    if source == BUNDLED and not Path(source).exists():
        refuse_unit("the bundled data", unit)
        return _bundled()
    wanted = {"--item-column": item_column, "--time-column": time_column}
    optional = [] if "changed" in wanted.values() else ["--changed-column"]
    wanted |= dict.fromkeys(optional, "changed")
    name, columns = read_columns(source, wanted, optional=optional, hint=f" (the bundled data are called {BUNDLED!r})")
    items, raw = columns["--item-column"], columns["--time-column"]
    times, read_unit = as_times(name, raw, unit)
    codes, found = factorize(items)
    refuse_rows(name, codes < 0, "has no item")
    refuse_times(name, times)
    if "--changed-column" in columns:
        _refuse_polls(name, columns["--changed-column"])
    warn_of_unit(name, times, read_unit)
    if sort:
        import pyarrow

        order = np.argsort(times, kind="stable")
        items, times = items.take(pyarrow.array(order)), times[order]
    else:
        check_order(name, codes, found, times, raw)
    if found.size < 2:
        raise ValueError(f"{name} must hold at least 2 different items, it holds only {found[0]!s}")
    return Log(items, times, read_unit, float(times.min()), float(times.max()))


def read_columns(
    source: str, wanted: dict[str, str], *, optional: Collection[str] = (), hint: str = ""
) -> tuple[Source, dict[str, Any]]:
    """The source, and its columns `wanted`, by the options that say which, as pyarrow has them.

    The columns of the options `optional` may be missing.
    """
    for (option, column), (other, same) in combinations(wanted.items(), 2):
        if column == same:
            raise ValueError(f"{option} and {other} must differ, got {column!r} for both")
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reading files needs pyarrow: pip install 'knapsolve[cli]'") from error
    name = name_of(source)
    if source == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        data = unpacked(name, sys.stdin.buffer.read())
    else:
        if not Path(source).exists():
            raise ValueError(f"there is no file {source!r}{hint}")
        data = _contents(Path(source))
    if not data.strip():
        raise ValueError(f"{name} is empty")
    read = _parquet_columns if data[:4] == b"PAR1" else _csv_columns
    table, found = read(name, data, lambda header: _find(name, header, wanted, optional))
    if table.num_rows == 0:
        raise ValueError(f"{name} holds no rows")
    text: Callable[[], bytes] | None = None
    if read is _parquet_columns:
        pass  # its rows have no lines
    elif source != "-" and Path(source).is_file():
        text = partial(_contents, Path(source))  # again, should a row be wrong: its bytes would be a fifth of the peak
    else:  # what comes through a pipe comes once
        text = set_aside(data)
    origin = Source(name, text)
    return origin, {option: table.column(column) for option, column in found.items()}


def warn_of_unit(name: Source, times: np.ndarray, unit: str) -> None:
    """Say so if times (n,) would be dates after the year 9999; they may be meant so, if they are no dates."""
    if times.max() * SECONDS[unit] >= YEAR_10000:
        print(
            f"knapsolve: warning: as {unit}s since 1970 the times of {name} are after the year 9999: "
            "if they are finer, say so (--time-unit ms for milliseconds)",
            file=sys.stderr,
        )


def _refuse_polls(name: Source, changed: Any) -> None:
    """A column `changed` that holds a 0 makes a log of polls, not of changes."""
    flags = as_flags(changed)
    if flags is not None and (flags == 0).any():
        raise ValueError(f"{name} {OF_POLLS}")


def _bundled() -> Log:
    from knapsolve.datasets.debian import COMPLETE_UNTIL, load_debian_uploads

    items, times = load_debian_uploads(stop=None)  # all packages, also those first uploaded after the test
    return Log(items, times, "second", iso_seconds(DEBIAN_START), COMPLETE_UNTIL, DEBIAN_SPLIT)


def _contents(path: Path) -> bytes:
    """The bytes of a file, unpacked."""
    return unpacked(str(path), path.read_bytes())  # also of a pipe, in which pyarrow would seek


Finder = Callable[[list[str]], dict[str, str]]  # from a header, the columns to read by option


def _csv_columns(name: str, data: bytes, find: Finder) -> tuple[Any, dict[str, str]]:
    """The columns as text."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    refuse_open_quote(name, data)
    try:
        header = next(csv.reader(io.StringIO(data.lstrip().split(b"\n", 1)[0].decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is not a CSV file in UTF-8") from error
    found = find(header)
    convert = arrow_csv.ConvertOptions(
        include_columns=list(found.values()),
        column_types=dict.fromkeys(found.values(), pyarrow.string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    for threads in (len(data) > SMALL, False):  # without threads the error numbers the row
        read = arrow_csv.ReadOptions(use_threads=threads)
        try:
            source = pyarrow.BufferReader(data.lstrip())
            table = arrow_csv.read_csv(source, read_options=read, parse_options=parse, convert_options=convert)
            break
        except pyarrow.ArrowInvalid as error:
            if not threads:
                raise ValueError(f"{name} is malformed: {malformation(data, error)}") from error
    return table, found


def _parquet_columns(name: str, data: bytes, find: Finder) -> tuple[Any, dict[str, str]]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        found = find(file.schema_arrow.names)
        table = file.read(columns=list(found.values()), use_threads=len(data) > SMALL)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} is a malformed Parquet file: {error}") from error
    return table, found


def _find(name: str, header: list[str], wanted: dict[str, str], optional: Collection[str]) -> dict[str, str]:
    missing = {option: column for option, column in wanted.items() if column not in header and option not in optional}
    twice = {option: column for option, column in wanted.items() if header.count(column) > 1}
    for trouble, bad in (("no", missing), ("more than one", twice)):
        if bad:
            which = f"say which by {_listed(bad)}{_header_hint(header, wanted)}"
            columns = f"column{'s' if len(bad) > 1 and bad is missing else ''} {_listed(map(repr, bad.values()))}"
            there = f"it has {', '.join(map(repr, header))}{_almost(header, missing.values())}"
            raise ValueError(f"{name} has {trouble} {columns} ({there}): {which}")
    return {option: column for option, column in wanted.items() if column in header}


def _almost(header: list[str], missing: Collection[str]) -> str:
    """Which columns differ from a missing one by what is easily overlooked."""
    bare = {column.strip().lower() for column in missing}
    found = [column for column in header if column.strip().lower() in bare]
    differs = "differs" if len(found) == 1 else "differ"
    return f"; {_listed(map(repr, found))} {differs} by capitals or blanks only" if found else ""


def _listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _header_hint(header: list[str], wanted: dict[str, str]) -> str:
    if "changed" in header and "--item-column" in wanted and "--weight-column" not in wanted:
        return "; or, if it is a log of polls and not of changes, use knapsolve allocate"
    if any(";" in each or "\t" in each or _is(float, each) or _is(iso_seconds, each) for each in header):
        return "; the first line must be a header, and commas must separate the columns"
    return ""


def refuse_unit(name: object, unit: str | None) -> None:
    """Refuse a unit given for dates."""
    if unit is not None:
        raise ValueError(f"--time-unit is of times that are numbers: those of {name} are dates, got {unit!r}")


def as_times(name: Source, raw: Any, unit: str | None) -> tuple[np.ndarray, str]:
    """Times as numbers, and their unit: that given where they are numbers, seconds by default and for dates."""
    import pyarrow
    import pyarrow.compute as pc

    kind = raw.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind):
        refuse_unit(name, unit)
        if pyarrow.types.is_date(kind):
            raw = pc.cast(raw, pyarrow.timestamp("ms"))
        ticks = pc.cast(raw, pyarrow.int64()).cast(pyarrow.float64(), safe=False)
        return np.asarray(ticks.to_numpy()) / PER_SECOND[raw.type.unit], "second"
    if _is_text(kind):
        refuse_rows(name, np.asarray(pc.is_null(raw)), "has no time")
    numbers = as_floats(raw)
    if numbers is not None:
        return numbers, unit or "second"
    if not _is_text(kind):
        raise ValueError(f"{name}: the time column must hold numbers or dates, it holds {kind}")
    seconds = _dates(name, pc.utf8_trim_whitespace(raw).to_pylist())
    refuse_unit(name, unit)
    return seconds, "second"


def as_floats(raw: Any) -> np.ndarray | None:
    """Numbers, or text that says numbers, as floats with NaN for what is missing; None if it is neither."""
    import pyarrow
    import pyarrow.compute as pc

    kind = raw.type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind):
        return np.asarray(raw.cast(pyarrow.float64(), safe=False).to_numpy(), dtype=float)
    if not _is_text(kind):
        return None
    try:
        return np.asarray(pc.cast(pc.utf8_trim_whitespace(raw), pyarrow.float64()).to_numpy(), dtype=float)
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


def _dates(name: Source, texts: list[str]) -> np.ndarray:
    """ISO dates as seconds since 1970."""
    try:
        return np.fromiter(map(iso_seconds, texts), dtype=float, count=len(texts))
    except ValueError:
        pass
    numbers = np.array([_is(float, text) for text in texts])
    strange = ~numbers & ~np.array([_is(iso_seconds, text) for text in texts])
    row = int(np.argmax(strange if strange.any() else numbers))
    what = "neither a number nor an ISO date" if strange.any() else "a number, but others are dates"
    raise ValueError(f"{name}, {name.row(row)}: the time {texts[row]!r} is {what}")


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


def check_order(name: Source, codes: np.ndarray, items: np.ndarray, times: np.ndarray, raw: Any) -> None:
    """Refuse rows, of the items (n_items,) by their `codes` (n,), whose times (n,) descend."""
    order = np.argsort(codes, kind="stable")
    backwards = (np.diff(times[order]) < 0) & (np.diff(codes[order]) == 0)
    if backwards.any():
        where = int(np.argmax(backwards))
        before, after = int(order[where]), int(order[where + 1])
        raise ValueError(
            f"{name}, {name.row(after)}: times must ascend within each item, got {raw[after]} after {raw[before]} "
            f"in {name.row(before)} for item {str(items[codes[after]])!r} (--sort sorts them)"
        )
