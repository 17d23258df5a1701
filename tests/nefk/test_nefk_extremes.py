"""Residuals of at most 1e-12 wherever doubles reach."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from nefk_oracle import FAMILIES, assert_optimal, random_parameters, solve
from scipy import special
from sklearn.exceptions import ConvergenceWarning

import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk

FINITE_SLOPE = ["detection", "freshness", "poisson", "logarithmic", "exponential", "quadratic"]


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_planted_freshness_is_found_again(n):
    """Rates 1e-9 .. 1e6 and z = 1e-8 .. 20 in one problem; the price and the amounts are known beforehand."""
    generator = np.random.default_rng(n)
    price, z = 0.37, 10 ** generator.uniform(-8, np.log10(20), n)
    rate = 10 ** generator.uniform(-9, 6, n)
    weight, planted = price * rate / special.gammainc(2, z), rate / z
    result = solve("freshness", rate, planted.sum(), weights=weight, n_jobs=2)
    assert result.price == pytest.approx(price, rel=1e-12)
    assert_optimal("freshness", rate, result, planted.sum(), weight)
    np.testing.assert_allclose(result.amounts, planted, rtol=1e-9)


@pytest.mark.parametrize("capacity", [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("family", FAMILIES)
def test_capacities_over_twenty_four_decades(family, capacity):
    generator = np.random.default_rng(5)
    p = random_parameters(family, 500, generator, spread=5.0)
    w = np.exp(2 * generator.standard_normal(500))
    result = solve(family, p, capacity, weights=w)
    assert result.residual <= 1e-12
    if not (family == "exponential" and result.price < 1e-200):
        assert_optimal(family, p, result, capacity, w)


@pytest.mark.parametrize("family", FINITE_SLOPE)
def test_ties_share_alike(family):
    p, w = np.repeat(random_parameters(family, 3, np.random.default_rng(2)), 4), np.repeat([1.0, 2.0, 3.0], 4)
    for capacity in (1e-9, 1e-2, 1.0, 50.0):
        result = solve(family, p, capacity, weights=w)
        assert_optimal(family, p, result, capacity, w)
        shares = result.amounts.reshape(3, 4)
        np.testing.assert_array_equal(shares, shares[:, :1] * np.ones(4))


@pytest.mark.parametrize("family", FAMILIES)
def test_all_items_at_their_bounds(family):
    p = random_parameters(family, 6, np.random.default_rng(3))
    edge = np.array([0.5, 1.0, 0.1, 2.0, 0.7, 0.3])
    for lower, upper in ((edge, 9 * edge), (0.1 * edge, edge), (edge, edge)):
        capacity = float(edge.sum())
        result = solve(family, p, capacity, lower=lower, upper=upper)
        np.testing.assert_allclose(result.amounts, edge, rtol=1e-14)
        assert result.residual <= 1e-12


KINDS = {name: lambda n, make=make: make(np.linspace(0.2, 0.9, n)) for name, make in FAMILIES.items()} | {
    "linear": lambda n: criteria.Linear(),
    "tabulated": lambda n: criteria.Tabulated([0.0, 1.0, 2.0], np.tile([1.0, 0.1, -2.0], (n, 1))),
    "derivative": lambda n: criteria.FromDerivative(lambda x: 1.0 - 0.7 * x),
}


@pytest.mark.parametrize("n", [1, 3, 40, pytest.param(40_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("per_group", [0, 1, 3, 20_000])
@pytest.mark.parametrize("kind", KINDS)
def test_no_price_is_negative_where_lower_bounds_take_all_and_capacity_may_be_left_over(kind, per_group, n):
    """At the lower bounds the value of some families falls: one more unit would stay unused."""
    lower = np.linspace(1.5, 1.9, n) if kind == "tabulated" else np.linspace(6.0, 9.0, n)
    options = {"lower": lower}
    if per_group:
        groups = np.arange(n)[::-1] // per_group
        options |= {"groups": groups, "group_caps": np.bincount(groups, lower) + np.arange(groups[0] + 1) % 2}
    for capacity in (lower.sum(), lower.sum() * (1 + 1e-13)):
        criterion = KINDS[kind](n)
        result = solve_nefk(criterion, capacity, equality=False, **options)
        np.testing.assert_array_equal(result.amounts, lower)
        assert result.residual <= 1e-12
        assert result.price >= 0.0
        own = np.zeros(n) if not per_group else result.group_prices[options["groups"]]
        assert (own >= 0.0).all()
        assert np.all(criterion.derivative(lower) <= (result.price + own) * (1 + 1e-12))
    assert solve_nefk(KINDS[kind](n), lower.sum(), **options).price <= result.price  # any sign where all must be used


@pytest.mark.parametrize("item", range(5))
def test_items_exactly_on_their_breakpoint(item):
    """The capacity at which the price is exactly an item's slope at 0."""
    rate = np.array([1.0, 1.5, 2.0, 4.0, 8.0])
    price = 1 / rate[item]
    z = np.array([special.gammaincinv(2, price * r) if price * r < 1 else np.inf for r in rate])
    planted = rate / z
    if planted.sum() == 0:
        return
    result = solve("freshness", rate, planted.sum())
    assert_optimal("freshness", rate, result, planted.sum())
    np.testing.assert_allclose(result.amounts[:item], planted[:item], rtol=1e-9)


