"""Where rows come from, and how errors call them."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from weakref import finalize


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


def _line(text: bytes, place: int) -> int | None:
    """The line (from 1) on which a row (from 0) begins, None if that is unknown; values may hold line breaks."""
    rest = text.lstrip()
    before = text[: len(text) - len(rest)].count(b"\n")
    reader = csv.reader(io.StringIO(rest.decode("utf-8-sig", "replace"), newline=""))
    end, count = 0, -1  # the header is no row
    try:
        for record in reader:
            if record:  # no empty line
                if count == place:
                    return before + end + 1
                count += 1
            end = reader.line_num
    except csv.Error:
        pass
    return None
