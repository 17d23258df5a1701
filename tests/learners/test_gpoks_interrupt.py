"""Long draws of GPOKS let signals through, and one that is lost to a signal changes nothing."""

import contextlib
import pickle
import signal
import time

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from knapsolve import GPOKS, simulate
from knapsolve._interrupt import Cancellation
from knapsolve.environments import BernoulliEnvironment
from knapsolve.processes import posterior_sums

N_POINTS = 80  # a draw of as many features: some hundredths of a second
PAIR = BernoulliEnvironment([0.7, 0.3])


class Looks:
    """Counts looks at signals; the one after `limit` ends the work."""

    def __init__(self, limit=np.inf):
        self.limit, self.count = limit, 0

    def check(self):
        self.count += 1
        if self.count > self.limit:
            raise KeyboardInterrupt


def rough(n_points):
    """A learner whose every draw is long."""
    kernel = RBF(1.0) + WhiteKernel(1.0)
    learner = GPOKS(kernel=kernel, scale="linear", n_materials=2, n_points=n_points, random_state=0)
    return learner.fit([[0, 2.0], [1, 3.0]], [1, 0])


@pytest.fixture(scope="module")
def white():
    return rough(N_POINTS)


@pytest.fixture
def learner(white):
    return pickle.loads(pickle.dumps(white))


def one_draw(learner, looks, **parameters):
    core = pickle.loads(pickle.dumps(learner)).set_params(**parameters)._core()
    core.cancellation = looks
    return core.sample(1, np.random.default_rng(3))


TRIES = {"sampler": "rejection", "max_tries": 20_000}


@pytest.mark.parametrize("parameters", [{}, TRIES], ids=["truncated", "rejection"])
def test_a_draw_looks_at_signals_every_few_milliseconds_and_is_the_same_for_it(learner, parameters):
    looks, began = Looks(), time.process_time()
    curve = one_draw(learner, looks, **parameters)
    lasted = time.process_time() - began
    assert looks.count >= max(1, lasted / 0.05)
    assert np.array_equal(curve, one_draw(learner, None, **parameters))


@pytest.mark.parametrize("parameters", [{}, TRIES], ids=["truncated", "rejection"])
def test_a_draw_can_end_at_every_look_and_leaves_curve_and_weights(learner, parameters):
    learner.set_params(**parameters)
    before = pickle.dumps(learner)
    all_looks = Looks()
    one_draw(learner, all_looks)
    for limit in range(all_looks.count // 2):
        core = learner._core()
        core.cancellation = Looks(limit)
        with pytest.raises(KeyboardInterrupt):
            core.sample(1, np.random.default_rng(3))
        assert pickle.dumps(learner) == before


def test_ctrl_c_within_a_draw_comes_in_the_middle_of_it(learner):
    before, seen = pickle.dumps(learner), []

    def handle(*arguments):
        seen.append(time.perf_counter())
        if len(seen) == 3:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        with pytest.raises(KeyboardInterrupt):
            learner.sample_curves(0, 1, random_state=0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert pickle.dumps(learner) == before
    assert np.isfinite(learner.sample_curves(0, 1, random_state=0)).all()


@pytest.mark.parametrize("limit", [0, 9, 20])
def test_a_simulation_lost_in_a_draw_keeps_what_was_learnt_and_goes_on(learner, monkeypatch, limit):
    looks = Looks(limit)
    monkeypatch.setattr(Cancellation, "check", lambda self: looks.check())
    with pytest.raises(KeyboardInterrupt):
        simulate(learner, PAIR, 100, random_state=1)
    monkeypatch.undo()
    precision, information = posterior_sums(learner._process.features, learner._counts, learner._sums, learner.noise_)
    assert learner._precision == pytest.approx(precision[:, *np.tril_indices(N_POINTS)])
    assert learner._information == pytest.approx(information)
    assert (np.diff(learner.curves_, axis=1) < 0).all()
    assert learner.amounts_.sum() == pytest.approx(1)
    assert np.isfinite(simulate(learner, PAIR, 2, random_state=2).value).all()


def test_runs_in_threads_are_lost_in_their_draws_too(learner, monkeypatch):
    looks = Looks(10)
    monkeypatch.setattr(Cancellation, "check", lambda self: looks.check())
    with pytest.raises(KeyboardInterrupt):
        simulate(learner, PAIR, 100, n_runs=2, n_jobs=2, random_state=1)
    assert looks.count < 20


def test_a_log_is_learnt_wholly_or_not_at_all():
    """Interrupted at any time, also one at which a quick machine has learnt all."""
    learner = rough(30)
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.integers(0, 2, 300), rng.integers(1, 30, 300)]), rng.integers(0, 2, 300)
    before = pickle.dumps(learner)
    began = time.perf_counter()
    whole = pickle.dumps(pickle.loads(before).partial_fit(X, y))
    lasts = time.perf_counter() - began
    lost = 0

    def interrupt(*arguments):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        for wait in lasts * np.array([0.01, 0.1, 0.4, 0.8, 0.95, 1.0]):
            again = pickle.loads(before)
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, wait)
                again.partial_fit(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            held = pickle.dumps(again)
            assert held in (before, whole)
            lost += held == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert lost


def test_sums_that_are_taken_anew_may_be_lost_between_rows(learner):
    """They are at every 1024th poll of a point: some of the rows are new then, and the others good too."""
    generator = np.random.default_rng(0)

    def learn(n_polls, looks):
        core = learner._core()
        core.cancellation = looks
        core.learn(np.zeros(n_polls, dtype=np.intp), np.full(n_polls, 2.0), np.ones(n_polls, dtype=np.int8), generator,
                   lambda: None)  # fmt: skip

    learn(1022, None)  # one is there
    with pytest.raises(KeyboardInterrupt):
        learn(1, Looks(0))
    assert learner._counts[0].max() == 1024
    precision, information = posterior_sums(learner._process.features, learner._counts, learner._sums, learner.noise_)
    assert learner._precision == pytest.approx(precision[:, *np.tril_indices(N_POINTS)])
    assert learner._information == pytest.approx(information)
