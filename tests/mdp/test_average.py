import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from knapsolve.mdp import solve_average_cost
from tests.mdp.oracles import multichain_gain, random_model

METHODS = ["auto", "relative-value-iteration", "modified-policy-iteration", "policy-iteration"]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_random_models_agree_with_linear_programming(method):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(120):
        matrices, cost = random_model(rng, rng.integers(1, 9), rng.integers(1, 4), rng.integers(1, 4))
        exact = multichain_gain(matrices, cost)
        result = solve_average_cost([csr_matrix(m) for m in matrices], cost, method=method)
        seen.add(result.structure)
        np.testing.assert_allclose(np.broadcast_to(result.gain, exact.shape), exact, atol=1e-8)
        assert (np.asarray(result.lower) - 1e-9 <= exact).all()
        assert (exact <= np.asarray(result.upper) + 1e-9).all()
        assert np.max(np.asarray(result.upper) - result.lower) <= 1e-9
    assert seen == {"unichain", "communicating", "weakly communicating", "multichain"}


@pytest.mark.parametrize("method", METHODS)
def test_larger_communicating_models_agree_with_linear_programming(method):
    rng = np.random.default_rng(1)
    for _ in range(4):
        matrices, cost = random_model(rng, 60, 3, 4)
        matrices[0] = 0.5 * matrices[0] + 0.5 * np.roll(np.eye(60), 1, axis=1)  # a ring: communicating
        cost[:, 0] = rng.uniform(-1, 1, 60)
        result = solve_average_cost(list(matrices), cost, method=method)
        assert result.structure == "communicating"
        assert result.gain == pytest.approx(multichain_gain(matrices, cost)[0], abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_periodic_cycle_costs_its_mean(method):
    cycle = np.array([[0.0, 1.0], [1.0, 0.0]])
    result = solve_average_cost([cycle], [0.0, 1.0], method=method)
    assert result.gain == pytest.approx(0.5, abs=1e-9)
    assert result.lower <= 0.5 <= result.upper
    ring = np.roll(np.eye(7), 1, axis=1)
    result = solve_average_cost([ring], np.arange(7.0), method=method)
    assert result.gain == pytest.approx(3.0, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_separate_classes_have_gains_of_their_own_and_transients_choose(method):
    # 0 and 1 absorb at cost 3 and 1; from 2 action 0 gambles, action 1 goes to 0 for certain
    absorb = [[1, 0, 0], [0, 1, 0]]
    matrices = [np.array([*absorb, [0.5, 0.5, 0]]), np.array([*absorb, [1.0, 0, 0]])]
    result = solve_average_cost(matrices, [[3, 3], [1, 1], [100, 0]], method=method)
    assert result.structure == "multichain"
    np.testing.assert_allclose(result.gain, [3, 1, 2])
    assert result.policy[2] == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_costly_class_that_can_be_left_is_left(method):
    # 0 may stay at cost 2 or try for the trap 1 at cost 1, and falls into the trap 2 at cost 4 or 10 instead
    # half the time
    for trap, gain in ((4.0, 2.0), (10.0, 2.0), (2.5, 1.75)):
        matrices = [np.eye(3), np.array([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]])]
        cost = np.array([[2.0, 50.0], [1.0, 1.0], [trap, trap]])
        result = solve_average_cost(matrices, cost, method=method)
        np.testing.assert_allclose(result.gain, [gain, 1.0, trap])
        np.testing.assert_allclose(result.gain, multichain_gain(matrices, cost), atol=1e-9)


def test_a_policy_with_two_classes_is_no_obstacle_in_a_communicating_model():
    # staying is greedy in both states, yet only one of them is worth staying in
    matrices = [np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])]
    for method in METHODS:
        result = solve_average_cost(matrices, [[1.0, 50.0], [2.0, 50.0]], method=method)
        assert result.structure == "communicating"
        assert result.gain == pytest.approx(1.0, abs=1e-9)
        assert result.policy.tolist() == [0, 1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 3))
def test_gain_and_bias_solve_the_optimality_equation(seed, n_states, n_actions):
    matrices, cost = random_model(np.random.default_rng(seed), n_states, n_actions, 3, forbid=0.0)
    result = solve_average_cost(list(matrices), cost)
    if result.structure == "multichain":
        return
    image = (cost + np.einsum("aij,j->ia", matrices, result.bias)).min(axis=1)
    np.testing.assert_allclose(image - result.bias, result.gain, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_chance_to_leave_below_rounding_counts(method):
    # 1 - p_ii is 0 in floating point; the second model settles in state 1 or 2, the third goes to and fro
    models = [
        ([[1, 1e-17], [0, 1]], [1.0, 0.0], [0.0, 0.0]),
        ([[1, 1e-17, 2e-17], [0, 1, 0], [0, 0, 1]], [7.0, 1.0, 0.0], [1 / 3, 1.0, 0.0]),
        ([[1, 1e-17], [2e-17, 1]], [1.0, 0.0], [2 / 3, 2 / 3]),
    ]
    for matrix, cost, gain in models:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = solve_average_cost([np.array(matrix)], cost, method=method, max_iter=1000)
        assert (result.lower <= np.array(gain) + 1e-15).all()
        assert (np.array(gain) <= np.asarray(result.upper) + 1e-15).all()
        if not any("upper - lower" in str(warning.message) for warning in caught):
            np.testing.assert_allclose(np.broadcast_to(result.gain, len(gain)), gain, atol=1e-9)
        if method in ("auto", "policy-iteration"):
            assert not caught


def test_costs_shared_by_all_actions_may_be_given_once():
    matrices = [np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.6, 0.4]])]
    once = solve_average_cost(matrices, [1.0, 3.0])
    twice = solve_average_cost(matrices, [[1.0, 1.0], [3.0, 3.0]])
    assert once.gain == twice.gain


