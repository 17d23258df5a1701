"""Ctrl-C returns at once, from any thread, and leaves everything usable."""

import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from knapsolve import LAKG

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from knapsolve import *
from knapsolve.environments import *
environment = BernoulliEnvironment(zipf_unchanged(500, .9, 1.5))
learner = {learner}
simulate(LAKG(), environment, 1000, random_state=0)

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
    history = simulate(learner, environment, 1000, random_state=0)
    assert np.isfinite(history.value).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(late)
else:
    sys.exit("it was not interrupted")
"""
CALLS = {
    "single": ("LAKG()", "simulate(learner, environment, 10**11, random_state=1)"),
    "single-random": ("HTRAA()", "simulate(learner, environment, 10**11, scheduler='random')"),
    "one-job": ("LAKG()", "simulate(learner, environment, 10**9, n_runs=50)"),
    "threads": ("LAKG()", "simulate(learner, environment, 10**9, n_runs=64, n_jobs=2)"),
    "schedule": ("LAKG()", "[EDFScheduler(np.ones(9)).next(2**26) for _ in range(50)]"),
    "random-schedule": ("LAKG()", "[RandomScheduler(np.ones(9)).next(2**26) for _ in range(50)]"),
}


@pytest.mark.parametrize(("learner", "call"), CALLS.values(), ids=CALLS)
def test_ctrl_c_returns_at_once_and_leaves_everything_usable(learner, call):
    script = textwrap.dedent(INTERRUPTED).format(learner=learner, call=call)
    late = []
    for _ in range(3):  # a busy machine may be late once
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        late.append(float(done.stdout))
        if late[-1] < 0.2:
            return
    pytest.fail(f"returned after {late} s")


def test_ctrl_c_in_the_middle_of_a_log_leaves_the_learner_as_it_was(monkeypatch):
    X, y = np.column_stack([np.arange(300_000) % 7, np.ones(300_000)]), np.arange(300_000) % 3 == 0
    learner = LAKG(resolution=100).fit(X[:1000], y[:1000])
    before = pickle.dumps(learner)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come anywhere in the loop
            for _ in range(10_000):
                learner.partial_fit(X, y)
                before = pickle.dumps(learner)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    whole = pickle.loads(before).partial_fit(X, y)  # the alarm may ring just after a batch
    assert learner.states_.tolist() in (pickle.loads(before).states_.tolist(), whole.states_.tolist())
    assert learner.partial_fit(X, y).materials_.size == 7
