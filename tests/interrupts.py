"""Ctrl-C pressed in the middle of a call, in a process of its own."""

import textwrap

import pytest

from tests.processes import check_script

SCRIPT = """
import os, signal, sys, threading, time
{setup}

def press():
    global pressed
    time.sleep(.3)
    pressed = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    late = time.perf_counter() - pressed
{after}
    print(late)
else:
    sys.exit("it was not interrupted")
"""


def check_returns(within: float, setup: str, call: str, after: str) -> None:
    """After `setup`, `call` returns within so many seconds of Ctrl-C; `after` is then run."""
    script = SCRIPT.format(setup=setup, call=call, after=textwrap.indent(after, "    "))
    late = []
    for _ in range(3):  # a busy machine may be late once
        late.append(float(check_script(script, seconds=120)))
        if late[-1] < within:
            return
    pytest.fail(f"returned after {late} s")
