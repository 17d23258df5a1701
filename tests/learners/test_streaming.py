"""fit(A + B) equals fit(A) then partial_fit(B), bit for bit; budgets are met to the last bit."""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from knapsolve import HTRAA, LAKG, EstimatorPolicy, OptimalPolicy, RateAllocator
from knapsolve.learners.base import share_out
from tests.learners.cases import LEARNERS, poll_log, state_of
from tests.twins import HTRAATwin

LEARNER = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@LEARNER
@pytest.mark.filterwarnings("ignore:nothing to choose from")
@settings(deadline=None, max_examples=25)
@given(
    n_materials=st.integers(1, 40),
    n_polls=st.integers(1, 250),
    cuts=st.lists(st.integers(1, 250), max_size=4, unique=True),
    seed=st.integers(0, 10_000),
    known=st.booleans(),
)
def test_any_cut_of_the_log_gives_the_same_learner(learner, n_materials, n_polls, cuts, seed, known):
    X, y = poll_log(n_polls, n_materials, seed)
    if known and isinstance(learner, LAKG):
        assume(learner.capacity <= n_materials)  # more is refused
    learner = clone(learner).set_params(n_materials=n_materials if known else None)
    whole = clone(learner).fit(X, y)
    cuts = [0, *sorted(cut for cut in cuts if cut < n_polls), n_polls]
    for a, b in pairwise(cuts):
        learner.partial_fit(X[a:b], y[a:b])
    assert state_of(learner) == state_of(whole)


@LEARNER
@pytest.mark.parametrize("known", [None, 1])
def test_one_material_has_all(learner, known):
    learner = clone(learner).set_params(n_materials=known, capacity=1.0)
    X = np.column_stack([np.zeros(40), np.ones(40)])
    assert learner.fit(X, np.arange(40) % 3 == 0).allocate(7.0).tolist() == [7.0]
    if known:
        assert learner.amounts_.size == 1
    else:
        assert learner.partial_fit([[1, 1.0]], [0]).amounts_.size == 2


@LEARNER
@pytest.mark.filterwarnings("ignore:nothing to choose from")
@pytest.mark.parametrize("cuts", [(1,), (2,), (1, 3)])
def test_a_material_or_two_are_joined_by_several(learner, cuts):
    X = np.array([[k % 7, 1.0 + k] for k in range(20)])
    whole = clone(learner).fit(X, X[:, 0] < 3)
    parts = clone(learner)
    for a, b in pairwise([0, *cuts, 20]):
        parts.partial_fit(X[a:b], X[a:b, 0] < 3)
    assert state_of(parts) == state_of(whole)


@pytest.mark.parametrize("learner", [LAKG(resolution=300), HTRAA(resolution=40, random_state=0)])
def test_batches_beyond_the_atomic_size_give_the_same_learner(learner):
    X, y = poll_log(200_000, 30)
    whole = clone(learner).fit(X, y)
    parts = clone(learner).fit(X[:70_000], y[:70_000]).partial_fit(X[70_000:], y[70_000:])
    assert state_of(parts) == state_of(whole)


def test_string_identifiers_of_growing_length_survive_the_cut():
    X, y = poll_log(120, 15)
    named = np.array([["m" * (int(k) + 1), gap] for k, gap in X], dtype=object)
    whole = LAKG(resolution=100).fit(named, y)
    parts = LAKG(resolution=100).fit(named[:10], y[:10]).partial_fit(named[10:], y[10:])
    assert parts.materials_.tolist() == whole.materials_.tolist()
    assert parts.states_.tolist() == whole.states_.tolist()


