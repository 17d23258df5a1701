"""What a reproduction is at: lines on standard error, or told to whoever listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

Listener = Callable[[str, int, int], None]  # what is being computed, parts that are done, parts in all


class _Progress:
    """The parts of the reproduction that runs, when it began, and who listens."""

    def __init__(self) -> None:
        self.began, self.done, self.total = monotonic(), 0, 0
        self.listener: Listener = self.print_line

    def print_line(self, what: str, done: int, total: int) -> None:
        passed = timedelta(seconds=int(monotonic() - self.began))
        print(f"  {passed}  {what}", file=sys.stderr, flush=True)


_progress = _Progress()


def announce(what: str) -> None:
    """Say what is being computed."""
    _progress.listener(what, _progress.done, _progress.total)


def begin(total: int) -> None:
    """Start the clock of a reproduction of so many parts."""
    _progress.began, _progress.done, _progress.total = monotonic(), 0, total


def advance(done: int) -> None:
    """So many parts are done."""
    _progress.done = done


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell the listener in place of printing lines."""
    before, _progress.listener = _progress.listener, listener
    try:
        yield
    finally:
        _progress.listener = before
