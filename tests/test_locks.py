"""Objects that threads share have one lock, which copies and pickles leave behind."""

import copy
import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from knapsolve import LAKG, EDFScheduler, simulate
from knapsolve._locks import Shared
from knapsolve.environments import BernoulliEnvironment


class Plain(Shared):
    def __init__(self):
        self.values = np.zeros(3)


class Estimator(Shared, BaseEstimator):
    def __init__(self, values=None):
        self.values = values


def test_all_threads_get_the_same_lock():
    for _ in range(50):
        shared, locks, gate = Plain(), [], threading.Barrier(8)

        def ask(shared=shared, locks=locks, gate=gate):
            gate.wait()
            locks.append(shared._lock)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(lock) for lock in locks}) == 1


def test_copies_have_a_lock_and_arrays_of_their_own():
    for shared in (Plain(), Estimator(np.zeros((2, 3), order="F"))):
        for make in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
            with shared._lock:
                other = make(shared)
            assert "_lock" not in vars(other) and other._lock is not shared._lock
            other.values[:] = 1.0
            assert not shared.values.any()
            assert other.values.flags.f_contiguous == shared.values.flags.f_contiguous


def test_a_pickle_waits_until_a_change_is_complete():
    shared = Plain()
    with shared._lock:
        thread = threading.Thread(target=lambda: setattr(shared, "seen", pickle.loads(pickle.dumps(shared)).values))
        thread.start()
        for i in range(3):
            shared.values[i] = 1.0
            thread.join(0.01)
    thread.join()
    assert shared.seen.tolist() == [1.0, 1.0, 1.0]


def test_a_callback_may_read_a_learner_in_simulation_but_not_fit_it():
    learner, said = LAKG(resolution=100), []

    def look(done, total):
        said.append(learner.allocate(3.0).sum())
        pickle.dumps(learner)
        with pytest.raises(RuntimeError, match="LAKG is in a simulation"):
            learner.partial_fit([[0, 1.0], [1, 1.0]], [0, 1])
        with pytest.raises(RuntimeError, match="LAKG is in a simulation"):
            simulate(learner, world, 10)

    world = BernoulliEnvironment(np.linspace(0.1, 0.9, 10))
    simulate(learner, world, 1_000, random_state=0, progress=look)
    assert said and not hasattr(learner, "_in_turn")
    learner.partial_fit([[0, 1.0], [1, 1.0]], [0, 1])


def test_the_lock_of_somebody_elses_learner_is_its_own():
    class Guarded:
        capacity = 1.0

        def __init__(self):
            self._lock = threading.Lock()

        def amount(self, i):
            return 0.1

        def observe(self, i, elapsed, changed):
            assert self._lock.acquire(timeout=5)
            self._lock.release()

    simulate(Guarded(), BernoulliEnvironment(np.full(10, 0.5)), 50, random_state=0)


def in_a_child(action):
    """What a forked child answers within 10 s, "waits for ever" if it does not."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: that is the point
        child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends the child
        try:
            answer = str(action())
        except BaseException as error:
            answer = repr(error)
        os.write(theirs, answer.encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as answer:
        return answer.read() or "waits for ever"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_beside_a_simulation_can_read_and_fit_the_learner():
    learner, going, done = LAKG(resolution=100), threading.Event(), threading.Event()

    def hold(polls, total):
        going.set()
        assert done.wait(20)

    world = BernoulliEnvironment(np.linspace(0.1, 0.9, 10))
    thread = threading.Thread(target=lambda: simulate(learner, world, 1_000, random_state=0, progress=hold))
    thread.start()
    assert going.wait(20)
    try:
        assert in_a_child(lambda: learner.allocate(3.0).size) == "10"
        assert in_a_child(lambda: learner.partial_fit([[0, 1.0]], [0]).allocate(2.0).size) == "10"
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_beside_a_schedule_being_served_can_serve_it():
    scheduler, going, done = EDFScheduler(np.ones(5)), threading.Event(), threading.Event()

    def hold():
        with scheduler._lock:
            going.set()
            assert done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert going.wait(20)
    try:
        assert in_a_child(lambda: scheduler.next(4)[0].size) == "4"
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_by_whoever_holds_the_lock_still_holds_it():
    shared = Plain()
    with shared._whole_turn():
        assert "is in a simulation" in in_a_child(shared._refuse_in_turn)
        assert in_a_child(lambda: shared._lock._is_owned()) == "True"
