"""Ctrl-C returns at once, from any thread, and leaves everything usable."""

import pickle
import signal
import time

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, simulate
from knapsolve._interrupt import Cancellation
from tests.interrupts import check_returns

SETUP = """
import numpy as np
from knapsolve import *
from knapsolve.environments import *
from sklearn.gaussian_process.kernels import Matern
environment = BernoulliEnvironment(zipf_unchanged(500, .9, 1.5))
learner = {learner}
rough = GPOKS(kernel=Matern(1.0, nu=.5), n_points=250)
simulate(LAKG(), environment, 1000, random_state=0)
"""
AFTER = """
history = simulate(learner, environment, 1000, random_state=0)
assert np.isfinite(history.value).all()
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
CALLS = {
    "dear polls": ("GPOKS()", "simulate(learner, environment, 10**9, random_state=1)"),
    "dear draws": ("LAKG()", "simulate(rough, BernoulliEnvironment([.7, .3]), 10**6)"),
    "dear starts": ("LAKG()", "simulate(rough, environment, 10**6)"),
    "single": ("LAKG()", "simulate(learner, environment, 10**11, random_state=1)"),
    "single-random": ("HTRAA()", "simulate(learner, environment, 10**11, scheduler='random')"),
    "one-job": ("LAKG()", "simulate(learner, environment, 10**9, n_runs=50)"),
    "threads": ("LAKG()", "simulate(learner, environment, 10**9, n_runs=64, n_jobs=2)"),
    "schedule": ("LAKG()", "[EDFScheduler(np.ones(9)).next(2**26) for _ in range(50)]"),
    "random-schedule": ("LAKG()", "[RandomScheduler(np.ones(9)).next(2**26) for _ in range(50)]"),
}


@pytest.mark.parametrize(("learner", "call"), CALLS.values(), ids=CALLS)
def test_ctrl_c_returns_at_once_and_leaves_everything_usable(learner, call):
    check_returns(0.2, SETUP.format(learner=learner), call, AFTER)


@pytest.mark.parametrize("n_polls", [1_000, 300_000])
@pytest.mark.parametrize("learner", [LAKG(resolution=100), HTRAA(resolution=100, random_state=0)])
def test_ctrl_c_in_a_log_leaves_the_learner_as_before_it_or_after_it(learner, n_polls):
    """Before the batch or after it, bit for bit, with its random numbers; and it goes on as if nothing was."""
    rng = np.random.default_rng(1)
    X, y = np.column_stack([np.arange(n_polls) % 7, np.ones(n_polls)]), rng.random(n_polls) < 0.4
    start = pickle.dumps(learner.fit(X[:1000], y[:1000]))
    X[n_polls // 2, 0] = 7  # a newcomer
    after = pickle.dumps(pickle.loads(start).partial_fit(X, y))

    def interrupt(*arguments):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    seen = set()
    began = time.perf_counter()
    pickle.loads(start).partial_fit(X, y)
    lasts = time.perf_counter() - began
    try:
        for wait in np.linspace(lasts / 300, lasts * 1.5, 300 if n_polls < 10_000 else 40):
            learner = pickle.loads(start)
            try:
                signal.setitimer(signal.ITIMER_REAL, wait)
                learner.partial_fit(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
                held = pickle.dumps(learner)
                assert held in (start, after)
                seen.add(held == after)
                if held == start:
                    assert pickle.dumps(learner.partial_fit(X, y)) == after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert False in seen


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_that_a_handler_only_takes_note_of_interrupts_nothing(n_jobs):
    noted = []

    class Pressed:
        n_materials = 5

        def poll(self, i, time, amount):
            if time == 100:
                signal.raise_signal(signal.SIGINT)
            return i < 2, 1.0

    previous = signal.signal(signal.SIGINT, lambda *arguments: noted.append(arguments))
    try:
        history = simulate(LAKG(), Pressed(), 100_000, n_runs=2, n_jobs=n_jobs, random_state=0)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert len(noted) >= 1
    assert history.detections.shape[0] == 2


def test_threads_left_behind_by_an_error_stop_and_nothing_stays_cancelled():
    with pytest.raises(RuntimeError), Cancellation() as failed:
        raise RuntimeError
    with pytest.raises(KeyboardInterrupt):
        failed.check()
    with Cancellation() as going:
        going.check()
    going.check()
    pickle.loads(pickle.dumps(failed)).check()
