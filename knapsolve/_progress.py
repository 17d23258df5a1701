"""Progress of long work, as a bar or through the caller's own function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from knapsolve._validation import check_progress


@contextmanager
def report_progress(progress: bool | Callable[[int, int], None], total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with each amount of work done.

    `progress` is False (say nothing), True (a bar on standard error, by rich) or a function of (done, total).
    """
    check_progress(progress)
    if progress is False or progress is None:
        yield lambda amount: None
    elif callable(progress):
        done = 0

        def advance(amount: int) -> None:
            nonlocal done
            done += amount
            progress(done, total)

        yield advance
    else:
        try:
            from rich.console import Console
            from rich.progress import Progress
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("progress=True needs rich: pip install knapsolve[cli]") from error
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("polls", total=total)
            yield lambda amount: bar.update(task, advance=amount)