def lakg_by_hand(X, y, resolution, exponent, capacity):
    """Newcomers take the largest state that all could have at once; then the game's rule."""
    table = [(s / resolution) ** exponent for s in range(resolution + 1)]
    states = {}
    for (m, _), v in zip(X.tolist(), y.tolist()):
        if m not in states:
            fits = [s for s in range(1, resolution + 1) if (len(states) + 1) * table[s] <= capacity]
            states[m] = max(fits, default=1)
            total = sum(table[s] for s in states.values())
            if total > 1.125 * capacity:  # newcomers have overfilled the knapsack: scale all down to fit
                factor = (capacity / total) ** (1 / exponent)
                states = {k: max(1, int(s * factor)) for k, s in states.items()}
        full = sum(table[s] for s in states.values()) >= capacity - 1e-12
        if v and not full:
            states[m] = min(states[m] + 1, resolution)
        elif not v and full:
            states[m] = max(states[m] - 1, 1)
    return list(states), list(states.values())


@pytest.mark.parametrize(("resolution", "exponent", "capacity"), [(60, 1.3, 1.0), (37, 1.1, 1.7)])
def test_lakg_learns_a_log_as_by_hand(resolution, exponent, capacity):
    X, y = poll_log(3_000, 12)
    learner = LAKG(resolution=resolution, exponent=exponent, capacity=capacity).fit(X, y)
    assert (learner.materials_.tolist(), learner.states_.tolist()) == lakg_by_hand(
        X, y, resolution, exponent, capacity
    )


@pytest.mark.parametrize("exponent", [1.0, 1.4])
@pytest.mark.parametrize("update", ["reward-penalty", "reward-inaction", "inaction-penalty"])
def test_htraa_learns_a_log_as_its_twin(update, exponent):
    X, y = poll_log(2_000, 11)
    learner = HTRAA(resolution=25, exponent=exponent, update=update, n_materials=11, random_state=6).fit(X, y)
    twin, generator = HTRAATwin(11, [25] * 4, exponent, update), np.random.default_rng(6)
    for (m, _), v in zip(X.tolist(), y.tolist()):
        twin.observe(int(m), v, generator)
    assert {k: int(learner.states_[k]) for k in twin.states} == twin.states


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 70), st.integers(0, 1000))
def test_a_grown_htraa_has_the_balanced_tree_and_spends_its_capacity(n, seed):
    X, y = poll_log(6 * n, n, seed)
    learner = HTRAA(resolution=30, random_state=0).fit(X, y)
    assert math.fsum(learner.amounts_) == pytest.approx(1.0, abs=1e-13)
    leaves, k = set(learner._leaf_of.tolist()), learner.materials_.size
    assert leaves == set(HTRAATwin(k, [30] * 8, 1.0, "reward-penalty").leaf_of)
    inner = {leaf >> d for leaf in leaves for d in range(1, leaf.bit_length())}
    assert all(1 <= learner.states_[node] <= 30 for node in inner)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.floats(0, 1e6) | st.floats(0, 1e-300), min_size=2, max_size=60),
    st.floats(1e-300, 1e300) | st.sampled_from([1.0, 20.0, 0.1, 5000.0]),
)
def test_shares_sum_to_the_capacity_to_the_last_bit(amounts, capacity):
    shares = share_out(np.array(amounts), capacity)
    assert math.fsum(shares) == capacity
    assert (shares >= 0).all()


@LEARNER
@pytest.mark.parametrize("capacity", [None, 0.1, 1 / 3, 20.0, 5e3, 1e-200, 1e300])
def test_allocations_sum_to_the_capacity_to_the_last_bit(learner, capacity):
    learner = clone(learner).fit(*poll_log(500, 23))
    if isinstance(learner, RateAllocator) and learner.criterion != "detection" and capacity in (1e-200, 1e300):
        with pytest.raises(ValueError, match="capacity"):  # beyond what solve_nefk takes
            learner.allocate(capacity)
        return
    amounts = learner.allocate(capacity)
    assert math.fsum(amounts) == (learner.capacity if capacity is None else capacity)
    assert (amounts >= 0).all()
    assert amounts.shape == learner.materials_.shape


def test_lakg_learns_as_much_from_newcomers_as_from_materials_known_from_the_start():
    X, y = poll_log(20_000, 40)
    known = LAKG(resolution=300, n_materials=40).fit(X, y)
    grown = LAKG(resolution=300).fit(X, y)
    order = np.argsort(grown.materials_)
    assert 0.9 < grown.amounts_.sum() < 1.1
    assert np.corrcoef(known.amounts_, grown.amounts_[order])[0, 1] > 0.9


