"""Robot control: its costs, bounds and curves are those of the exact chain, whatever the method and the unit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import RobotControl, mm1k_cost, solve_robot_control
from knapsolve.robots import control as control_module
from knapsolve.robots.control import iterate_policy
from knapsolve.robots.problem import RobotProblem, prolong_policy
from tests.robots.twins import bellman, evaluate_policy, policy_chain, state_costs

problems = st.builds(
    RobotProblem,
    st.integers(1, 12),
    st.integers(2, 12),
    st.floats(0.02, 1.0),
    st.floats(0.05, 20.0),
    st.floats(0.2, 5.0),
)


def solve(problem, **options):
    return solve_robot_control(
        *(getattr(problem, name) for name in RobotProblem.__dataclass_fields__), **options
    )


@pytest.mark.parametrize(("weight", "gain"), [(1.0, 0.2090741), (1.4, 0.2592396), (2.0, 0.3221147)])
@pytest.mark.parametrize("method", ["auto", "policy-iteration", "relative-value-iteration"])
def test_costs_of_the_papers_figures(weight, gain, method):
    control = solve_robot_control(16, 5, 0.1, weight, method=method)
    assert control.gain == pytest.approx(gain, abs=1e-7)
    assert control.lower <= control.gain <= control.upper <= control.lower + 1e-9


@settings(max_examples=60, deadline=None)
@given(problems)
def test_the_policys_exact_cost_is_within_certified_bounds(problem):
    control = solve(problem)
    cost = state_costs(problem.n_robots, problem.buffer, problem.starvation_weight, problem.arrival_rate)
    exact, _ = evaluate_policy(control.action, problem.load, cost)
    assert control.upper - control.lower <= 1e-9 * problem.service_rate
    assert control.lower - 1e-9 <= exact <= control.upper + 1e-9


@settings(max_examples=40, deadline=None)
@given(problems)
def test_gain_and_bias_solve_the_optimality_equation(problem):
    control = solve(problem)
    image = bellman(
        control.bias.T.copy(), problem.n_robots, problem.buffer, problem.load, problem.weight, problem.load
    ).ravel()[1:]
    residual = (image - control.bias.T.ravel()[1:]) * problem.service_rate
    np.testing.assert_allclose(residual, control.gain, atol=2e-9)
    assert control.bias[1, 1] == 0
    assert control.bias[0, 0] == np.inf


@settings(max_examples=40, deadline=None)
@given(problems)
def test_control_is_never_worse_than_any_fixed_number_of_robots(problem):
    numbers = np.arange(1, problem.n_robots + 1)
    fixed = mm1k_cost(numbers * problem.load, problem.buffer, problem.starvation_weight, problem.service_rate)
    assert solve(problem).gain <= fixed.min() + 1e-9


@settings(max_examples=30, deadline=None)
@given(problems)
def test_value_iteration_and_policy_iteration_agree(problem):
    one = solve(problem, method="policy-iteration")
    other = solve(problem, method="relative-value-iteration", tol=1e-7)
    assert one.gain == pytest.approx(other.gain, abs=1e-7 * problem.service_rate)
    assert other.lower <= one.upper
    assert one.lower <= other.upper


@settings(max_examples=30, deadline=None)
@given(problems, st.floats(0.1, 10.0))
def test_the_unit_of_time_does_not_matter(problem, unit):
    other = solve_robot_control(
        problem.n_robots, problem.buffer, problem.arrival_rate * unit, problem.starvation_weight * unit,
        problem.service_rate * unit,
    )  # fmt: skip
    control = solve(problem)
    assert other.gain == pytest.approx(control.gain * unit, abs=2e-9 * unit)


@pytest.mark.parametrize("method", ["auto", "relative-value-iteration"])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_results_in_another_unit_of_time_have_the_same_bits(method, unit):
    control = solve_robot_control(16, 5, 0.1, 1.4, method=method)
    other = solve_robot_control(16, 5, 0.1 * unit, 1.4 * unit, unit, method=method)
    for name in ("gain", "lower", "upper"):
        assert getattr(other, name) == getattr(control, name) * unit
    assert np.array_equal(other.bias, control.bias)
    assert np.array_equal(other.policy, control.policy)


@settings(max_examples=20, deadline=None)
@given(problems)
def test_more_robots_never_cost_more(problem):
    more = RobotProblem(
        problem.n_robots + 1, *(getattr(problem, n) for n in list(RobotProblem.__dataclass_fields__)[1:])
    )
    assert solve(more).gain <= solve(problem).gain + 1e-9


@settings(max_examples=30, deadline=None)
@given(problems)
def test_range_and_mean_of_active_robots_are_those_of_the_chain(problem):
    control = solve(problem)
    chain = policy_chain(control.action, problem.load)
    reach = np.linalg.matrix_power(0.5 * (chain + np.eye(len(chain))), 2**22)[problem.shape[1] + 1]
    active = reach.reshape(problem.shape).sum(axis=1)
    assert control.n_mean == pytest.approx(active @ np.arange(problem.n_robots + 1), abs=1e-6)
    seen = np.flatnonzero(active > 1e-9)
    assert control.n_min <= seen.min()
    assert control.n_max >= seen.max()
    assert (active[: control.n_min] < 1e-9).all()
    assert (active[control.n_max + 1 :] < 1e-9).all()


@pytest.mark.parametrize("weight", [0.3, 1.4, 4.0])
@pytest.mark.parametrize(("robots", "buffer"), [(16, 5), (40, 12), (90, 30)])
def test_the_policy_is_a_falling_switching_curve(robots, buffer, weight):
    control = solve_robot_control(robots, buffer, 1.6 / robots, weight)
    for actions in control.policy[0][1:], control.policy[1][:, 1:]:
        rows = actions.astype(int)
        assert (np.diff(rows, axis=0) <= 0).all()
        assert (np.diff(rows, axis=1) <= 0).all()


def test_policy_is_indexed_by_event_queue_and_active():
    control = solve_robot_control(6, 4, 0.3, 1.0)
    for queue in range(5):
        for active in range(7):
            after_departure = control.action[active, queue - 1] if queue else 0
            after_arrival = control.action[active - 1, min(queue + 1, 4)] if active else 0
            assert control.policy[0, queue, active] == after_departure
            assert control.policy[1, queue, active] == after_arrival
    assert control.policy[0, 1, 0] == 1  # forced: else nothing would ever happen again


def test_a_start_that_cannot_be_evaluated_is_left_by_value_iteration(monkeypatch):
    start = np.zeros((7, 6), dtype=np.uint8)
    start[[0, 2, 3, 5]] = 1  # two levels that nothing leaves
    problem = RobotProblem(6, 5, 0.3, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(control_module, "coarse_start", lambda problem: start.copy())
        control = iterate_policy(problem, 1e-9, 1000)
    assert control.gain == pytest.approx(solve(problem).gain, abs=1e-9)
    assert control.upper - control.lower <= 1e-9


def test_a_prolonged_curve_has_the_same_shape():
    coarse = np.zeros((5, 4), dtype=np.uint8)
    coarse[:4] = np.arange(4) < np.array([4, 3, 1, 0])[:, None]
    fine = prolong_policy(coarse, (9, 8))
    assert fine[:-1].sum(axis=1).tolist() == [
        8,
        8,
        6,
        5,
        3,
        2,
        0,
        0,
    ]  # 8, 7.5, 6.5, 5, 3, 1.5, 0.5, 0 rounded


def test_ties_leave_the_number_of_robots_as_it_is():
    problem = RobotProblem(3, 2, 0.3, 1.0)
    flat = np.zeros(problem.shape).T
    flat[0, 0] = np.inf
    flat[2, 2] = -1e-14
    action = RobotControl(0.0, 0.0, np.inf, flat, 1, problem).action
    assert action.sum() == action[0, 0] == 1