@pytest.mark.parametrize("share", [1e-3, 0.05, 0.5, 0.99])
def test_an_item_on_the_vertical_piece_after_its_activation(share):
    """x = rate / z climbs to rate / 40 before the price moves by one unit in the last place."""
    rate = np.array([1.0, 2.0])
    z = special.gammaincinv(2, 0.5)
    capacity = 1.0 / z + share * 2.0 / 60.0
    result = solve("freshness", rate, capacity)
    assert_optimal("freshness", rate, result, capacity)
    assert result.amounts[1] == pytest.approx(share * 2.0 / 60.0, rel=1e-9)


@pytest.mark.parametrize("family", ["harmonic", "power"])
def test_an_infinite_slope_at_zero_never_gets_nothing(family):
    p = random_parameters(family, 300, np.random.default_rng(4), spread=4.0)
    for capacity in (1e-12, 1.0, 1e6):
        result = solve(family, p, capacity)
        assert (result.amounts > 0).all()
        assert_optimal(family, p, result, capacity)


def test_rates_from_1e_minus_9_to_1e6_in_one_problem():
    rate = np.logspace(-9, 6, 400)
    for family in ("detection", "freshness", "poisson", "harmonic", "logarithmic"):
        for capacity in (1e-12, 1e-3, 10.0, 1e12):
            assert_optimal(family, rate, solve(family, rate, capacity), capacity)


def test_amounts_that_no_price_can_tell_apart_are_right_and_doubtful_ones_warned_of(monkeypatch):
    """At 1e-17 of the scale all slopes are one number, and a cap is a hair above its group's lower bounds."""
    given = json.loads((Path(__file__).parent / "indistinct_slopes.json").read_text())
    upper = [np.inf if each is None else each for each in given["upper"]]
    limits = {"groups": given["groups"], "group_caps": given["caps"], "lower": given["lower"], "upper": upper}
    criterion = criteria.Logarithmic(np.full(30, given["scale"]))
    assert solve_nefk(criterion, given["capacity"], **limits).residual <= 1e-12
    monkeypatch.setattr(solver_module, "DOUBTFUL", -1.0)
    with pytest.warns(ConvergenceWarning, match="amounts are off by "):
        solve_nefk(criterion, given["capacity"], **limits)


@pytest.mark.parametrize("grouped", [False, True])
def test_items_without_weight_take_their_upper_bounds_at_a_negative_price_however_many_items(grouped):
    """The value of a quadratic falls beyond 1 / curvature: those that lose nothing are filled up first."""
    generator, n = np.random.default_rng(3), 70_000
    curvature, upper = np.exp(generator.standard_normal(n)), np.exp(generator.standard_normal(n)) + 0.5
    weights = np.where(generator.random(n) < 0.2, 0.0, np.exp(generator.standard_normal(n)))
    options = {"groups": generator.integers(-1, 20, n), "group_caps": np.full(20, 1e6)} if grouped else {}
    result = solve_nefk(criteria.Quadratic(curvature), 0.9 * upper.sum(), weights=weights, upper=upper, **options)
    assert result.price < 0.0
    assert result.residual <= 1e-12
    np.testing.assert_array_equal(result.amounts[weights == 0], upper[weights == 0])
    assert np.abs(result.amounts.sum() / upper.sum() - 0.9) <= 1e-12


