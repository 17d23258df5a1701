"""Ctrl-C while the command line is still importing: one line and status 130, where Python would print a traceback.

The package asks for this before its imports and takes it back after them; a program that only imports knapsolve is
left alone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

INTERRUPTED = 130
MESSAGE = "knapsolve: interrupted"


def is_command() -> bool:
    """Whether this process is `knapsolve` or `python -m knapsolve`."""
    words = sys.orig_argv
    if sys.argv[:1] == ["-m"]:  # of whatever is still being imported
        return "-m" in words and words[words.index("-m") + 1 :][:1] == ["knapsolve"]
    return os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] == "knapsolve"


def _leave(*_: Any) -> None:
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)  # nothing has begun; libraries half imported make other errors of an exception


def begin() -> None:
    """Leave at Ctrl-C, if this is the command line and nobody else has said what to do."""
    ours = is_command() and threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def end() -> None:
    """From now on Ctrl-C is an exception again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
