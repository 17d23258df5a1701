"""No room but for all bounds: items get these, also where slopes hardly fall and the next price says little."""

import numpy as np
import pytest
from nefk_oracle import solve

from knapsolve import criteria, solve_nefk

RATES, WEIGHTS = np.array([39.77383214021489, 0.6726342479695618]), np.array([4.03, 27.82518190004907])
EDGE = np.array([0.0, 0.01885230470823155])  # next to the second's slope here, an item takes 6e-5 more
PRICE = WEIGHTS[1] / RATES[1]


def test_capacity_that_is_all_lower_bounds():
    result = solve("freshness", RATES, EDGE[1], weights=WEIGHTS, lower=EDGE)
    np.testing.assert_array_equal(result.amounts, EDGE)
    assert result.residual <= 1e-12
    assert result.price == pytest.approx(PRICE, rel=1e-9)


def test_capacity_that_is_all_upper_bounds():
    rate, weight, upper = (
        np.array([0.6236257269492452]),
        np.array([13.739058291948124]),
        np.array([0.017981178653386026]),
    )
    result = solve("freshness", rate, upper[0], weights=weight, upper=upper)
    np.testing.assert_array_equal(result.amounts, upper)
    assert result.residual <= 1e-12
    assert result.price == pytest.approx(weight[0] / rate[0], rel=1e-9)


@pytest.mark.parametrize("others", [0, 20_000])
def test_a_cap_that_is_all_lower_bounds_of_a_group(others):
    """One that fits a tile, and one that does not."""
    rates = np.concatenate([RATES, np.random.default_rng(1).uniform(0.02, 0.05, others), [2.0]])
    weights, lower = np.concatenate([WEIGHTS, np.full(others, 1e-3), [1.0]]), np.append(EDGE, np.zeros(others + 1))
    groups = np.append(np.zeros(others + 2, dtype=int), -1)
    result = solve("freshness", rates, 1.0, weights=weights, lower=lower, groups=groups, group_caps=EDGE[1:])
    np.testing.assert_array_equal(result.amounts[:-1], lower[:-1])
    assert result.residual <= 1e-12
    assert result.group_prices[0] == pytest.approx(PRICE - result.price, rel=1e-9)


def test_a_quadratic_price_is_no_lower_than_any_slope_where_capacity_is_all_that_caps_allow():
    """Rounding left the sum of the caps below the capacity at any price: the search went to -1.8e71."""
    first, second = float.fromhex("0x1.43107aa850d40p+1"), float.fromhex("0x1.e87e69b5f232dp-2")
    lower = [float.fromhex("0x1.1849ce1d82a2bp-1"), float.fromhex("0x1.a46eb52c43f40p-3"), 0.0]
    caps = [0.0, float.fromhex("0x1.a46eb52c43f40p-1"), float.fromhex("0x1.5e5c41a4e34b5p-1")]
    weights, groups = [0.5, 1.0, 1.0], [1, 2, 2]
    result = solve(
        "quadratic", [first, second, first], sum(caps), weights=weights, lower=lower, groups=groups, group_caps=caps
    )
    assert result.residual <= 1e-12
    assert abs(result.price) <= 1.1 * first * sum(caps)
    assert (result.group_prices <= 4.0).all()


@pytest.mark.parametrize("n", [3, 50, 3000, 20_000, 100_000])
@pytest.mark.parametrize("kind", ["Freshness", "Detection", "PoissonFreshness", "Harmonic", "Exponential"])
def test_an_item_of_no_group_that_is_worth_nothing_takes_what_caps_leave(kind, n):
    rates = np.random.default_rng(n).lognormal(0, 1, n)
    rates[0] = 0.0
    n_groups = n // 3
    groups = np.arange(n) % n_groups
    groups[0] = -1
    result = solve_nefk(getattr(criteria, kind)(rates), 1.0, groups=groups, group_caps=0.5 / n_groups)
    assert result.price == 0.0 and result.residual <= 1e-12
    assert result.amounts[0] == pytest.approx(0.5, rel=1e-9)
