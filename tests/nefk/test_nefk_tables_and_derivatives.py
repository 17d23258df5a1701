"""Tabulated and callable criteria agree with closed forms, linear programming and hand calculations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nefk_oracle import FAMILIES, random_parameters, slope, solve
from scipy import optimize

from knapsolve import criteria, solve_nefk

GRID = np.array([0.0, 0.5, 1.0, 2.0, 4.0])


def test_rising_values_are_pooled_to_their_mean():
    criterion = criteria.Tabulated(GRID, [3.0, 1.0, 2.0, 0.5, 0.0])
    np.testing.assert_allclose(criterion.derivative(GRID), [3, 1.5, 1.5, 0.5, 0])
    assert criterion.derivative(5.0) == criterion.value(5.0) == -np.inf
    assert criterion.value(1.0) == pytest.approx(0.25 * (3 + 1.5) + 0.5 * 1.5)


def test_value_is_the_integral_of_the_derivative():
    criterion = criteria.Tabulated(GRID[1:], [[3.0, 2.0, 0.5, -1.0], [1.0, 1.0, 1.0, 0.0]])
    x = np.array([3.3, 1.7])
    dense = np.linspace(0, 1, 200_001)[:, None] * x
    slopes = np.array([criterion.derivative(row) for row in dense[::20]])
    np.testing.assert_allclose(criterion.value(x), np.trapezoid(slopes, dense[::20], axis=0), rtol=1e-7)


def test_level_pieces_that_meet_the_price_share_in_proportion_to_their_lengths():
    levels = [[2.0, 2.0, 1.0], [2.0, 1.0, 1.0], [0.9, 0.5, 0.1]]
    criterion = criteria.Tabulated([0.0, 1.0, 3.0], levels)
    result = solve_nefk(criterion, 3.0)
    # above price 1: the first takes 3 at slope 1 (its end), the second 1; the second's level piece [1, 3] is at 1
    assert result.residual <= 1e-12
    steps = criteria.Tabulated([0.0, 1.0, 1.0 + 1e-9, 4.0], [[2.0, 2, 1, 1], [3.0, 3, 1, 1]])
    shared = solve_nefk(steps, 5.0)
    np.testing.assert_allclose(shared.amounts, [2.5, 2.5], rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_tabulated_step_functions_equal_linear_programming(seed):
    """Nearly vertical steps make the problem a linear programme over pieces."""
    generator = np.random.default_rng(seed)
    n, m, eps = 6, 4, 1e-9
    heights = -np.sort(-generator.uniform(0.1, 3.0, (n, m)), axis=1)
    w = generator.uniform(0.5, 2.0, n)
    grid = np.sort(np.concatenate([[0.0], np.arange(1, m) - eps, np.arange(1, m), [m]]).astype(float))
    result = solve_nefk(criteria.Tabulated(grid, np.repeat(heights, 2, axis=1)), 9.7, weights=w)
    exact = optimize.linprog(-(w[:, None] * heights).ravel(), A_eq=np.ones((1, n * m)), b_eq=[9.7], bounds=(0, 1))
    assert result.value == pytest.approx(-exact.fun, rel=1e-7)
    assert math.fsum(result.amounts) == pytest.approx(9.7, rel=1e-13)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.99), st.booleans())
def test_any_table_is_solved_to_1e_minus_12(seed, share, grouped):
    generator = np.random.default_rng(seed)
    n, m = generator.integers(1, 9), generator.integers(2, 12)
    grid = np.cumsum(generator.exponential(size=m))
    values = generator.standard_normal((n, m)).round(1)  # many ties and level pieces
    w = generator.uniform(0.1, 3.0, n)
    more = {"groups": generator.integers(-1, 2, n), "group_caps": [0.7 * n * grid[-1]] * 2} if grouped else {}
    room = n * grid[-1]
    if grouped:
        sizes = np.bincount(more["groups"] + 1, minlength=3)
        room = sizes[0] * grid[-1] + np.minimum(sizes[1:] * grid[-1], more["group_caps"]).sum()
    result = solve_nefk(criteria.Tabulated(grid, values), share * room, weights=w, **more)
    assert result.residual <= 1e-12
    assert (result.amounts >= 0).all() and (result.amounts <= grid[-1]).all()


def test_a_fine_table_of_freshness_comes_near_freshness():
    rate = np.array([1.0, 2.0, 5.0, 10.0])
    grid = np.linspace(0, 20, 20_001)
    values = slope("freshness", rate[:, None], np.maximum(grid, 1e-9))
    table, exact = solve_nefk(criteria.Tabulated(grid, values), 20.0), solve("freshness", rate, 20.0)
    np.testing.assert_allclose(table.amounts, exact.amounts, rtol=1e-4)
    assert table.value == pytest.approx(exact.value, rel=1e-5)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_derivative_alone_gives_the_answer_of_the_closed_form(family, grouped):
    generator = np.random.default_rng(3)
    n = 12
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    more = {"groups": np.arange(n) % 3 - 1, "group_caps": [0.6, 1.1]} if grouped else {}
    closed = solve(family, p, 5.0, weights=w, upper=2.0, **more)

    at_zero = FAMILIES[family](p).derivative(np.zeros(n))
    value = FAMILIES[family](p).value if family == "harmonic" else None  # whose integral from 0 is infinite

    def derivative(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, slope(family, p, x), at_zero)

    result = solve_nefk(criteria.FromDerivative(derivative, value), 5.0, weights=w, upper=2.0, **more)
    assert result.residual <= 1e-12
    np.testing.assert_allclose(result.amounts, closed.amounts, rtol=1e-9, atol=1e-9)
    assert result.value == pytest.approx(closed.value, rel=1e-9)


def test_a_derivative_with_jumps_is_solved_between_its_jumps():
    result = solve_nefk(
        criteria.FromDerivative(lambda x: np.where(x < 1, 2.0, np.where(x < 3, 1.0, 0.5))),
        7.0,
        weights=[1.0, 1.0, 1.0],
    )
    assert result.price == 1.0
    np.testing.assert_allclose(result.amounts, 7 / 3, rtol=1e-14)
    assert result.residual <= 1e-12


def test_a_given_value_is_used():
    criterion = criteria.FromDerivative(lambda x: 1 / (1 + x), np.log1p)
    result = solve_nefk(criterion, 3.0, weights=[1.0, 2.0])
    assert result.value == pytest.approx(np.sum([1, 2] * np.log1p(result.amounts)), rel=1e-15)
