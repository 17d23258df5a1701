"""Ctrl-C reaches work that runs in other threads."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Cancellation:
    """While entered, a Ctrl-C that interrupts the main thread makes every `check` raise, in any thread.

    A Ctrl-C that the handler in force only takes note of interrupts nothing. After an error the flag stays, so
    that threads left behind stop. A pickled copy in another process is never cancelled.
    """

    cancelled = False

    def __enter__(self) -> Cancellation:
        self._previous: Any = None
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.cancelled = kind is not None
        if callable(self._previous):
            signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        try:
            self._previous(number, frame)
        except BaseException:
            self.cancelled = True
            raise

    def check(self) -> None:
        """Raise KeyboardInterrupt if the work was cancelled."""
        if self.cancelled:
            raise KeyboardInterrupt

    def __reduce__(self) -> tuple[type[Cancellation], tuple[()]]:
        return Cancellation, ()
