"""Who reads a learner while another thread's batch is learnt sees what it was before or what it is after."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from tests.learners.cases import LEARNERS, poll_log

X, Y = poll_log(400, 8)
MORE = np.vstack([X[:60], [[8.0, 1.5]]])  # a newcomer at its end
FOUND = np.append(Y[:60], 1)
READERS = {
    "allocate": lambda learner: learner.allocate(),
    "amounts_": lambda learner: learner.amounts_,
    "rates_": lambda learner: learner.rates_,
    "states_": lambda learner: learner.states_,
    "intervals_": lambda learner: learner.intervals_,
    "suggest": lambda learner: learner.suggest(3),
    "predict": lambda learner: np.concatenate(learner.predict(MORE, return_std=True)),
    "curves_": lambda learner: learner.curves_,
    "sample_curves": lambda learner: learner.sample_curves(3, 2, random_state=0),
    "n_fallbacks_": lambda learner: learner.n_fallbacks_,
}
CASES = [(name, reader) for name in LEARNERS for reader in READERS if hasattr(type(LEARNERS[name]), reader)]


@pytest.mark.filterwarnings("ignore:more than a tenth of the curves")
@pytest.mark.parametrize(("name", "reader"), CASES)
def test_a_batch_is_seen_whole_or_not_at_all(name, reader, monkeypatch):
    learner, twin = (clone(LEARNERS[name]).fit(X, Y) for _ in range(2))
    read, seen = READERS[reader], []
    expected = [np.array(read(learner)), np.array(read(twin.partial_fit(MORE, FOUND)))]

    def look():
        try:
            seen.append(np.array(read(learner)))
        except Exception as error:
            seen.append(error)

    thread, learn = threading.Thread(target=look), type(learner)._learn_polls

    def paused(codes, gaps, changed, commit, *more):
        def commit_late(**state):
            thread.start()
            thread.join(0.05)
            commit(**state)

        learn(learner, codes, gaps, changed, commit_late, *more)

    monkeypatch.setattr(learner, "_learn_polls", paused, raising=False)
    learner.partial_fit(MORE, FOUND)
    thread.join()
    assert any(np.array_equal(seen[0], each) for each in expected), seen[0]
