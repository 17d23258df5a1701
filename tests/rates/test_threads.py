"""Threads may share an estimator: who comes while a batch is learnt waits for its end."""

import copy
import pickle
import threading

import numpy as np
import pytest

from knapsolve import ChangeRateEstimator
from knapsolve.rates import change_rate_estimator as module

ESTIMATORS = ("mle", "recursive", "bayes", "multiplicative")
X = np.column_stack([np.arange(40) % 4, np.linspace(0.5, 3.0, 40)])
Y = np.arange(40) % 3 == 0
CALLS = {
    "partial_fit": lambda each: each.partial_fit([[9, 1.0], [8, 1.0]], [1, 0]),
    "rates_": lambda each: each.rates_,
    "rate_interval": lambda each: each.rate_interval(),
    "predict_proba": lambda each: each.predict_proba(X),
    "predict": lambda each: each.predict(X),
    "copy": copy.copy,
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("call", CALLS)
def test_who_comes_while_a_batch_is_learnt_waits(estimator, call, monkeypatch):
    if (estimator, call) == ("multiplicative", "rate_interval"):
        pytest.skip("knows no intervals")
    learner = ChangeRateEstimator(estimator=estimator).fit(X, Y)
    encode, threads, waited = module.encode, [], []

    def late(*arguments):
        if not threads:
            threads.append(threading.Thread(target=CALLS[call], args=(learner,)))
            threads[0].start()
            threads[0].join(0.05)
            waited.append(threads[0].is_alive())
        return encode(*arguments)

    monkeypatch.setattr(module, "encode", late)
    learner.partial_fit([[7, 1.0], [1, 2.0]], [1, 0])
    threads[0].join()
    assert waited == [True]
    assert learner.materials_.tolist() == [0, 1, 2, 3, 7] + ([9, 8] if call == "partial_fit" else [])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_batches_of_many_threads_are_all_learnt(estimator):
    learner, gate = ChangeRateEstimator(estimator=estimator), threading.Barrier(3)

    def learn(who):
        gate.wait()
        for k in range(8):
            learner.partial_fit(X + [10 * who + k, 0.0], Y)

    threads = [threading.Thread(target=learn, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = {float(10 * who + k + item) for who in range(3) for k in range(8) for item in range(4)}
    assert set(learner.materials_.tolist()) == known and learner.rates_.size == len(known)
