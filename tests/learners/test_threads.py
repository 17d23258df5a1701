"""Threads may share a learner: batches are learnt one after the other."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from tests.learners.cases import LEARNERS, poll_log

THREADS, BATCHES = 3, 6


@pytest.mark.parametrize("name", ["lakg", "htraa", "renewal", "rates", "nutch", "gpoks", "harmonic", "optimal"])
def test_batches_of_many_threads_are_all_learnt(name):
    learner = clone(LEARNERS[name])
    parts = [[poll_log(400, 40, seed=10 * who + k) for k in range(BATCHES)] for who in range(THREADS)]
    gate, errors = threading.Barrier(THREADS), []

    def learn(who):
        try:
            gate.wait()
            for X, y in parts[who]:
                learner.partial_fit(np.column_stack([X[:, 0] + 25 * who, X[:, 1]]), y)
                assert (learner.amounts_ >= 0).all() and (learner.allocate(7.0) >= 0).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(who,)) for who in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(learner.materials_.tolist()) == list(range(40 + 25 * (THREADS - 1)))
    learner.partial_fit(*poll_log(100, 40, seed=0))
