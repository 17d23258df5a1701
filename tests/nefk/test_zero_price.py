"""Quadratic items in groups of which some are worth nothing: on which side of 0 the price is, is asked first."""

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk


@pytest.mark.parametrize("n_groups", [500, 11_000])
@pytest.mark.parametrize("share", [0.99, 0.9999])
@pytest.mark.parametrize("seed", range(4))
def test_totals_at_a_first_price_are_not_taken_for_those_where_the_worthless_begin(seed, share, n_groups):
    """Nearly all that caps and bounds allow is to be given out."""
    n, generator = 70_000, np.random.default_rng(seed)
    weights = np.where(generator.random(n) < 0.05, 0.0, generator.exponential(1, n))
    curvature, upper = generator.lognormal(0, 0.1, n), generator.uniform(0.5, 20.0, n)
    groups, criterion = generator.integers(0, n_groups, n), criteria.Quadratic(curvature)
    free = solve_nefk(criterion, 0.3 * n, weights=weights, upper=upper, equality=False).amounts
    caps = generator.uniform(0.99, 1.01, n_groups) * (np.bincount(groups, free, n_groups) + 1e-9)
    most = np.minimum(np.bincount(groups, upper, n_groups), caps).sum()
    capacity = min(0.3 * n, share * most)
    result = solve_nefk(criterion, capacity, weights=weights, upper=upper, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    taken = np.bincount(groups, result.amounts, n_groups)
    assert np.all(taken <= caps * (1.0 + 1e-12))
    own = result.price + np.where(np.isnan(result.group_prices), 0.0, result.group_prices)[groups]
    marginal, scale = weights * (1.0 - curvature * result.amounts), weights * (1.0 + curvature * result.amounts)
    inside = (result.amounts > 0.0) & (result.amounts < upper)
    assert np.all(np.abs(marginal - own)[inside] <= 1e-11 * scale[inside])
    assert np.all((marginal - own)[result.amounts == 0.0] <= 1e-11)
