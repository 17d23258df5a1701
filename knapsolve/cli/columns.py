"""Columns out of CSV and Parquet files and standard input."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

from knapsolve.cli.output import warn
from knapsolve.cli.source import Source, malformation, name_of, refuse_open_quote, set_aside, unpacked
from knapsolve.cli.values import is_date, is_number

SMALL = 2**20  # bytes, that are read without threads: a process that ends as they start may abort


def read_columns(
    source: str,
    wanted: dict[str, str],
    *,
    optional: Collection[str] = (),
    others: Mapping[str, str] = MappingProxyType({}),
    hint: str = "",
) -> tuple[Source, dict[str, Any]]:
    """The source, and its columns `wanted`, by the options that say which, as pyarrow has them.

    The columns of the options `optional` may be missing; of one that is there under nearly that name the user is told.
    A column that is missing may be there under its name in `others`, by option.
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
    if not data or data.isspace():
        raise ValueError(f"{name} is empty")
    read = _parquet_columns if data[:4] == b"PAR1" else _csv_columns
    table, found = read(name, data, lambda header: _find(name, header, _renamed(header, wanted, others), optional))
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
    if text is not None and data.count(b"\n") > table.num_rows + 1:  # values hold line breaks, or lines are empty
        _warn_of_merged_rows(origin, data, wanted.get("--item-column"))
    return origin, {option: table.column(column) for option, column in found.items()}


def _warn_of_merged_rows(name: Source, data: bytes, item: str | None) -> None:
    """Say so if values of a CSV file seem to hold rows, as between two quotes that stand alone.

    An item with a line break and a comma does, and any other value one of whose later lines has a row's commas.
    """
    import pyarrow.compute as pc

    header: list[str] = []

    def all_columns(names: list[str]) -> dict[str, str]:
        header.extend(names)
        return {each: each for each in names if names.count(each) == 1}

    try:
        table, _ = _csv_columns(str(name), data, all_columns)
    except ValueError:  # a column that is not read otherwise may hold anything
        return
    row = rf"\n([^,\n]*,){{{len(header) - 1}}}[^,\n]*(\n|$)"
    for column, values in zip(table.column_names, table.columns):
        merged = pc.match_substring_regex(values, row)
        if column == item:
            merged = pc.and_(pc.match_substring(values, "\n"), pc.match_substring(values, ","))
        place = pc.index(merged, True).as_py()
        if place >= 0:
            first = values[place].as_py().splitlines()[0]
            warn(
                f"{name}, {name.row(place)}: {column!r} holds a line break, after {first!r}: if the quotes around it "
                "stand alone, the rows between them are taken for one"
            )
            return


def _contents(path: Path) -> bytes:
    """The bytes of a file, unpacked."""
    return unpacked(str(path), path.read_bytes())  # also of a pipe, in which pyarrow would seek


Finder = Callable[[list[str]], dict[str, str]]  # from a header, the columns to read by option


def _csv_columns(name: str, data: bytes, find: Finder) -> tuple[Any, dict[str, str]]:
    """The columns as text."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    refuse_open_quote(name, data)
    table_from = data.lstrip()  # no copy, but for blank lines at the start
    try:
        first = table_from[: table_from.find(b"\n") + 1 or None]  # a line, or all there is
        header = next(csv.reader(io.StringIO(first.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is not a CSV file in UTF-8") from error
    found = find(header)
    convert = arrow_csv.ConvertOptions(
        include_columns=list(found.values()),
        column_types=dict.fromkeys(found.values(), pyarrow.string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=b'"' in data)  # twice as fast without
    for threads in (len(data) > SMALL, False):  # without threads the error numbers the row
        read = arrow_csv.ReadOptions(use_threads=threads)
        try:
            source = pyarrow.BufferReader(table_from)
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


def _renamed(header: list[str], wanted: dict[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """The columns wanted, by their other names where these are there instead."""
    there = {option: other for option, other in others.items() if other in header and other not in wanted.values()}
    return wanted | {option: other for option, other in there.items() if wanted[option] not in header}


def _find(name: str, header: list[str], wanted: dict[str, str], optional: Collection[str]) -> dict[str, str]:
    missing = {option: column for option, column in wanted.items() if column not in header and option not in optional}
    twice = {option: column for option, column in wanted.items() if header.count(column) > 1}
    for trouble, bad in (("no", missing), ("more than one", twice)):
        if bad:
            which = "rename one" if bad is twice else f"say which by {_listed(bad)}{_header_hint(header, wanted)}"
            columns = f"column{'s' if len(bad) > 1 and bad is missing else ''} {_listed(map(repr, bad.values()))}"
            near = _near(header, missing.values())
            almost = f"; {_listed(map(repr, near))} nearly {'match' if len(near) > 1 else 'matches'}" if near else ""
            there = f"it has {', '.join(map(repr, header))}{almost}"
            raise ValueError(f"{name} has {trouble} {columns} ({there}): {which}")
    _warn_of_near(name, header, {option: wanted[option] for option in optional if option.startswith("--")})
    return {option: column for option, column in wanted.items() if column in header}


def _near(header: list[str], missing: Collection[str]) -> list[str]:
    """The columns that differ from a missing one by what is easily overlooked."""
    bare = set(map(_bare, missing))
    return [column for column in header if _bare(column) in bare]


def _bare(column: str) -> str:
    """A name without capitals, blanks, hyphens and the s of a plural."""
    return re.sub(r"[\W_]+", "", column.lower()).removesuffix("s")


def _warn_of_near(name: str, header: list[str], optional: dict[str, str]) -> None:
    """Say which columns are passed over although they nearly match an optional one that is missing, by its option."""
    near = {option: _near(header, [column]) for option, column in optional.items() if column not in header}
    options = {option: columns[0] for option, columns in near.items() if columns}
    if options:
        is_, it = ("is", "it") if len(options) == 1 else ("are", "them")
        say = " ".join(f"{option} {shlex.quote(column)}" for option, column in options.items())
        warn(f"{_listed(map(repr, options.values()))} of {name} {is_} not used: to use {it}, say {say}")


def _listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _header_hint(header: list[str], wanted: dict[str, str]) -> str:
    if "changed" in header and "--item-column" in wanted and "--weight-column" not in wanted:
        return "; or, if it is a log of polls and not of changes, use knapsolve allocate"
    if any(";" in each or "\t" in each or is_number(each) or is_date(each) for each in header):
        return "; the first line must be a header, and commas must separate the columns"
    return ""
