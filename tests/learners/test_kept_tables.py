"""Tables of a learner's settings are made once, follow the settings, and stay out of copies and pickles."""

import copy
import pickle

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG

X = np.column_stack([np.arange(3_000) % 5, np.ones(3_000)])
Y = np.random.default_rng(0).random(3_000) < 0.5
FINE = 2**18
LEARNERS = [LAKG(resolution=FINE), HTRAA(resolution=FINE, exponent=1.3, random_state=0)]
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda learner: pickle.loads(pickle.dumps(learner)),
}


def tables(learner):
    return {name: table for name, (_, table) in learner._kept.items()}


@pytest.mark.parametrize("learner", LEARNERS)
def test_tables_are_made_once_for_many_small_batches(learner):
    learner.fit(X, Y)
    before = tables(learner)
    assert max(table.shape[-1] for table in before.values()) > FINE
    for row in range(5):
        learner.partial_fit(X[row : row + 1], Y[row : row + 1])
    assert all(table is before[name] for name, table in tables(learner).items())


@pytest.mark.parametrize("made", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_copies_and_pickles_leave_tables_behind_and_learn_the_same(learner, made):
    learner.fit(X, Y)
    twin = made(learner)
    assert not hasattr(twin, "_kept")
    assert len(pickle.dumps(learner)) < 50_000
    rows = slice(0, 50)
    assert np.array_equal(twin.partial_fit(X[rows], Y[rows]).amounts_, learner.partial_fit(X[rows], Y[rows]).amounts_)


@pytest.mark.parametrize(
    ("learner", "change"),
    [
        (LAKG(resolution=1000, capacity=2.0), {"exponent": 2.0}),
        (LAKG(resolution=1000, capacity=2.0), {"resolution": 1100}),
        (LAKG(resolution=1000, capacity=2.0), {"capacity": 4.5}),
        (LAKG(resolution=1000, capacity=2.0), {"capacity": 0.01}),
        (HTRAA(resolution=100, exponent=1.3, random_state=0), {"exponent": 2.0}),
        (HTRAA(resolution=100, exponent=1.3, random_state=0), {"exponent": 1.0}),
    ],
)
def test_changed_settings_are_followed_as_by_a_learner_without_tables(learner, change):
    learner.fit(X, Y)
    twin = pickle.loads(pickle.dumps(learner)).set_params(**change)
    before = learner.amounts_
    learner.set_params(**change)
    assert np.array_equal(learner.amounts_, twin.amounts_)
    assert "capacity" in change or not np.array_equal(learner.amounts_, before)
    learner.partial_fit(X[:200], Y[:200])
    twin.partial_fit(X[:200], Y[:200])
    assert np.array_equal(learner.states_, twin.states_)


@pytest.mark.parametrize("capacity", [0.01, 1.0, 7.9, 100.0, 5e4])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 70_000])
def test_units_leave_room_for_all_that_is_held_though_it_is_not_always_summed(n, capacity):
    learner = LAKG(resolution=2**20, exponent=2.0, capacity=capacity)
    for state in (1, 2**18, 2**20):
        learner.states_ = np.full(n, state, dtype=np.int32)
        table, units = learner._tables()
        held = table[learner.states_].sum()
        bits = min(55 - max(0, np.frexp(min(capacity, n))[1]), 62 - np.frexp(held)[1])
        np.testing.assert_array_equal(units, np.rint(np.ldexp(table, bits)).astype(np.uint64))
        assert n * int(units[state]) < 2**63