def test_lakg_survives_a_capacity_far_below_what_it_holds():
    X = np.column_stack([np.tile(np.arange(1024), 20), np.ones(20_480)])
    learner = LAKG(n_materials=1024, capacity=1024.0).fit(X, np.zeros(20_480, dtype=int))
    assert learner.amounts_.sum() > 1023
    learner.set_params(capacity=1.0).partial_fit(X, np.zeros(20_480, dtype=int))
    assert learner.amounts_.sum() < 1022  # full: every poll without a change moves down


@pytest.mark.parametrize("names", [lambda k: k, lambda k: f"m{int(k)}"])
def test_newcomers_extend_the_lookup_and_a_refused_batch_takes_them_out_again(names):
    log = [[names(k), 1.0] for k in range(6)]
    learner = LAKG(resolution=6, exponent=1.0).fit(np.array(log[:3], dtype=object), [1, 0, 1])
    learner.partial_fit(np.array(log[2:4], dtype=object), [1, 0])
    lookup, everyone = learner._lookup, np.array([names(k) for k in range(6)])
    assert lookup.find(everyone).tolist() == [0, 1, 2, 3, -1, -1]
    learner.partial_fit(np.array(log[4:5], dtype=object), [1])
    assert learner._lookup is lookup
    assert lookup.find(everyone).tolist() == [0, 1, 2, 3, 4, -1]
    too_many = np.array([[names(k), 1.0] for k in range(3, 30)], dtype=object)
    with pytest.raises(ValueError, match="resolution"):
        learner.partial_fit(too_many, np.ones(27))
    assert lookup.find(everyone).tolist() == [0, 1, 2, 3, 4, -1]
    learner.partial_fit(np.array(log[::-1], dtype=object), np.ones(6))
    assert learner.materials_.tolist() == [names(k) for k in range(6)]
@pytest.mark.parametrize("capacity", [0.1, 1.0, 1 / 3, 0.7, 1e-5])
@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000])
def test_shares_of_zero_weights_sum_to_the_capacity_too(n, capacity):
    shares = share_out(np.zeros(n), capacity)
    assert math.fsum(shares) == capacity
    assert shares == pytest.approx(capacity / n)


def test_lakg_says_when_the_capacity_leaves_nothing_to_choose():
    X, y = poll_log(100, 4)
    with pytest.warns(ConvergenceWarning, match="exceeds the number of materials, 4, .* shorter unit of time"):
        LAKG(capacity=5.0).fit(X, y)
    with pytest.raises(ValueError, match="capacity must be at most the number of materials, 4"):
        LAKG(capacity=5.0, n_materials=4).fit(X, y)


@pytest.mark.slow
def test_logs_of_policies_stay_short_in_parts_and_end_with_the_phase():
    X, y = poll_log(3_000, 9)
    single, phase = OptimalPolicy(), EstimatorPolicy(phase=100)
    told = OptimalPolicy(unchanged=np.full(9, 0.5), n_materials=9)
    for policy in (single, phase, told):
        policy.fit(X[:9], y[:9])
        for k in range(9, 3_000):
            policy.partial_fit(X[k : k + 1], y[k : k + 1])
    assert len(single._log) < 15 and sum(part[0].size for part in single._log) == 3_000
    assert sum(part[0].size for part in phase._log) == 100 and told._log == ()
    assert single.amounts_.tolist() == OptimalPolicy().fit(X, y).amounts_.tolist()
    assert phase.amounts_.tolist() == EstimatorPolicy(phase=100).fit(X, y).amounts_.tolist()


@LEARNER
def test_what_a_copy_learns_the_original_does_not(learner):
    X, y = poll_log(300, 8)
    learner = clone(learner).fit(X[:100], y[:100])
    before = state_of(learner)
    twin = copy.copy(learner).partial_fit(X[100:], y[100:])
    assert state_of(learner) == before
    assert state_of(twin) == state_of(learner.partial_fit(X[100:], y[100:]))
