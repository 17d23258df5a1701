"""The index of any finite arm: against the reference package, against dynamic programming, and its domain."""

import contextlib
import io

import numpy as np
import pytest

from knapsolve import whittle_index
from knapsolve.restless import arm_whittle_index

with np.errstate():  # its import makes numpy raise on division by zero, for everyone
    reference = pytest.importorskip("markovianbandit.markovianbandit")
    reference_kernel = pytest.importorskip("markovianbandit.whittle_computation")


@pytest.fixture(autouse=True, scope="module")
def _numpy_errors_as_before():
    yield
    np.seterr(divide="warn", invalid="warn")  # the reference changes them on import


def random_arm(random, n, concentration=1.0):
    P0, P1 = (random.dirichlet(np.full(n, concentration), n) for _ in range(2))
    return P0, P1, random.random(n), random.random(n)


def reference_index(P0, P1, r0, r1, discount):
    with contextlib.redirect_stdout(io.StringIO()):
        arm = reference.RestlessBandit.from_P0_P1_R0_R1(P0, P1, r0, r1)
        index = arm.whittle_indices(discount=discount)
    return index, arm.indexable


def optimal_actions(P0, P1, r0, r1, discount, price):
    """Advantage of activity at the optimum for a price, by policy iteration from passivity."""
    n = len(r0)
    active = np.zeros(n, dtype=bool)
    for _ in range(200):
        P = np.where(active[:, None], P1, P0)
        r = np.where(active, r1 - price, r0)
        if discount == 1.0:
            system = np.eye(n) - P
            system[:, 0] = 1.0
            value = np.linalg.solve(system, r)
            value[0] = 0.0
        else:
            value = np.linalg.solve(np.eye(n) - discount * P, r)
        advantage = (r1 - price + discount * P1 @ value) - (r0 + discount * P0 @ value)
        better = np.where(np.abs(advantage) < 1e-12, active, advantage > 0)
        if np.array_equal(better, active):
            return advantage
        active = better
    raise AssertionError("policy iteration does not end")


@pytest.mark.parametrize("discount", [1.0, 0.99, 0.5])
def test_index_equals_the_reference_on_random_arms(discount):
    random = np.random.default_rng(int(discount * 100))
    for _ in range(100):
        arm = random_arm(random, int(random.integers(2, 9)))
        index, indexable = arm_whittle_index(*arm, discount=discount)
        expected, verdict = reference_index(*arm, discount)
        assert indexable == bool(verdict)
        if indexable:
            assert np.abs(index - expected).max() <= 1e-9


def test_both_agree_on_arms_that_are_not_indexable():
    random = np.random.default_rng(11)
    arms = [random_arm(random, 3, 0.2) for _ in range(1500)]
    refused = [arm for arm in arms if not arm_whittle_index(*arm, discount=0.99).indexable]
    assert len(refused) >= 5
    for arm in refused[:20]:
        assert not reference_index(*arm, 0.99)[1]


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_activity_is_optimal_exactly_below_the_index(discount):
    random = np.random.default_rng(3)
    for _ in range(20):
        arm = random_arm(random, 6)
        index, indexable = arm_whittle_index(*arm, discount=discount)
        if not indexable:
            continue
        for state in range(6):
            assert optimal_actions(*arm, discount, index[state] - 1e-6)[state] > 0
            assert optimal_actions(*arm, discount, index[state] + 1e-6)[state] < 0


def test_panels_give_the_reference_at_200_states():
    arm = random_arm(np.random.default_rng(0), 200)
    index, indexable = arm_whittle_index(*arm)
    expected, verdict = reference_index(*arm, 1)
    assert indexable == bool(verdict)
    assert np.abs(index - expected).max() <= 1e-9


