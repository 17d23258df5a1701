"""Tables and progress bars."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WIDTH_WHEN_PIPED = 400  # as wide as it takes: one row a line


def print_table(columns: list[str], rows: list[list[str]], left: int = 1) -> None:
    """A table on standard output; all but the `left` first columns are aligned right.

    Where the terminal is too narrow, the interval of an estimate goes below it.
    """
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    def table_of(rows: list[list[str]]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, column in enumerate(columns):
            if number < left:
                table.add_column(column, overflow="fold")
            else:
                widest = max((len(line) for row in rows for line in row[number].split("\n")), default=0)
                table.add_column(column, justify="right", min_width=widest)
        for row in rows:
            table.add_row(*map(Text, row))  # as they are: brackets in a name are no markup
        return table

    console = Console(width=None if sys.stdout.isatty() else WIDTH_WHEN_PIPED)
    table = table_of(rows)
    if Measurement.get(console, console.options.update(max_width=10_000), table).maximum > console.width:
        table = table_of([row[:left] + [cell.replace(" [", "\n[") for cell in row[left:]] for row in rows])
    console.print(table)


def print_json(document: Any) -> None:
    """One JSON document, the only thing on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


@contextmanager
def progress_bar(total: int, unit: str = "polls") -> Iterator[Callable[[str, int], Callable[[int, int], None]]]:
    """A bar on standard error; yields `stage(name, before)`, which gives what `progress=` parameters want."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:16}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn(f"{{task.completed:,}} {unit}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=total)

        def stage(name: str, before: int) -> Callable[[int, int], None]:
            return lambda done, _: bar.update(task, completed=before + done, description=name)

        yield stage


@contextmanager
def working(message: str) -> Iterator[None]:
    """A message on standard error while something is computed that cannot say how far it is."""
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield
