"""What a shortlist answers is what a look at all items answers."""

import copy
import pickle

import numpy as np
import pytest

from knapsolve import RenewalIndexPolicy, simulate
from knapsolve.environments import PollingEnvironment
from knapsolve.schedulers import shortlist


def from_all(policy, n):
    """The suggestion of a copy, which has no list."""
    twin, paying = copy.copy(policy), shortlist.LEAST
    shortlist.LEAST = np.inf
    try:
        return twin.suggest(n).tolist()
    finally:
        shortlist.LEAST = paying


@pytest.fixture
def lists_from_few_items(monkeypatch):
    monkeypatch.setattr(shortlist, "LEAST", 50)


def world(n, seed):
    rng = np.random.default_rng(seed)
    rates = rng.choice([0.0, 1e-4, 1e-2, 0.1], n) if seed % 2 else rng.gamma(0.5, 0.4, n)
    return rng, lambda items, gaps: rng.random(len(items)) < -np.expm1(-rates[items] * gaps)


@pytest.mark.slow
@pytest.mark.parametrize("balance", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_policy_that_polls_what_it_suggests_polls_what_a_look_at_all_would(seed, balance, lists_from_few_items):
    n, answers = 400, 0
    rng, found = world(n, seed)
    policy = RenewalIndexPolicy(balance=balance, n_materials=n)
    policy.fit(np.column_stack([rng.permutation(n)[: n // 2], np.ones(n // 2)]), np.arange(n // 2) % 3 == 0)
    for step in range(600):
        k = int(rng.choice([1, 1, 1, 4]))
        items = policy.suggest(k)
        assert items.tolist() == from_all(policy, k), step
        answers = max(answers, policy._shortlist._answers)
        gaps = rng.gamma(1.0, n, k)
        policy.partial_fit(np.column_stack([items, gaps]), found(items, gaps))
    assert answers >= 10  # a list was of use


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_meanwhile_the_list_knows(seed, lists_from_few_items):
    rng, found = world(900, seed)
    n = 300
    policy = RenewalIndexPolicy()
    policy.fit(np.column_stack([np.arange(n), rng.gamma(1.0, n, n)]), rng.random(n) < 0.2)
    for step in range(150):
        event = rng.integers(12)
        if event == 0 and n < 880:  # newcomers
            policy.partial_fit([[n, 1.0], [n + 1, 1.0]], [0, 1])
            n += 2
        elif event == 1:
            policy.set_params(capacity=float(rng.choice([0.5, 1.0, 2.0])))
        elif event == 2:
            policy.set_params(balance=float(rng.choice([0.0, 0.5, 0.8])))
        elif event == 3:
            policy = pickle.loads(pickle.dumps(policy))
        elif event == 4:  # a refused batch
            with pytest.raises(ValueError, match="elapsed"):
                policy.partial_fit([[0, 1.0], [1, -1.0]], [0, 1])
        else:  # polls of anything, many or few, of an item twice
            m = int(rng.choice([1, 3, 200]))
            items = rng.integers(0, n, m) if event < 9 else policy.suggest(min(m, n))
            gaps = rng.gamma(1.0, n, len(items))
            policy.partial_fit(np.column_stack([items, gaps]), found(items, gaps))
        k = int(rng.choice([1, 2, 5, n // 2]))
        assert policy.suggest(k).tolist() == from_all(policy, k), (step, event)


def test_equal_items_come_in_the_order_of_their_last_polls(lists_from_few_items):
    n = 200
    policy = RenewalIndexPolicy(n_materials=n)
    policy.fit(np.column_stack([np.arange(n), np.full(n, 5.0)]), np.zeros(n))
    for step in range(3 * n):
        (k,) = policy.suggest()
        assert k == step % n
        policy.partial_fit([[k, n]], [0])


def listed(n, balance=0.8):
    """A quiet world that has been looked at three times over, and a list of what comes next."""
    policy = RenewalIndexPolicy(balance=balance, n_materials=n)
    items = np.tile(np.random.default_rng(n).permutation(n), 3)
    policy.fit(np.column_stack([items, np.full(3 * n, float(n))]), items % 10 == 0)
    policy.suggest()
    return policy, items


def test_an_item_beyond_the_list_may_start_to_change(lists_from_few_items):
    n = 400
    policy, items = listed(n)
    k = items[-1]
    assert k not in policy._shortlist._listed
    for _ in range(10):
        policy.partial_fit([[k, 1e-3]], [1])
        assert k in policy._shortlist._listed
    for _ in range(20):
        best = policy.suggest()
        assert best.tolist() == from_all(policy, 1)
        policy.partial_fit([[best[0], n]], [0])


@pytest.mark.parametrize("balance", [0.5, 0.9])
def test_fresh_time_may_become_worth_more(balance, lists_from_few_items):
    n = 400
    policy, items = listed(n, balance)
    for item in items[:10]:
        policy.partial_fit([[item, n]], [1])
    policy.suggest()
    assert policy._shortlist._answers > 1  # the list still serves
    for item in items[10:40]:
        policy.partial_fit([[item, n]], [1])
        for k in (1, 10, 20):
            assert policy.suggest(k).tolist() == from_all(policy, k)
    policy.numbers_[1] *= 1.5  # changes in all
    policy._shortlist._settings = policy._settings()
    assert policy.suggest(20).tolist() == from_all(policy, 20)
    assert policy._shortlist._answers == 1  # of a new list


def test_a_simulation_leaves_no_list_behind(lists_from_few_items):
    n = 400
    policy, _ = listed(n)
    simulate(policy, PollingEnvironment(np.full(n, 0.5)), 30)
    policy.partial_fit([[0, 1.0]], [1])
    assert policy._shortlist._settings is None
    assert policy.suggest(20).tolist() == from_all(policy, 20)
