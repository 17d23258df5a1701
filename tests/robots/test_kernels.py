import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from knapsolve._core.robot_control import RobotSolver
from tests.robots.twins import bellman, evaluate_policy, policy_chain, state_costs


def random_policy(rng, kind, robots, buffer):
    """Any actions, any switching curve, or a falling one."""
    action = np.zeros((robots + 1, buffer + 1), dtype=np.uint8)
    if kind == "any":
        action[:-1] = rng.random((robots, buffer + 1)) < rng.random()
    else:
        heights = rng.integers(0, buffer + 2, robots)
        heights = -np.sort(-heights) if kind == "falling" else heights
        action[:-1] = np.arange(buffer + 1) < heights[:, None]
    action[0, 0] = 1
    return action


def recurrent_classes(chain):
    count, label = connected_components(chain > 0, connection="strong")
    return [c for c in range(count) if not (chain[label == c][:, label != c] > 0).any()]


@pytest.mark.parametrize("kind", ["any", "curve", "falling"])
def test_evaluation_by_substitution_equals_a_dense_solution(kind):
    rng = np.random.default_rng(0)
    solved = 0
    for _ in range(400):
        robots, buffer = rng.integers(1, 9), rng.integers(2, 9)
        action = random_policy(rng, kind, robots, buffer)
        load, empty, active = rng.uniform(0.2, 3) / robots, rng.uniform(0.1, 10), rng.choice([0.0, 0.3])
        if len(recurrent_classes(policy_chain(action, load)[1:, 1:])) > 1:
            continue
        bias = np.empty(action.shape)
        gain = RobotSolver(robots, buffer, load, empty, load, active).evaluation(action, bias)
        if gain is None:  # refused, never wrong; rare, and never for a falling curve
            assert kind != "falling"
            continue
        exact, exact_bias = evaluate_policy(action, load, state_costs(robots, buffer, empty, load, active))
        assert gain == pytest.approx(exact, rel=1e-8)  # the dense one is the less exact
        np.testing.assert_allclose((bias - bias[1, 1]).ravel()[1:], exact_bias.ravel()[1:], atol=1e-7)
        solved += 1
    assert solved > 200


@pytest.mark.parametrize(("robots", "buffer"), [(1, 2), (3, 7), (40, 33), (60, 50)])
def test_evaluation_and_sweeps_have_the_same_bits_on_every_processor(robots, buffer):
    rng = np.random.default_rng(1)
    action = random_policy(rng, "falling", robots, buffer)
    start, results = rng.random(action.shape), []
    for cpu in (0, 1, 2):
        solver = RobotSolver(robots, buffer, 1 / robots, 1.3, 1 / robots, cpu=cpu)
        bias = np.empty(action.shape)
        gain = solver.evaluation(action, bias)
        values = start.copy()
        values[0, 0] = np.inf
        solver.iterate_values(values, 0.999, 1e-300, 10, 10, np.empty((robots + 3, buffer + 1)))
        results.append((gain, bias, values))
    for gain, bias, values in results[1:]:
        assert gain == results[0][0]
        assert np.array_equal(bias, results[0][1])
        assert np.array_equal(values, results[0][2])


@pytest.mark.parametrize("sweeps", [1, 2, 5])
@pytest.mark.parametrize(("robots", "buffer"), [(1, 2), (2, 5), (7, 3), (5, 40)])
def test_a_sweep_equals_its_twin(robots, buffer, sweeps):
    rng = np.random.default_rng(2)
    load, empty, step = 0.8 / robots, 1.7, 0.9
    values = rng.normal(size=(robots + 1, buffer + 1))
    values[0, 0] = np.inf
    expected = values.copy()
    for _ in range(sweeps):
        image = bellman(expected, robots, buffer, load, empty, load)
        with np.errstate(invalid="ignore"):
            expected = (1 - step) * expected + step * (image - image[1, 1])
        expected[0, 0] = np.inf
        expected -= (1 - step) * expected[1, 1] * (expected[1, 1] != 0)
    solver = RobotSolver(robots, buffer, load, empty, load)
    solver.iterate_values(values, step, 1e-300, sweeps, sweeps, np.empty((robots + 3, buffer + 1)))
    shift = values.ravel()[1:] - expected.ravel()[1:]
    np.testing.assert_allclose(shift, shift[0], atol=1e-12)
    assert values[1, 1] == pytest.approx(0, abs=1e-12)


def test_bounds_are_those_of_the_twin_moved_outwards():
    rng = np.random.default_rng(3)
    for _ in range(20):
        robots, buffer = rng.integers(1, 9), rng.integers(2, 9)
        bias = rng.normal(size=(robots + 1, buffer + 1)) * 10
        bias[0, 0] = np.inf
        difference = (
            bellman(bias, robots, buffer, 0.3, 2.0, 0.3).ravel() - np.where(np.isinf(bias), 0, bias).ravel()
        )[1:]
        lower, upper = RobotSolver(robots, buffer, 0.3, 2.0, 0.3).bounds(bias)
        assert lower <= difference.min() + 1e-14
        assert lower == pytest.approx(difference.min(), abs=1e-12)
        assert upper == pytest.approx(difference.max(), abs=1e-12)


def test_improvement_keeps_what_is_as_good_and_takes_what_is_better():
    bias = np.array([[np.inf, 1.0, 2.0], [0.0, 1.0, 2.5], [0.0, 0.5, 2.4]])
    action = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=np.uint8)
    changed = RobotSolver(2, 2, 0.5, 1.0, 0.5).improve(bias, action, 0.2)
    assert action.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert changed == 3