@pytest.mark.parametrize("price", [0.0, 1e-323, 1.5e-308, 5e-307, 1e-300, 1e-200])
def test_harmonic_amounts_do_not_fall_at_prices_near_the_smallest_double(price):
    rates = np.array([0.03, 1.0, 30.0])
    more, less = (criteria.Harmonic(rates).inverse(x) for x in (price, max(price * 10.0, 1e-300)))
    assert (more >= less).all()
    assert (less > 1e90).all()


def test_own_prices_are_right_where_capacity_is_left_over_at_price_zero():
    """The first guess of an own price is 0, and the group's total is flat over three hundred decades."""
    weights, rates, upper = np.array([8e-3, 2.7]), np.array([3.6e-6, 7.5e-2]), 5.9
    options = {"weights": weights, "upper": upper, "groups": [0, 0], "group_caps": [6.9]}
    result = solve_nefk(criteria.Harmonic(rates), 1e3, equality=False, **options)
    assert result.price == 0.0
    x = result.amounts[0]
    np.testing.assert_allclose(result.amounts, [1.0, 5.9], rtol=1e-12)
    np.testing.assert_allclose(result.group_prices, weights[0] * rates[0] / (x * (x + rates[0])), rtol=1e-12)


def test_own_prices_keep_their_digits_where_the_budgets_price_is_below_the_least_double():
    """Prices are then found by their logarithms: those of groups must not be taken as a difference of these."""
    upper, weights = np.array([1e7, 1e7, 30.0]), np.array([1.0, 1.0, 2.0])
    options = {"weights": weights, "upper": upper, "groups": [-1, -1, 0], "group_caps": [20.0]}
    result = solve_nefk(criteria.Exponential(1.0), 1e7, **options)
    np.testing.assert_allclose(result.amounts, [0.5 * (1e7 - 20.0)] * 2 + [20.0], rtol=1e-12)
    assert result.price == 0.0
    np.testing.assert_allclose(result.group_prices, 2.0 * np.exp(-20.0), rtol=1e-12)


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("tiny", [1e-150, 1e-155, 1e-160, 1e-200, 1e-300])
def test_tiny_rates_do_not_spoil_what_is_said_of_the_answer(kind, tiny):
    """Products of rates and amounts underflow."""
    result = solve_nefk(kind([tiny, 1.0, 2.0]), 3.0)
    assert result.residual <= 1e-12
    assert np.isfinite(result.value)
    np.testing.assert_allclose(result.amounts[1:], solve_nefk(kind([1.0, 2.0]), 3.0).amounts, rtol=1e-12)
    if kind is criteria.Freshness:  # P(2, z) is z^2 / 2 there
        assert result.amounts[0] == pytest.approx(np.sqrt(tiny / (2.0 * result.price)), rel=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1e-10])
def test_a_subnormal_rate_has_a_slope_at_nothing(weight):
    result = solve_nefk(criteria.Freshness([1e-310, 2.0, 1.0]), 0.0, weights=[weight, 1e-3, 2.0])
    assert result.price == pytest.approx(max(weight / 1e-310, 2.0), rel=1e-9)


def test_quadratics_of_large_prices_need_no_more_passes():
    weights = np.exp(np.random.default_rng(14).standard_normal(100_000))
    plain, large = (solve_nefk(criteria.Quadratic(1.0), 2e4, weights=weights * scale) for scale in (1.0, 1e120))
    assert large.n_passes == plain.n_passes
    np.testing.assert_allclose(large.amounts, plain.amounts, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rate", [1e-160, 5e-324])
def test_a_price_of_few_digits_is_told(rate):
    """Amounts in proportion to the rates at the first; at the second, nothing tells them apart."""
    with pytest.warns(ConvergenceWarning, match="price of .* has few digits"):
        solve_nefk(criteria.Detection(rate * np.array([1.0, 2.0, 3.0])), 1.0)


def test_a_price_of_few_digits_is_no_matter_to_logarithms():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_nefk(criteria.Exponential([1.0, 1.0]), 1420.0)
    np.testing.assert_array_equal(result.amounts, [710.0, 710.0])