def test_a_crawled_site_is_such_an_arm():
    limit, decay, rate = 30, 0.2, 10.0
    n = limit  # states: ages 1..limit, the last one stays
    P0, P1 = np.zeros((n, n)), np.zeros((n, n))
    P0[np.arange(n), np.minimum(np.arange(n) + 1, n - 1)] = 1
    P1[:, 0] = 1
    ages = np.arange(1, n + 1)
    contents = rate / decay * -np.expm1(-decay * ages)
    index, _ = arm_whittle_index(P0, P1, np.zeros(n), contents)
    expected = whittle_index(age=ages, arrival_rate=rate, decay_rate=decay, max_age=limit)
    assert np.allclose(index, expected, rtol=1e-10)


def test_rewards_that_differ_by_a_constant_only_shift_the_index():
    P0, P1, r0, r1 = random_arm(np.random.default_rng(6), 8)
    index = arm_whittle_index(P0, P1, r0, r1).indices
    assert np.allclose(arm_whittle_index(P0, P1, r0, r1 + 5).indices, index + 5, rtol=1e-10)
    assert np.allclose(arm_whittle_index(P0, P1, 1e6 * r0, 1e6 * r1).indices, 1e6 * index, rtol=1e-9)


def test_one_state_is_worth_the_difference_of_its_rewards():
    index, indexable = arm_whittle_index([[1.0]], [[1.0]], [0.25], [1.0])
    assert index.tolist() == [0.75] and indexable


def test_multichain_arms_are_refused_at_the_average_and_solved_when_discounted():
    arm = np.eye(3), np.eye(3), np.zeros(3), np.arange(3.0)
    with pytest.raises(ValueError, match="unichain"):
        arm_whittle_index(*arm)
    assert arm_whittle_index(*arm, discount=0.9).indices.tolist() == pytest.approx([0, 1, 2])


HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("arm", "error", "says"),
    [
        (
            ([[0.5, 0.4], [0.5, 0.5]], HALF, [0, 0], [1, 1]),
            ValueError,
            "P0 must have rows that sum to 1, got .*0.9",
        ),
        ((HALF, [[1.5, -0.5], [0.5, 0.5]], [0, 0], [1, 1]), ValueError, "P1 .*-0.5"),
        ((HALF, [[1.0]], [0, 0], [1, 1]), ValueError, "P1 must have the shape of P0"),
        (([0.5, 0.5], HALF, [0, 0], [1, 1]), ValueError, "P0 must be a square matrix"),
        ((HALF, HALF, [0, 0, 0], [1, 1]), ValueError, "r0 must have 2 entries"),
        ((HALF, HALF, [0, 0], [1, np.nan]), ValueError, "r1"),
        ((HALF, HALF, [0, 0], [1, 1], 1.1), ValueError, "discount"),
        ((HALF, HALF, [0, 0], [1, 1], 0.0), ValueError, "discount"),
        (("P", HALF, [0, 0], [1, 1]), TypeError, "P0"),
    ],
)
def test_bad_input_is_named(arm, error, says):
    with pytest.raises(error, match=says):
        arm_whittle_index(*arm)


def test_an_advantage_that_comes_back_to_exactly_0_is_not_indexable():
    """Passive in state 2 from price -8 on; at price 1, where the rewards of state 1 end, both actions are optimal."""
    P0, P1 = np.eye(3)[[0, 2, 1]], np.eye(3)[[0, 1, 0]]
    rewards = np.array([0.0, 1.0, 1.0])
    advantages = [optimal_actions(P0, P1, np.zeros(3), rewards, 0.9, price)[2] for price in (-9.0, 0.9, 1.0, 1.1)]
    assert advantages[0] > 0.1 and advantages[1] < -0.01 and advantages[3] < -0.01
    assert advantages[2] == pytest.approx(0.0, abs=1e-12)
    index, indexable = arm_whittle_index(P0, P1, np.zeros(3), rewards, discount=0.9)
    assert not indexable
    assert not reference_index(P0, P1, np.zeros(3), rewards, 0.9)[1]
    assert index == pytest.approx([0.0, 1.0, -8.0], abs=1e-9)
    rewards[2] -= 1e-3  # it does not come back
    assert arm_whittle_index(P0, P1, np.zeros(3), rewards, discount=0.9).indexable
    assert reference_index(P0, P1, np.zeros(3), rewards, 0.9)[1]
