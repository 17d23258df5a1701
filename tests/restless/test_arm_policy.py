"""The policy made of finite arms."""

import numpy as np
import pytest

from knapsolve.restless import ArmIndexPolicy, arm_whittle_index


def arms(n, seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 5, n)
    return [
        (random.dirichlet(np.ones(s), s), random.dirichlet(np.ones(s), s), np.zeros(s), random.random(s))
        for s in sizes
    ]


def test_the_largest_indices_are_chosen_lower_arm_first():
    many = arms(6)
    policy = ArmIndexPolicy(many + many, n_active=5, discount=0.9)
    states = np.zeros(12, dtype=int)
    keys = np.array([arm_whittle_index(*arm, discount=0.9).indices[0] for arm in many + many])
    assert np.array_equal(policy.select(states), np.sort(np.argsort(-keys, kind="stable")[:5]))
    assert policy.indexable_.shape == (12,)


def test_index_policy_comes_close_to_the_optimum_of_two_arms():
    first, second = arms(2, seed=5)
    policy = ArmIndexPolicy([first, second], n_active=1)
    n, m = len(first[2]), len(second[2])
    moves, pay = [], []  # the joint chain under "activate the first", "activate the second"
    for a, b in ((1, 0), (0, 1)):
        moves.append(np.kron(first[a], second[b]))
        pay.append((first[2 + a][:, None] + second[2 + b][None, :]).ravel())
    value = np.zeros(n * m)
    for _ in range(4000):  # relative value iteration
        best = np.maximum(pay[0] + moves[0] @ value, pay[1] + moves[1] @ value)
        gain, value = best[0] - value[0], best - best[0]
    choice = [policy.select([i, j])[0] for i in range(n) for j in range(m)]
    P = np.array([moves[c][s] for s, c in enumerate(choice)])
    r = np.array([pay[c][s] for s, c in enumerate(choice)])
    stationary = np.linalg.matrix_power(P, 1 << 12)[0]
    assert 0.97 * gain <= stationary @ r <= gain * (1 + 1e-9)
    simulated = policy.simulate(20000, random_state=1)
    assert simulated.reward.mean() == pytest.approx(stationary @ r, abs=0.02)


def test_the_same_arm_object_is_solved_once(monkeypatch):
    from knapsolve.restless import arm_policy

    calls = []
    original = arm_policy.arm_whittle_index
    monkeypatch.setattr(arm_policy, "arm_whittle_index", lambda *a, **k: calls.append(1) or original(*a, **k))
    arm = arms(1)[0]
    ArmIndexPolicy([arm] * 50, n_active=3)
    assert len(calls) == 1


def test_bad_input_is_named():
    arm = arms(1)[0]
    with pytest.raises(ValueError, match="arms must hold at least one arm"):
        ArmIndexPolicy([], n_active=1)
    with pytest.raises(ValueError, match="n_active"):
        ArmIndexPolicy([arm], n_active=2)
    with pytest.raises(ValueError, match="arms must hold tuples"):
        ArmIndexPolicy([arm[:3]], n_active=1)
    policy = ArmIndexPolicy([arm, arm], n_active=1)
    with pytest.raises(ValueError, match="states must be below"):
        policy.select([0, 99])
    with pytest.raises(ValueError, match="states"):
        policy.select([0, -1])
    with pytest.raises(TypeError, match="states must be whole numbers"):
        policy.select([0.0, 1.0])
    with pytest.raises(ValueError, match="states must have 2 entries"):
        policy.select([0])
