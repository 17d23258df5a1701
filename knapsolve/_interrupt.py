"""Ctrl-C reaches work that runs in other threads."""

from __future__ import annotations

import signal
import threading
import uuid
from types import FrameType
from typing import Any

_cancelled: set[str] = set()


class Cancellation:
    """While entered, Ctrl-C makes every `check` of the same token raise KeyboardInterrupt, in any thread.

    Survives pickling as its token: in another process nothing is ever cancelled by it.
    """

    def __init__(self) -> None:
        self.token = uuid.uuid4().hex

    def __enter__(self) -> Cancellation:
        self._previous: Any = None
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None:
            _cancelled.add(self.token)
        if callable(self._previous):
            signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        _cancelled.add(self.token)
        self._previous(number, frame)

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self.token in _cancelled:
            raise KeyboardInterrupt

    def __getstate__(self) -> dict[str, str]:
        return {"token": self.token}
