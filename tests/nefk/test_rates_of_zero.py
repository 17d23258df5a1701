"""Items that never change are always fresh, and get nothing: also where they are many, and capacity is small."""

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(
    ("n", "n_groups", "share", "seed"),
    [(70_000, 17_000, 3e-4, 20), (70_000, 17_000, 1e-3, 41), (100_000, 25_000, 3e-4, 1), (100_000, 25_000, 1e-3, 12)],
)
def test_a_tenth_of_the_items_never_change(n, n_groups, share, seed, kind):
    """They start at no price, which is no tie."""
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, n_groups, n)
    rates = np.exp(generator.normal(-2.0, 1.5, n))
    never = generator.random(n) < 0.1
    rates[never] = 0.0
    capacity = share * rates.sum()
    caps = 1.02 * capacity * np.bincount(groups, minlength=n_groups) / n
    result = solve_nefk(kind(rates), capacity, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    assert not result.amounts[never].any()
    others = solve_nefk(kind(rates[~never]), capacity, groups=groups[~never], group_caps=caps)
    assert result.price == pytest.approx(others.price, rel=1e-11)
    np.testing.assert_allclose(result.group_prices, others.group_prices, rtol=1e-7, atol=1e-9 * others.price)


@pytest.mark.parametrize("seed", range(4))
def test_hosts_in_order_of_which_some_never_change(seed):
    n, generator = 120_000, np.random.default_rng(seed)
    groups = np.sort(generator.integers(0, 400, n))
    rates, weights = np.exp(generator.normal(0.0, [[2.0], [1.0]], (2, n)))
    rates[generator.random(n) < 0.3] = 0.0
    capacity = 1e-3 * rates.sum()
    caps = 1.1 * capacity * generator.dirichlet(np.full(400, 3.0))
    result = solve_nefk(criteria.Freshness(rates), capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
