"""Answers known in closed form or to 18 digits."""

import numpy as np
import pytest
from nefk_oracle import assert_optimal, solve

from knapsolve import criteria, solve_nefk


def test_freshness_of_four_rates_at_small_capacity():
    result = solve("freshness", [1.0, 2, 5, 10], 1.0)
    np.testing.assert_allclose(result.amounts, [0.615585085750507984, 0.384414914249492016, 0, 0], rtol=1e-14)
    assert result.price == pytest.approx(0.482937502869463282, rel=1e-14)
    assert list(result.side) == [0, 0, -1, -1]


def test_freshness_of_four_rates_at_large_capacity():
    expected = [3.08927435001796489, 4.15233500037829035, 5.83607149358109575, 6.92231916035264901]
    result = solve("freshness", [1.0, 2, 5, 10], 20.0)
    np.testing.assert_allclose(result.amounts[:3], expected[:3], rtol=1e-14)
    assert result.amounts[3] == pytest.approx(20 - sum(expected[:3]), rel=1e-14)


@pytest.mark.parametrize(("capacity", "expected"), [(3.0, [2, 1, 0]), (5.0, [3, 2, 0])])
def test_water_filling_also_exactly_on_a_breakpoint(capacity, expected):
    np.testing.assert_allclose(solve("logarithmic", [1.0, 2, 4], capacity).amounts, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(("capacity", "expected"), [(4.0, [3, 1]), (1.0, [1, 0])])
def test_poisson_freshness_of_two_weights(capacity, expected):
    result = solve("poisson", 1.0, capacity, weights=[4.0, 1.0])
    np.testing.assert_allclose(result.amounts, expected, rtol=1e-15, atol=1e-15)


def test_group_cap_splits_water():
    result = solve("logarithmic", np.ones(4), 10.0, groups=[0, 0, -1, -1], group_caps=[1.0])
    np.testing.assert_allclose(result.amounts, [0.5, 0.5, 4.5, 4.5], rtol=1e-15)
    assert result.price == pytest.approx(1 / 5.5, rel=1e-15)
    assert result.group_prices[0] == pytest.approx(1 / 1.5 - 1 / 5.5, rel=1e-14)


def test_detection_with_equal_weights_is_proportional_to_the_rates():
    rate = np.exp(np.random.default_rng(1).standard_normal(1000))
    result = solve("detection", rate, 300.0)
    np.testing.assert_allclose(result.amounts, 300 * rate / rate.sum(), rtol=1e-13)


def test_fractional_knapsack_is_greedy_and_ties_share_by_their_bounds():
    result = solve_nefk(criteria.Linear(), 5.0, weights=[3.0, 2, 2, 1], upper=[1.0, 2, 4, 9])
    np.testing.assert_allclose(result.amounts, [1, 4 / 3, 8 / 3, 0], rtol=1e-15)
    assert result.price == 2.0


def test_two_tabulated_lines_meet_where_algebra_says():
    grid = np.arange(101) / 100
    result = solve_nefk(criteria.Tabulated(grid, [1 - 0.9 * grid, 0.8 - 0.2 * grid]), 1.0)
    assert result.amounts[0] == pytest.approx(0.3636363636363636, rel=1e-14)


def test_material_that_always_changes_is_linear_and_one_that_never_does_gets_nothing():
    result = solve_nefk(criteria.Detection([np.inf, 1.0, 0.0]), 5.0, weights=[0.5, 1.0, 9.0])
    assert result.price == 0.5
    assert result.amounts[2] == 0
    assert result.amounts[1] == pytest.approx(1 / 1.6783469900166605, rel=1e-14)  # P(2, z) = 1/2
    assert result.residual < 1e-15


def test_always_changing_materials_of_equal_weight_share_equally():
    result = solve_nefk(criteria.Detection([np.inf, 0.0, np.inf]), 3.0, weights=[2.0, 5.0, 2.0])
    np.testing.assert_allclose(result.amounts, [1.5, 0, 1.5], rtol=1e-15)


@pytest.mark.parametrize("rate", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("capacity", [1e-12, 1e-3, 1.0, 1e12])
@pytest.mark.parametrize("family", ["detection", "freshness", "poisson", "harmonic", "logarithmic", "exponential"])
def test_one_item_takes_everything(family, rate, capacity):
    result = solve(family, [rate], capacity)
    assert result.amounts[0] == pytest.approx(capacity, rel=1e-12)
    assert result.residual <= 1e-12


def test_quadratic_with_more_capacity_than_is_good_has_a_negative_price():
    result = solve("quadratic", [1.0, 1.0], 5.0, weights=[1.0, 2.0])
    np.testing.assert_allclose(result.amounts, [3, 2], rtol=1e-15)
    assert result.price == -2.0


def test_at_most_leaves_capacity_that_is_no_good():
    result = solve("quadratic", [1.0, 1.0], 5.0, weights=[1.0, 2.0], equality=False)
    np.testing.assert_array_equal(result.amounts, [1, 1])
    assert (result.price, result.residual) == (0.0, 0.0)


def test_no_capacity_gives_nothing():
    for family in (
        "detection",
        "freshness",
        "poisson",
        "logarithmic",
        "exponential",
        "quadratic",
        "harmonic",
    ):
        result = solve(family, [1.0, 2, 3], 0.0)
        np.testing.assert_array_equal(result.amounts, 0)
        assert result.residual == 0
    assert solve("harmonic", [1.0], 0.0).price == np.inf


def test_capacity_beyond_all_worth_goes_to_the_worthless():
    result = solve("freshness", [1.0, 2, 3], 5.0, weights=[1.0, 0, 0], upper=[1.0, np.inf, 2])
    assert result.amounts[0] == 1.0
    assert result.amounts.sum() == pytest.approx(5.0)
    assert (result.price, result.residual) == (0.0, 0.0)


def test_exponential_whose_price_underflows_keeps_equal_slopes_in_the_logarithm():
    rate, weight = np.array([1.0, 2.0, 4.0]), np.array([1.0, 5.0, 0.1])
    result = solve_nefk(criteria.Exponential(rate), 1e5, weights=weight)
    log_slope = np.log(weight * rate) - rate * result.amounts
    np.testing.assert_allclose(log_slope, log_slope[0], rtol=1e-13)
    assert result.price == 0.0
    assert result.residual <= 1e-12


@pytest.mark.parametrize("capacity", [1.0, 20.0])
def test_the_checker_itself_rejects_a_wrong_answer(capacity):
    result = solve("freshness", [1.0, 2, 5, 10], capacity)
    result.amounts[:2] += [1e-9, -1e-9]
    with pytest.raises(AssertionError):
        assert_optimal("freshness", [1.0, 2, 5, 10], result, capacity)


INF = np.inf


@pytest.mark.parametrize(
    ("criterion", "value", "slope"),
    [
        (criteria.Detection([2.0, 0.0, INF]), [2.0, 0.0, INF], [0.0, 0.0, 1.0]),
        (criteria.Freshness([2.0, 0.0]), [1.0, 1.0], [0.0, 0.0]),
        (criteria.PoissonFreshness([2.0, 0.0]), [1.0, 1.0], [0.0, 0.0]),
        (criteria.Harmonic([1e140, 0.0]), [0.0, 0.0], [0.0, 0.0]),
        (criteria.Logarithmic([2.0, 1e-9]), [INF, INF], [0.0, 0.0]),
        (criteria.Power([0.01, 0.999]), [INF, INF], [0.0, 0.0]),
        (criteria.Exponential([2.0, 0.0, 1e-251]), [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
        (criteria.Quadratic([2.0, 0.0, 1e-300]), [-INF, INF, -INF], [-INF, 1.0, -INF]),
    ],
)
def test_values_and_slopes_of_amounts_without_end_are_the_limits(criterion, value, slope):
    np.testing.assert_array_equal(criterion.value(INF), value)
    np.testing.assert_array_equal(criterion.derivative(INF), slope)
    assert np.isfinite(criterion.value(1.0)).all()


@pytest.mark.parametrize(
    ("slope", "amounts", "values"),
    [
        (lambda x: np.exp(-x), [0.0, 1.0, 1e8, 1e300, INF], [0.0, -np.expm1(-1.0), 1.0, 1.0, 1.0]),
        (lambda x: 1.0 / (1.0 + x), [1e-10, 1.0, 1e200], np.log1p([1e-10, 1.0, 1e200])),
        (lambda x: 0.5 / np.sqrt(x), [1e-300, 1.0, 1e6], [1e-150, 1.0, 1e3]),
    ],
)
def test_values_of_a_derivative_are_its_integrals_at_any_scale(slope, amounts, values):
    """Between a few nodes for all of [0, x] lay all that matters."""
    np.testing.assert_allclose(criteria.FromDerivative(slope).value(amounts), values, rtol=2e-12)
