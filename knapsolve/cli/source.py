"""Where rows come from, and how errors call them."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import finalize

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by their first bytes


def name_of(source: str) -> str:
    """What to call a source that was typed."""
    return "standard input" if source == "-" else source


@dataclass(frozen=True)
class Source:
    """What to call a file or standard input, and its rows; `text` reads a CSV file again, and is None of others."""

    name: str
    text: Callable[[], bytes] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.name

    def row(self, place: int) -> str:
        """A row (from 0) in words, with its line in a CSV file."""
        try:
            line = None if self.text is None else _line(self.text(), place)
        except OSError:  # the file has gone since
            line = None
        return f"row {place + 1}" if line is None else f"row {place + 1} (line {line})"


def set_aside(data: bytes) -> Callable[[], bytes]:
    """What gives the data again, out of a file without a name that ends with it; from memory if none can be had."""
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115
        file.write(data)
        file.flush()
    except OSError:
        return partial(bytes, data)

    def again() -> bytes:
        file.seek(0)
        return file.read()

    finalize(again, file.close)
    return again


def unpacked(name: str, data: bytes) -> bytes:
    """Data as they are, or unpacked if their first bytes say that they are packed."""
    import pyarrow

    compression = next((method for start, method in PACKED.items() if data.startswith(start)), None)
    if compression is None:
        return data
    try:
        with pyarrow.input_stream(pyarrow.BufferReader(data), compression=compression) as stream:
            return bytes(stream.read())
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} cannot be unpacked ({compression}): {error}") from error


def malformation(data: bytes, error: Exception) -> str:
    """What is wrong with a CSV file, with the row and line if pyarrow says."""
    numbered = re.search(r"Row #(\d+): (?:Expected (\d+) columns, got (\d+)|.*invalid UTF8)", str(error))
    if numbered is None:
        return str(error)
    row, expected, got = numbered.groups()
    where = Source("", partial(bytes, data)).row(int(row) - 2)  # the header is pyarrow's row 1
    if got is None:
        return f"{where} is not in UTF-8"
    return f"{where} has {got} value{'' if got == '1' else 's'}, the header {expected}"


def refuse_open_quote(name: str, data: bytes) -> None:
    """Refuse CSV data with a quote that is never closed: what follows it would all be one value."""
    if data.count(b'"') % 2 == 0:
        return
    reader, end = _reader(data, strict=True)
    before, place = end, -1  # the header is no row
    try:
        with _values_of_any_length():
            for record in reader:
                place += bool(record)
                end = before + reader.line_num
    except csv.Error as error:
        if "end of data" in str(error):
            where = f"line {end + 1}" if place < 0 else f"row {place + 1} (line {end + 1})"
            raise ValueError(f"{name}, {where}: a quote is opened there and never closed") from error


@contextmanager
def _values_of_any_length() -> Iterator[None]:
    """The csv module's own limit, 131,072 characters, is below what a log may hold."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _reader(text: bytes, strict: bool = False) -> tuple[Any, int]:
    """Records of a CSV file from its first that is not empty, and the number of lines before."""
    rest = text.lstrip()
    lines = io.StringIO(rest.decode("utf-8-sig", "replace"), newline="")
    return csv.reader(lines, strict=strict), text[: len(text) - len(rest)].count(b"\n")


def _line(text: bytes, place: int) -> int | None:
    """The line (from 1) on which a row (from 0) begins, None if that is unknown; values may hold line breaks."""
    reader, before = _reader(text)
    end, count = 0, -1  # the header is no row
    try:
        with _values_of_any_length():
            for record in reader:
                if record:  # no empty line
                    if count == place:
                        return before + end + 1
                    count += 1
                end = reader.line_num
    except csv.Error:
        pass
    return None
