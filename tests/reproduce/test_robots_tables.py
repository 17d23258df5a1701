import numpy as np
import pytest

from knapsolve import optimal_robots, solve_robot_control
from knapsolve.reproduce.robots_iteration import paper_value_iteration
from knapsolve.reproduce.robots_tables import FIGURES, TABLE_1, TABLE_2, printed_rows, printed_weight
from knapsolve.robots.problem import RobotProblem

MISPRINTED_COST = {(0.05, 10, 1.2): 0.08156, (0.05, 10, 2.4): 0.12020}
MISPRINTED_MOST = {(0.05, 5, 2.4): 31, (0.1, 5, 1.4): 15, (0.1, 5, 2.4): 17}


def same(ours, printed, digits):
    return abs(ours - printed) <= 0.5 * 10.0**-digits * (1 + 1e-6)


@pytest.mark.parametrize(("figure", "weight", "cost", "n_iter"), FIGURES)
def test_captions_of_figures_6_to_8(figure, weight, cost, n_iter):
    gain, _, iterations = paper_value_iteration(RobotProblem(16, 5, 0.1, weight))
    assert iterations == n_iter
    assert same(gain, cost, 5)


@pytest.mark.parametrize("row", printed_rows(TABLE_1), ids=str)
def test_table_1(row):
    lam, buffer, printed, c_s, n_s, c_d, n_min, n_mean, n_iter = row
    weight = printed_weight(printed)
    n, cost = optimal_robots(lam, int(buffer), weight)
    assert n == n_s
    assert same(cost, c_s, 5)
    gain, _, iterations = paper_value_iteration(RobotProblem(int(n), int(buffer), lam, weight))
    assert same(gain, c_d, 5)
    assert iterations == n_iter - 1  # the printed count is one more than the iterations, in every row
    control = solve_robot_control(int(n), int(buffer), lam, weight)
    assert 0 <= round(c_d - control.gain, 5) <= 4e-5 + 1e-9
    assert control.n_min == n_min
    assert abs(control.n_mean - n_mean) <= 0.051


@pytest.mark.parametrize("row", printed_rows(TABLE_2), ids=str)
def test_table_2(row):
    lam, buffer, printed, _, _, c_d, n_min, n_mean, n_max = row
    control = solve_robot_control(int(4 / lam), int(buffer), lam, printed_weight(printed))
    assert same(control.gain, MISPRINTED_COST.get(row[:3], c_d), 5)
    assert control.n_min == n_min
    assert abs(control.n_mean - n_mean) <= 0.051
    assert control.n_max == MISPRINTED_MOST.get(row[:3], n_max)


def test_printed_costs_are_off_the_optimum_in_eight_rows():
    off = 0
    for lam, buffer, printed, _, n_s, c_d, *_ in printed_rows(TABLE_1):
        gain = solve_robot_control(int(n_s), int(buffer), lam, printed_weight(printed)).gain
        off += not same(gain, c_d, 5)
    assert off == 8


def test_the_papers_iteration_ends_near_the_optimal_bias():
    problem = RobotProblem(16, 5, 0.1, 1.4)
    gain, bias, _ = paper_value_iteration(problem)
    control = solve_robot_control(16, 5, 0.1, 1.4)
    assert gain == pytest.approx(control.gain, abs=1e-9)
    np.testing.assert_allclose((bias - bias[1, 1]).ravel()[1:], control.bias.T.ravel()[1:], atol=0.02)
