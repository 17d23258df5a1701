"""Items that are alike, all or within groups, and such as nearly are: they start at a price, or next to each other."""

import numpy as np
import pytest
from scipy import special

import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk

KINDS = [criteria.Freshness, criteria.Detection]
SIZES = [2, 3, 7, 8, 9, 23, 40, 130, 200, 300, 2000, 5000, 17_000, 40_000]
FEWEST = 150_000  # items, from which on caps are filled first


def slope(kind, rate, weight, amount):
    """What a unit more is worth of an item at an amount."""
    if kind is criteria.Freshness:
        return weight / rate * special.gammainc(2, rate / amount)
    return weight * special.gammainc(2, rate / amount)


def hosts(generator, spread=0.0):
    """Groups of all sizes, many small ones, with a rate and a weight each that their items nearly have: rates, weights,
    groups, and of each group its size, rate and weight.
    """
    sizes = np.concatenate([[size] * (1 + 9000 // size) for size in SIZES])
    groups = generator.permutation(np.repeat(np.arange(sizes.size), sizes))
    rate, weight = np.exp(generator.normal(0, 1.5, sizes.size)), np.exp(generator.standard_normal(sizes.size))
    rates = rate[groups] * np.exp(spread * generator.standard_normal(groups.size))
    return rates, weight[groups].copy(), groups, sizes, rate, weight


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("scarce", [1.0, 0.02, 1e-4])
@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("as_one", [False, True])
def test_groups_of_alike_items_are_known(kind, equality, scarce, is_sorted, as_one, monkeypatch):
    """Each takes an even share of the cap, at the slope there; small amounts are told by no price. So they do where
    they are searched, too.
    """
    if not as_one:
        monkeypatch.setattr(solver_module, "solve_alike", lambda *arguments: None)
    rates, weights, groups, sizes, rate, weight = hosts(np.random.default_rng(1))
    assert groups.size > FEWEST
    if is_sorted:
        order = np.argsort(groups, kind="stable")
        rates, weights, groups = rates[order], weights[order], groups[order]
    each = scarce * rate * np.random.default_rng(2).uniform(0.2, 2.0, sizes.size)
    caps, own = each * sizes, slope(kind, rate, weight, each)
    if equality:  # an item of no group takes what is left, at a lower price
        rates, weights, groups = (np.append(x, y) for x, y in ((rates, 1.0), (weights, 1e-3 * own.min()), (groups, -1)))
    capacity = caps.sum() + (1.0 if equality else 0.0)
    result = solve_nefk(kind(rates), capacity, weights=weights, groups=groups, group_caps=caps, equality=equality)
    assert result.residual <= 1e-12 and (result.n_passes <= 5 or equality)
    capped = groups >= 0
    np.testing.assert_allclose(result.amounts[capped], each[groups[capped]], rtol=1e-11)
    np.testing.assert_allclose(result.price + result.group_prices, own, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("upper", [np.inf, 0.3])
def test_some_of_the_items_start_together(kind, upper):
    """Two kinds of items in each group: those that start first take the cap alone, or not, or as bounds let them."""
    generator, m = np.random.default_rng(3), 6000
    sizes = generator.integers(2, 60, m)
    groups = np.repeat(np.arange(m), sizes)
    rate, weight = np.exp(generator.standard_normal((2, m, 2)))
    which = generator.integers(0, 2, groups.size)
    rates, weights = rate[groups, which], weight[groups, which]
    caps = sizes * 10 ** generator.uniform(-3, 0, m)
    caps = np.minimum(caps, 0.9 * sizes * upper)
    result = solve_nefk(
        kind(rates), 2 * caps.sum(), weights=weights, groups=groups, group_caps=caps, equality=False, upper=upper
    )
    assert result.residual <= 1e-12 and result.price == 0
    for g in range(0, m, 40):
        own = np.flatnonzero(groups == g)
        alone = solve_nefk(kind(rates[own]), caps[g], weights=weights[own], equality=False, upper=upper)
        np.testing.assert_allclose(result.amounts[own], alone.amounts, rtol=1e-9, atol=1e-12 * caps[g])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [1e-9, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("scarce", [1.0, 0.02])
def test_groups_of_nearly_alike_items_take_what_each_does_alone(kind, spread, scarce):
    """Newton's steps creep from start to start there, or halve brackets: without others, up to 121 passes."""
    rates, weights, groups, sizes, rate, _ = hosts(np.random.default_rng(4), spread)
    caps = scarce * rate * np.random.default_rng(5).uniform(0.2, 2.0, sizes.size) * sizes
    result = solve_nefk(kind(rates), 2 * caps.sum(), weights=weights, groups=groups, group_caps=caps, equality=False)
    assert result.residual <= 1e-12 and result.n_passes <= (30 if spread == 1e-9 else 12)
    np.testing.assert_allclose(np.bincount(groups, result.amounts), caps, rtol=2e-12)
    for g in [*range(0, sizes.size, 500), *np.flatnonzero(sizes >= 130)[::10], sizes.size - 1]:
        own = np.flatnonzero(groups == g)
        alone = solve_nefk(kind(rates[own]), caps[g], weights=weights[own])
        assert result.price + result.group_prices[g] == pytest.approx(alone.price, rel=1e-12)
        if spread > 1e-9:  # else prices hardly tell amounts
            np.testing.assert_allclose(result.amounts[own], alone.amounts, rtol=1e-6, atol=1e-9 * caps[g])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 1000, 20_000, 50_000, 100_000])
@pytest.mark.parametrize("share", [3.0, 0.1, 0.03, 1e-3, 1e-9])
def test_alike_items_share_evenly_after_few_passes(kind, n, share):
    """The price is next to where all start: halving brackets down to there would take 67 and more."""
    rate, weight = 2.3, 0.7
    result = solve_nefk(kind(np.full(n, rate)), share * rate * n, weights=np.full(n, weight))
    assert result.residual <= 1e-12 and result.n_passes <= 8
    np.testing.assert_allclose(result.amounts, share * rate, rtol=1e-11)
    assert result.price == pytest.approx(slope(kind, rate, weight, share * rate), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [300, 1000, 4000, 20_000, 30_000])
@pytest.mark.parametrize("spread", [1e-6, 1e-3, 0.1, 1.0])
def test_few_passes_where_many_items_start_next_to_each_other(kind, n, spread):
    """Without steps to starts, up to 58."""
    generator, most = np.random.default_rng(6), 0
    starts = np.exp(spread * generator.standard_normal(n))
    rates = 2.3 * np.exp(generator.standard_normal(n))
    weights = starts * rates if kind is criteria.Freshness else starts
    for share in (0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 1e-3):
        result = solve_nefk(kind(rates), share * rates.sum(), weights=weights)
        assert result.residual <= 1e-12
        most = max(most, result.n_passes)
    assert most <= 36


@pytest.mark.parametrize(("spread", "passes"), [(1e-3, 17), (0.1, 7), (0.3, 7)])
@pytest.mark.parametrize("n", [100_000, 300_000])
def test_many_items_that_start_next_to_each_other_take_few_passes(n, spread, passes):
    """A series about a step that misses the answer is followed by one of all between prices on both sides: without, 19,
    17 and 11.
    """
    generator, most = np.random.default_rng(7), 0
    rates = 2.3 * np.exp(generator.standard_normal(n))
    weights = np.exp(spread * generator.standard_normal(n)) * rates
    for share in (0.1, 0.03, 0.01, 1e-3, 1e-4):
        result = solve_nefk(criteria.Freshness(rates), share * rates.sum(), weights=weights)
        assert result.residual <= 1e-12
        most = max(most, result.n_passes)
    assert most <= passes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [300, 5000, 20_000, 30_000])
@pytest.mark.parametrize("levels", [1, 3, 10, None])
@pytest.mark.parametrize("over", [1.02, 1.2, 3.0, 20.0])
def test_few_passes_where_bounds_hold_many_items_that_start_at_few_prices(kind, n, levels, over):
    """Up to 104 where steps go by the next start alone, however far it is."""
    generator = np.random.default_rng(0)
    prices = np.exp(generator.standard_normal(levels or n))
    starts = prices if levels is None else prices[generator.integers(0, levels, n)]
    rates = np.exp(2.0 * generator.standard_normal(n))
    upper = rates * np.exp(0.3 * generator.standard_normal(n))
    capacity = 0.3 * rates.sum()
    upper *= over * capacity / upper.sum()
    weights = starts * rates if kind is criteria.Freshness else starts
    result = solve_nefk(kind(rates), capacity, weights=weights, upper=upper)
    assert result.residual <= 1e-12 and result.n_passes <= 30