@pytest.mark.parametrize("method", METHODS[1:])
def test_running_out_of_iterations_warns_and_the_bounds_hold(method):
    rng = np.random.default_rng(4)
    matrices, cost = random_model(rng, 30, 3, 3)
    matrices[0] = np.roll(np.eye(30), 1, axis=1)
    cost[:, 0] = rng.uniform(-1, 1, 30)
    exact = multichain_gain(matrices, cost)[0]
    with pytest.warns(ConvergenceWarning, match="upper - lower"):
        result = solve_average_cost(list(matrices), cost, method=method, max_iter=1)
    assert result.lower <= exact <= result.upper


def test_more_iterations_than_other_packages_allow_are_made_without_a_warning():
    n = 200  # a slow walk: 1,000 sweeps are far from enough
    walk = np.zeros((n, n))
    walk[np.arange(n - 1), np.arange(1, n)] = walk[np.arange(1, n), np.arange(n - 1)] = 0.5
    walk[0, 0] = walk[-1, -1] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_average_cost([walk], np.arange(n) / n, method="relative-value-iteration", tol=1e-6)
    assert result.gain == pytest.approx((n - 1) / 2 / n, abs=1e-6)
    assert result.n_iter > 1000


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e6, 1e12])
def test_iterations_end_where_rounding_keeps_the_bounds_apart(method, scale):
    matrices, cost = random_model(np.random.default_rng(5), 60, 2, 5)
    exact = scale * solve_average_cost(list(matrices), cost).gain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve_average_cost(list(matrices), cost * scale, method=method, max_iter=5000)
    assert result.n_iter < 1000
    assert result.upper - result.lower < 1e-13 * scale
    assert result.lower - 1e-9 * scale <= exact <= result.upper + 1e-9 * scale


GOOD = np.array([[0.5, 0.5], [0.2, 0.8]])


@pytest.mark.parametrize(
    ("transitions", "cost", "name"),
    [
        ([], [1.0, 2.0], "transitions"),
        (GOOD[0:1], [1.0], "transitions"),
        ([GOOD, np.eye(3)], [1.0, 2.0], r"transitions\[1\]"),
        ([np.ones((2, 3)) / 3], [1.0, 2.0], "square"),
        ([np.array([[0.5, 0.4], [0.2, 0.8]])], [1.0, 2.0], "sum to 1"),
        ([np.array([[1.5, -0.5], [0.2, 0.8]])], [1.0, 2.0], "probabilities"),
        ([np.array([[np.nan, 0.5], [0.2, 0.8]])], [1.0, 2.0], "probabilities"),
        ([GOOD], [1.0, 2.0, 3.0], "cost"),
        ([GOOD], [[1.0, 2.0], [1.0, 2.0]], "cost"),
        ([GOOD], [1.0, np.nan], "cost"),
        ([GOOD], [1.0, -np.inf], "cost"),
        ([GOOD], [1e308, -1e308], "cost"),
        ([GOOD], [1.0, np.inf], "state 1"),
    ],
)
def test_bad_models_are_named(transitions, cost, name):
    with pytest.raises(ValueError, match=name):
        solve_average_cost(transitions, cost)


@pytest.mark.parametrize(
    ("transitions", "cost"),
    [(csr_matrix(GOOD), [1, 2]), (None, [1, 2]), (["ab"], [1, 2]), ([GOOD], ["a", "b"])],
)
def test_wrong_types_are_refused(transitions, cost):
    with pytest.raises(TypeError):
        solve_average_cost(transitions, cost)


@pytest.mark.parametrize(("option", "value"), [("method", "guess"), ("tol", 0.0), ("max_iter", 0)])
def test_bad_options_are_named(option, value):
    with pytest.raises(ValueError, match=option):
        solve_average_cost([GOOD], [1.0, 2.0], **{option: value})


def test_rows_of_forbidden_actions_are_not_looked_at():
    other = np.array([[np.nan, -3.0], [0.3, 0.7]])
    result = solve_average_cost([GOOD, other], [[1.0, np.inf], [2.0, 5.0]])
    assert result.gain == pytest.approx(solve_average_cost([GOOD], [1.0, 2.0]).gain)


def test_the_models_given_are_left_as_they_are():
    matrix, cost = csr_matrix(GOOD), np.array([1.0, 2.0])
    before = matrix.copy()
    solve_average_cost([matrix], cost)
    assert (matrix != before).nnz == 0
    assert cost.tolist() == [1.0, 2.0]
