"""Caps that allow just the capacity, all of which is to be used: they are filled, and more of it would be of no use."""

import numpy as np
import pytest
from tight_problems import hosts_by_rank

from knapsolve import criteria, solve_nefk
from knapsolve.exceptions import InfeasibleError


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.PoissonFreshness, criteria.Harmonic, criteria.Detection])
@pytest.mark.parametrize(("n", "hosts"), [(50, 7), (3000, 100), (200_000, 2000), (200_000, 60_000)])
def test_caps_by_size_that_share_out_the_capacity_are_filled(kind, n, hosts):
    generator = np.random.default_rng(n + hosts)
    rates, weights = generator.lognormal(0, 1.5, n), generator.lognormal(0, 1, n)
    share = 1.0 / np.arange(1, hosts + 1)
    groups = generator.choice(hosts, n, p=share / share.sum())
    sizes, capacity = np.bincount(groups, minlength=hosts), 0.3 * rates.sum()
    given = {"weights": weights, "groups": groups, "group_caps": capacity * sizes / n}
    result = solve_nefk(kind(rates), capacity, **given)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    np.testing.assert_allclose(np.bincount(groups, result.amounts, hosts), given["group_caps"], rtol=1e-12)
    assert result.price == 0.0
    assert result.group_prices[sizes > 0].min() > 0.0
    assert result.n_passes <= (40 if n < 65536 else 9)
    over = solve_nefk(kind(rates), 2.0 * capacity, **given, equality=False)
    np.testing.assert_array_equal(result.amounts, over.amounts)
    np.testing.assert_array_equal(result.group_prices, over.group_prices)


def test_a_group_that_takes_less_than_its_cap_leaves_too_little():
    given = {"groups": [0, 0, 1], "group_caps": [1.0, 2.0]}
    with pytest.raises(InfeasibleError, match=r"allow 1\.5, less than the capacity 3"):
        solve_nefk(criteria.Freshness(np.ones(3)), 3.0, upper=[1.0, 1.0, 0.5], **given)
    result = solve_nefk(criteria.Freshness([1.0, 1.0, 0.0]), 3.0, **given)  # something has to take it
    assert result.amounts.sum() == pytest.approx(3.0, rel=1e-12)


def test_items_of_no_group_take_nothing_that_caps_allow_others():
    result = solve_nefk(criteria.Freshness(np.ones(4)), 3.0, groups=[0, 0, 1, -1], group_caps=[1.0, 2.0])
    assert result.price > 0.0
    assert result.amounts[3] > 0.0
    assert result.residual <= 1e-12


def test_a_budget_of_quadratic_items_may_have_a_price_below_zero():
    result = solve_nefk(criteria.Quadratic([1.0, 1.0]), 5.0, groups=[0, 1], group_caps=[2.0, 3.0])
    assert result.amounts == pytest.approx([2.0, 3.0])
    assert result.price < 0.0


def test_amounts_of_single_precision_are_near():
    criterion, given = hosts_by_rank(100_000, 2000, 1.0)
    given |= {"equality": True, "capacity": float(given["group_caps"].sum()), "out": np.empty(100_000, np.float32)}
    result = solve_nefk(criterion, **given)
    assert result.residual <= 1e-12
    taken = np.bincount(given["groups"], result.amounts, len(given["group_caps"]))
    np.testing.assert_allclose(taken, given["group_caps"], rtol=1e-5)


@pytest.mark.parametrize("equality", [True, False])
def test_own_prices_of_exponential_items_may_underflow(equality):
    """They are found in logarithms, though the budget's price is 0."""
    given = {"groups": [0, 0, 1, 1], "group_caps": [3007.7, 1e4], "equality": equality}
    result = solve_nefk(criteria.Exponential([1.0, 2.0, 0.5, 1.0]), 13_007.7 if equality else 20_000.0, **given)
    mu = (np.log([1.0, 2.0, 0.5, 1.0]) / [1.0, 2.0, 0.5, 1.0]).reshape(2, 2).sum(axis=1) - [3007.7, 1e4]
    out = np.empty(4, np.float32)  # whose sum is more than the caps allow, by rounding
    mu /= np.array([1.5, 3.0])  # of amounts (log(scale) - mu) / scale
    expected = (np.log([1.0, 2.0, 0.5, 1.0]) - np.repeat(mu, 2)) / [1.0, 2.0, 0.5, 1.0]
    np.testing.assert_allclose(result.amounts, expected, rtol=1e-12)
    assert result.price == 0.0
    rounded = solve_nefk(criteria.Exponential([1.0, 2.0, 0.5, 1.0]), 20_000.0, **given | {"equality": False}, out=out)
    assert rounded.amounts is out
    np.testing.assert_allclose(out, expected, rtol=1e-7)
