"""Robot control at its limits: large and extreme problems, few iterations, bad parameters."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from knapsolve import RobotControl, mm1k_cost, solve_robot_control
from knapsolve.robots.problem import RobotProblem


@pytest.mark.parametrize(("rate", "weight"), [(0.3, 0.1), (1.0, 1.02), (2.0, 10.0), (3.0, 0.1)])
def test_large_problems_are_solved_within_tolerance(rate, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        control = solve_robot_control(300, 100, rate / 300, weight)
    assert control.upper - control.lower <= 1e-9
    reference = RobotControl(control.gain, 0, 0, control.bias, 0, control.problem)
    lower, upper = control.problem.solver().bounds(np.ascontiguousarray(reference.bias.T))
    assert lower - 1e-12 <= control.gain <= upper + 1e-12


def test_running_out_of_iterations_warns_and_the_bounds_hold():
    exact = solve_robot_control(16, 5, 0.1, 1.4).gain
    for method in ("relative-value-iteration", "policy-iteration"):
        with pytest.warns(ConvergenceWarning, match="upper - lower"):
            control = solve_robot_control(16, 5, 0.1, 1.4, method=method, max_iter=1)
        assert control.upper - control.lower > 1e-9
        assert control.lower <= exact <= control.upper
        assert control.lower <= control.gain <= control.upper


def test_value_iteration_makes_as_many_sweeps_as_allowed():
    with pytest.warns(ConvergenceWarning):
        runs = [
            solve_robot_control(16, 5, 0.1, 1.4, method="relative-value-iteration", max_iter=k) for k in range(1, 40)
        ]
    assert [run.n_iter for run in runs] == list(range(1, 40))
    assert all(later.upper <= run.upper for run, later in itertools.pairwise(runs))
    assert runs[-1].upper < runs[-2].upper


def test_a_tolerance_below_rounding_warns_instead_of_hanging():
    with pytest.warns(ConvergenceWarning):
        control = solve_robot_control(30, 10, 0.05, 1.4, tol=1e-18)
    assert control.upper - control.lower < 1e-11


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        ((0, 5, 0.1, 1.0), {}, "n_robots"),
        ((16, 1, 0.1, 1.0), {}, "buffer"),
        ((16, 5, 0.0, 1.0), {}, "arrival_rate"),
        ((16, 5, -1.0, 1.0), {}, "arrival_rate"),
        ((16, 5, 0.1, 0.0), {}, "starvation_weight"),
        ((16, 5, 0.1, np.nan), {}, "starvation_weight"),
        ((16, 5, 0.1, 1.0, 0.0), {}, "service_rate"),
        ((16, 5, 0.1, 1.0, np.inf), {}, "service_rate"),
        ((16, 5, 1e-305, 1e-305, 1e-305), {}, "arrival_rate"),
        ((16, 5, 1.0, 1.0, 1e-305), {}, "service_rate"),
        ((16, 5, 1e200, 1.0, 1e-200), {}, "arrival_rate / service_rate"),
        ((10**6, 10**6, 0.1, 1.0), {}, "n_robots and buffer"),
        ((16, 5, 0.1, 1.0), {"tol": 0.0}, "tol"),
        ((16, 5, 0.1, 1.0), {"max_iter": 0}, "max_iter"),
        ((16, 5, 0.1, 1.0), {"method": "guess"}, "method"),
    ],
)
def test_bad_parameters_are_named(arguments, options, name):
    with pytest.raises(ValueError, match=name):
        solve_robot_control(*arguments, **options)


@pytest.mark.parametrize(
    "arguments", [(16.0, 5, 0.1, 1.0), (16, "5", 0.1, 1.0), (16, 5, None, 1.0), (True, 5, 0.1, 1.0)]
)
def test_wrong_types_are_refused(arguments):
    with pytest.raises(TypeError):
        solve_robot_control(*arguments)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(2, 40),
    st.floats(1e-12, 1e12),
    st.floats(1e-100, 1e100),
    st.floats(1e-6, 1e6),
)
def test_extreme_parameters_end_with_bounds_or_an_error(robots, buffer, rate, weight, service):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            control = solve_robot_control(robots, buffer, rate, weight, service, max_iter=2000)
        except ValueError:
            return
    assert control.lower <= control.gain <= control.upper
    assert np.isfinite([control.gain, control.lower, control.upper]).all()
    assert set(np.unique(control.policy)) <= {0, 1}
    assert 0 <= control.n_min <= control.n_mean * (1 + 1e-9)
    assert control.n_mean <= control.n_max * (1 + 1e-9) <= robots * (1 + 1e-9)


@pytest.mark.parametrize(("robots", "buffer"), [(16, 5), (60, 10), (40, 40)])
@pytest.mark.parametrize("weight", [1e-12, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("service", [1e-9, 1.0, 1e9])
def test_weights_that_rounding_drowns_end_with_the_bounds_reached(robots, buffer, weight, service):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        control = solve_robot_control(robots, buffer, 0.1 * service, weight * service, service)
    gap = control.upper - control.lower
    assert control.lower <= control.gain <= control.upper
    assert (gap > 1e-9 * service) == any("upper - lower" in str(warning.message) for warning in caught)
    assert gap <= (1e-13 * np.abs(control.bias[np.isfinite(control.bias)]).max() + 1e-9) * service
    fixed = mm1k_cost(np.arange(1, robots + 1) * 0.1, buffer, weight * service, service).min()
    assert control.lower <= fixed * (1 + 1e-9) + 1e-9 * service


@pytest.mark.slow
def test_the_largest_grid_is_solved_within_tolerance_everywhere():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rate in np.geomspace(0.3, 3, 4):
            for weight in np.geomspace(0.1, 10, 4):
                control = solve_robot_control(1000, 300, rate / 1000, weight, tol=1e-8)
                assert control.upper - control.lower <= 1e-8
                assert control.gain <= mm1k_cost(np.arange(1, 1001) * rate / 1000, 300, weight).min() + 1e-8


@pytest.mark.parametrize("method", ["policy-iteration", "relative-value-iteration"])
@pytest.mark.parametrize("arguments", [(60, 50, 0.07, 1e4), (11, 87, 0.1818, 3.78e11), (40, 40, 0.1, 1e7)])
@pytest.mark.filterwarnings("ignore:the control problem")
def test_the_policy_costs_no_more_than_the_upper_bound_where_biases_are_large(arguments, method):
    control = solve_robot_control(*arguments, method=method, max_iter=20_000)
    cost = control.problem.solver().evaluation(control.action, np.empty(control.problem.shape))
    assert cost <= control.upper * (1 + 1e-9)


@pytest.mark.parametrize(("robots", "buffer", "load", "weight"), [(57, 91, 4.364, 4.6e8), (100, 300, 3.0, 1e8)])
@pytest.mark.filterwarnings("ignore:the control problem")
def test_large_weights_are_solved_by_policies_though_rounding_decides_between_actions(robots, buffer, load, weight):
    """Ragged switching curves could not be evaluated, and value iteration took 10,000 to 20,000 sweeps."""
    control = solve_robot_control(robots, buffer, load / robots, weight)
    assert control.n_iter < 1000
    largest = np.abs(control.bias[np.isfinite(control.bias)]).max()
    assert 0 <= control.upper - control.lower <= 1e-14 * largest
    fixed = mm1k_cost(np.arange(1, robots + 1) * load / robots, buffer, weight).min()
    assert control.lower <= fixed * (1 + 1e-9) + 1e-14 * largest


def test_the_mean_is_found_where_substitution_cannot_help():
    action = np.zeros((5, 5), dtype=np.uint8)
    action[0] = action[2, 0] = action[3, :4] = 1  # level 3 is left for level 1 in the end, and that for nothing
    control = RobotControl(0.0, 0.0, 0.0, np.zeros((5, 5)), 1, RobotProblem(4, 4, 0.3, 9.0))
    control.__dict__["action"] = action
    assert control.problem.counter().evaluation(action, np.empty((5, 5))) is None
    assert control.n_mean == pytest.approx(1.0)
    assert control.n_min == control.n_max == 1


def test_few_states_are_solved_at_rates_far_apart():
    """Value iteration, once taken for few states, stopped at bounds 2e-6 apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        control = solve_robot_control(3, 4, arrival_rate=1e-6, starvation_weight=1.0)
    assert control.lower <= control.gain <= control.upper <= control.lower + 1e-9
    assert control.gain == pytest.approx(mm1k_cost(3e-6, 4, 1.0), abs=1e-9)  # all robots, always


@pytest.mark.parametrize("arguments", [(1, 3, 1.6e-10, 613.0, 0.17), (2, 2, 170.0, 1.9e12, 1.4e12)])
@pytest.mark.parametrize("method", ["auto", "relative-value-iteration"])
def test_bounds_that_substitution_leaves_open_are_closed_by_sweeps(arguments, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        control = solve_robot_control(*arguments, method=method)
    assert control.upper - control.lower <= 1e-9 * arguments[-1]
