"""What commands print: tables, documents and progress bars."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

WIDTH_WHEN_PIPED = 400  # as wide as it takes: one row a line
GAP = 3  # between columns, and their two edges are one each


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """A table on standard output; all but the first column are aligned right.

    Where the terminal is too narrow, the interval of an estimate goes below it, columns that do not fit go into
    further tables with the same first column, and long names there are cut in the middle to half of the width.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDTH_WHEN_PIPED)
    widths = [_widest(cells) for cells in zip(columns, *rows, strict=True)]
    parts = [list(range(1, len(columns)))]
    if _total(widths) > console.width:
        rows = [[name, *(cell.replace(" [", "\n[") for cell in cells)] for name, *cells in rows]
        columns = [column.replace(" (", "\n(") for column in columns]
        heads = [_widest(re.split(r"\s(?![^(]*\))", column)) for column in columns]  # they wrap, units stay whole
        bodies = [_widest(cells) for cells in zip(*rows, strict=True)] if rows else heads
        others = [max(each) for each in zip(heads[1:], bodies[1:], strict=True)]

        def room(columns: Iterable[int]) -> int:
            return max(heads[0], min(bodies[0], console.width - _total([0, *columns])))

        widths = [max(heads[0], min(bodies[0], max(console.width // 2, room(others)))), *others]
        parts = _parts(widths, console.width)
        widths[0] = min(room(widths[k] for k in part) for part in parts)
        names = [_cut(name, widths[0]) for name, *_ in rows]
        if len(set(names)) == len({name for name, *_ in rows}):  # else they fold
            rows = [[name, *cells] for name, (_, *cells) in zip(names, rows, strict=True)]
    for part in parts:
        chosen = [0, *part]
        cells = [[row[k] for k in chosen] for row in rows]
        console.print(_table([columns[k] for k in chosen], cells, [widths[k] for k in chosen]))


def _table(columns: list[str], rows: list[list[str]], widths: list[int]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, (column, width) in enumerate(zip(columns, widths, strict=True)):
        table.add_column(column, justify="right" if number else "left", overflow="fold", max_width=width)
    for row in rows:
        table.add_row(*map(Text, row))  # as they are: brackets in a name are no markup
    return table


def _total(widths: list[int]) -> int:
    """Width of a table of such columns."""
    return sum(widths) + GAP * (len(widths) - 1) + 2


def _parts(widths: list[int], room: int) -> list[list[int]]:
    """Columns of each table: as many as fit beside the first, but at least one."""
    parts: list[list[int]] = [[]]
    for column in range(1, len(widths)):
        if parts[-1] and _total([widths[0], *(widths[k] for k in parts[-1]), widths[column]]) > room:
            parts.append([])
        parts[-1].append(column)
    return parts


def _widest(cells: Any) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)


def _cut(name: str, room: int) -> str:
    """A name without its middle if it is too long; what has spaces wraps instead."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) <= room or " " in name:
        return name
    tail = (room - 1) // 2
    return f"{set_cell_size(name, room - 1 - tail)}…{set_cell_size(name[::-1], tail)[::-1]}"


def counted(number: int, noun: str) -> str:
    """`1 poll`, `2,000 polls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rounded(number: float, digits: int) -> str:
    """A number with so many significant digits, without an exponent where that can be read: `23,080`."""
    return f"{float(f'{number:.{digits}g}'):,.15g}"


def warn(text: str) -> None:
    """A warning, one line on standard error."""
    print(f"knapsolve: warning: {text}", file=sys.stderr)


def print_json(document: Any) -> None:
    """One JSON document, the only thing on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False))


def report(as_json: bool, document: Callable[[], Any], show: Callable[[], None], saves: Iterable[str]) -> None:
    """Print what came of a command: a JSON document, or what `show` prints; and what was saved.

    `saves` saves file by file and says what; that is done before anything is printed, for whoever reads that may go
    away. Beside a document these lines go to standard error.
    """
    saved = list(saves)
    if as_json:
        print_json(document())
    else:
        show()
    for line in saved:
        print(line, file=sys.stderr if as_json else sys.stdout)


@contextmanager
def progress_bar(total: int | None, unit: str = "polls") -> Iterator[Callable[[str, int], Callable[[int, int], None]]]:
    """A bar on standard error, if that is a terminal; yields `stage(name, before)`, as `progress=` parameters want.

    A total of None is the one that these are told.
    """
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:16}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn(f"{{task.completed:,}} {unit}"),
        progress.TextColumn("in"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=total)

        def stage(name: str, before: int) -> Callable[[int, int], None]:
            return lambda done, whole: bar.update(
                task, total=whole if total is None else total, completed=before + done, description=name
            )

        yield stage


@contextmanager
def working(message: str) -> Iterator[None]:
    """A message on standard error, if that is a terminal, while something is done that cannot say how far it is."""
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield
