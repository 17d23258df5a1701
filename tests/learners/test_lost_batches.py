"""A small batch of many materials that is lost to a signal is put back by its rows, and costs no copy of all."""

import numpy as np
import pytest
from sklearn.base import clone

from knapsolve import GPOKS, LSPEWhittle, PlugInWhittle
from tests.learners.cases import state_bytes

N = 40
rng = np.random.default_rng(0)
X = np.column_stack([np.tile(np.arange(N), 3), rng.integers(1, 9, 3 * N)])
Y = rng.integers(0, 2, 3 * N)
LEARNERS = [
    GPOKS(n_points=9, random_state=0),
    GPOKS(n_points=9, random_state=0, sampler="rejection", max_tries=5),
    GPOKS(n_points=9, random_state=0, fit_kernel=True),
    GPOKS(n_points=9, random_state=0, n_materials=N, feedback_noise=0.1),
    PlugInWhittle(n_seeds=0, random_state=0),
    LSPEWhittle(n_seeds=0, degree=1, random_state=0),
]
BATCHES = {
    "one row": ([[7, 3]], [1]),
    "some rows": ([[7, 3], [9, 2], [7, 1], [9, 2]], [1, 0, 0, 1]),
    "all materials": (X, Y),
    "a newcomer too": ([[7, 3], [N, 2]], [1, 0]),
}


@pytest.mark.filterwarnings("ignore:more than a tenth of the curves")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(("rows", "found"), BATCHES.values(), ids=BATCHES)
def test_a_batch_lost_at_its_end_leaves_everything_as_it_was(learner, rows, found, monkeypatch):
    if learner.n_materials is not None and np.max(np.array(rows)[:, 0]) >= N:
        pytest.skip("takes no newcomers")
    learner, twin = clone(learner).fit(X, Y), clone(learner).fit(X, Y)
    before = state_bytes(learner)

    def lost(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        kind, learn = type(learner), type(learner)._learn_polls
        patched.setattr(kind, "_learn_polls", lambda self, a, b, c, commit, *more: learn(self, a, b, c, lost, *more))
        with pytest.raises(KeyboardInterrupt):
            learner.partial_fit(rows, found)
    assert state_bytes(learner) == before
    assert state_bytes(learner.partial_fit(rows, found)) == state_bytes(twin.partial_fit(rows, found))


def test_arrays_that_were_changed_from_outside_are_named_as_for_large_batches():
    for name, change in (("totals_", np.s_[:3]), ("last_crawls_", np.s_[:3]), ("estimates_", np.s_[:, :1])):
        learner = clone(LEARNERS[4]).fit(X, Y)
        setattr(learner, name, getattr(learner, name)[change])
        with pytest.raises(ValueError, match=r"_ must have shape"):
            learner.partial_fit([[30, 3]], [1])
    learner = clone(LEARNERS[4]).fit(X, Y)
    twin = clone(LEARNERS[4]).fit(X, Y).partial_fit([[30, 3]], [1])
    learner.totals_ = np.asfortranarray(learner.totals_)
    assert np.array_equal(learner.partial_fit([[30, 3]], [1]).totals_, twin.totals_)


@pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[4]], ids=lambda each: type(each).__name__)
def test_a_row_is_learnt_in_place(learner):
    learner = clone(learner).fit(X, Y)
    held = [getattr(learner, name) for name in learner._state_names]
    learner.partial_fit([[7, 3]], [1])
    assert all(getattr(learner, name) is array for name, array in zip(learner._state_names, held))
