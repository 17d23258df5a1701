"""Ctrl-C pressed in the middle of a call, in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import os, signal, sys, threading, time
{setup}

def press():
    global pressed
    time.sleep(.6)
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


ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # else a busy machine makes numpy's solver late


def run_script(script: str, timeout: float = 60) -> str:
    """What a script prints; it must succeed."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=ONE_THREAD)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_returns(within: float, setup: str, call: str, after: str) -> None:
    """After `setup`, `call` returns within so many seconds of Ctrl-C; `after` is then run."""
    script = SCRIPT.format(setup=setup, call=call, after=textwrap.indent(after, "    "))
    late = []
    for _ in range(3):  # a busy machine may be late once
        late.append(float(run_script(script, 120)))
        if late[-1] < within:
            return
    pytest.fail(f"returned after {late} s")
