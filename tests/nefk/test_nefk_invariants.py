"""Metamorphic properties: what must not change, and what must change how."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nefk_oracle import FAMILIES, assert_optimal, solve

from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem

positive = st.floats(1e-6, 1e6)
SCALED = ["detection", "freshness", "poisson", "harmonic", "logarithmic"]  # f'(x) depends on x / p


def item(family):
    return st.tuples(st.floats(0.02, 0.98) if family == "power" else positive, st.floats(1e-3, 1e3))


def columns(items):
    return np.array([a for a, _ in items]), np.array([b for _, b in items])


@pytest.mark.parametrize("family", FAMILIES)
def test_any_problem_is_solved_to_1e_minus_12(family):
    @example([(0.9765625, 1.0), (0.25, 1.0)], 1e-12)  # a power of which one amount would be 1e-384
    @settings(max_examples=60, deadline=None)
    @given(st.lists(item(family), min_size=1, max_size=12), st.floats(1e-12, 1e12))
    def check(items, capacity):
        p, w = columns(items)
        result = solve(family, p, capacity, weights=w)
        assert result.residual <= 1e-12
        if result.price > 1e-200 or family == "quadratic":
            assert_optimal(family, p, result, capacity, w)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_any_bounds_are_respected(family):
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(item(family), st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=10),
        st.one_of(st.just(0.0), st.floats(1e-30, 1.0)),
    )
    def check(rows, share):
        p, w = columns([row[0] for row in rows])
        low, high = np.sort(np.array([row[1:] for row in rows]), axis=1).T
        low[low < 1e-100], high[high < 1e-100] = 0.0, 0.0
        capacity = low.sum() + share * (high.sum() - low.sum())
        result = solve(family, p, capacity, weights=w, lower=low, upper=high)
        assert result.residual <= 1e-12
        assert (result.amounts >= low).all() and (result.amounts <= high).all()

    check()


@pytest.mark.parametrize("family", SCALED)
def test_scaling_rates_and_capacity_by_a_power_of_two_scales_the_amounts_exactly(family):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(item(family), min_size=1, max_size=8), st.floats(1e-6, 1e6), st.integers(-20, 20))
    def check(items, capacity, k):
        p, w = columns(items)
        plain, scaled = (solve(family, p * 2.0**e, capacity * 2.0**e, weights=w) for e in (0, k))
        np.testing.assert_allclose(scaled.amounts, plain.amounts * 2.0**k, rtol=1e-9, atol=1e-13 * capacity * 2.0**k)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_order_does_not_matter(family):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(item(family), min_size=2, max_size=8), st.floats(1e-3, 1e3), st.randoms())
    def check(items, capacity, random):
        order = list(range(len(items)))
        random.shuffle(order)
        p, w = columns(items)
        plain, shuffled = (solve(family, p[o], capacity, weights=w[o]) for o in (slice(None), order))
        np.testing.assert_allclose(shuffled.amounts, plain.amounts[order], rtol=1e-9, atol=1e-12 * capacity)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_doubling_every_item_and_the_capacity_keeps_the_amounts(family):
    @settings(max_examples=40, deadline=None)
    @given(st.lists(item(family), min_size=1, max_size=6), st.floats(1e-3, 1e3))
    def check(items, capacity):
        p, w = columns(items)
        plain = solve(family, p, capacity, weights=w)
        twice = solve(family, np.tile(p, 2), 2 * capacity, weights=np.tile(w, 2))
        np.testing.assert_allclose(twice.amounts, np.tile(plain.amounts, 2), rtol=1e-9, atol=1e-12 * capacity)

    check()


@pytest.mark.parametrize("family", FAMILIES)
def test_scaling_all_weights_scales_price_and_value_alone(family):
    generator = np.random.default_rng(1)
    p, w = generator.uniform(0.1, 0.9, (2, 50))
    plain, scaled = (solve(family, p, 20.0, weights=w * k) for k in (1.0, 1024.0))
    np.testing.assert_allclose(scaled.amounts, plain.amounts, rtol=1e-12)
    assert scaled.price == pytest.approx(1024 * plain.price, rel=1e-13)
    assert scaled.value == pytest.approx(1024 * plain.value, rel=1e-13)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_capacity_is_worth_its_price(family):
    generator = np.random.default_rng(2)
    p, w = generator.uniform(0.1, 0.9, (2, 50))
    base, step = solve(family, p, 20.0, weights=w), 1e-4
    more, less = (solve(family, p, 20.0 + d, weights=w) for d in (step, -step))
    assert (more.value - less.value) / (2 * step) == pytest.approx(base.price, rel=1e-6, abs=1e-9)
    assert more.price <= base.price <= less.price


@pytest.mark.parametrize("grouped", [False, True])
def test_bounds_that_are_all_alike_are_one_number(grouped):
    generator = np.random.default_rng(3)
    rates, groups = generator.lognormal(0, 1, 500), generator.integers(-1, 20, 500)
    options = {"groups": groups, "group_caps": generator.uniform(2, 9, 20)} if grouped else {}
    ours, theirs = (
        solve_nefk(criteria.Freshness(rates), 100.0, lower=low, upper=high, **options)
        for low, high in ((0.01, 0.9), (np.full(500, 0.01), np.full(500, 0.9)))
    )
    np.testing.assert_array_equal(ours.amounts, theirs.amounts)
    np.testing.assert_array_equal(ours.side, theirs.side)
    bounds = np.full(500, 0.01), np.full(500, 0.9)
    problem = check_problem(criteria.Freshness(rates), 100.0, None, *bounds, None, None, True)
    assert (problem.lower, problem.upper) == (0.01, 0.9)
    other = solve_nefk(criteria.Freshness(rates), 100.0, upper=np.append(0.3, np.full(499, 0.31)), **options)
    assert other.amounts[0] <= 0.3 < other.amounts.max() <= 0.31
