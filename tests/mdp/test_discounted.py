import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from knapsolve.mdp import solve_average_cost, solve_discounted_cost
from tests.mdp.oracles import discounted_value, random_model

METHODS = ["auto", "value-iteration", "modified-policy-iteration", "policy-iteration"]


@pytest.mark.parametrize("method", METHODS)
def test_random_models_agree_with_linear_programming(method):
    rng = np.random.default_rng(0)
    for _ in range(60):
        matrices, cost = random_model(rng, rng.integers(1, 12), rng.integers(1, 4), rng.integers(1, 4))
        discount = rng.uniform(0, 0.99)
        exact = discounted_value(matrices, cost, discount)
        result = solve_discounted_cost(list(matrices), cost, discount, method=method)
        np.testing.assert_allclose(result.value, exact, atol=1e-7)
        assert (result.lower <= exact + 1e-7).all()
        assert (exact <= result.upper + 1e-7).all()
        assert (result.upper - result.lower).max() <= 1e-9


def test_without_a_future_only_the_first_cost_counts():
    result = solve_discounted_cost([np.eye(2), np.eye(2)], [[3.0, 1.0], [2.0, 5.0]], 0.0)
    np.testing.assert_allclose(result.value, [1.0, 2.0], atol=1e-9)
    assert result.policy.tolist() == [1, 0]


def test_little_discounting_approaches_the_average_cost():
    rng = np.random.default_rng(1)
    matrices = rng.dirichlet(np.ones(6), size=(3, 6))
    cost = rng.uniform(size=(6, 3))
    gain = solve_average_cost(list(matrices), cost).gain
    value = solve_discounted_cost(list(matrices), cost, 0.99999, tol=1e-6).value
    np.testing.assert_allclose(value * 1e-5, gain, atol=1e-4)


def test_running_out_of_iterations_warns_and_the_bounds_hold():
    rng = np.random.default_rng(2)
    matrices, cost = random_model(rng, 20, 3, 3)
    exact = discounted_value(matrices, cost, 0.95)
    with pytest.warns(ConvergenceWarning, match="upper - lower"):
        result = solve_discounted_cost(list(matrices), cost, 0.95, method="value-iteration", max_iter=3)
    assert (result.lower <= exact).all()
    assert (exact <= result.upper).all()


@pytest.mark.parametrize("method", ["value-iteration", "modified-policy-iteration"])
def test_iterations_end_where_rounding_keeps_the_bounds_apart(method):
    matrices, cost = random_model(np.random.default_rng(3), 60, 2, 5)
    with pytest.warns(ConvergenceWarning, match="upper - lower"):
        result = solve_discounted_cost(list(matrices), cost * 1e8, 0.9, method=method, max_iter=5000)
    assert result.n_iter < 1000
    assert (result.upper - result.lower).max() < 1e-4


@pytest.mark.filterwarnings("ignore:the discounted cost")
@pytest.mark.parametrize("method", METHODS)
def test_values_lie_between_the_least_and_the_most_a_step_however_little_is_discounted(method):
    rng = np.random.default_rng(0)
    for _ in range(100):
        matrices, cost = random_model(rng, rng.integers(1, 8), rng.integers(1, 3), rng.integers(1, 4))
        cost = np.abs(cost)
        discount = 1 - 10.0 ** -rng.uniform(10, 15.9)
        result = solve_discounted_cost(list(matrices), cost, discount, method=method, max_iter=100)
        assert (result.lower >= -1e-9).all()
        assert (result.upper <= cost[np.isfinite(cost)].max() / (1 - discount) * (1 + 1e-9)).all()
        assert (result.lower <= result.value).all()
        assert (result.value <= result.upper).all()


@pytest.mark.parametrize("discount", [1.0, -0.1, np.nan, 2])
def test_bad_discounts_are_named(discount):
    with pytest.raises(ValueError, match="discount"):
        solve_discounted_cost([np.eye(1)], [1.0], discount)
