"""Groups of hundreds of items beside each other in tiles, of very different sizes: few of the items take something."""

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk

SIZES = (1, 30, 120, 128, 140, 300, 384, 385, 700, 3000)
FAMILIES = {
    "detection": criteria.Detection,
    "freshness": criteria.Freshness,
    "poisson": criteria.PoissonFreshness,
    "logarithmic": criteria.Logarithmic,
    "exponential": criteria.Exponential,
    "harmonic": criteria.Harmonic,
}


def hosts(generator, times):
    """Sizes that many times, in any order, so that some fill lanes and others do not; of items that start far apart."""
    sizes = generator.permutation(np.repeat(SIZES, times))
    groups = generator.permutation(np.repeat(np.arange(sizes.size), sizes))
    rates, weights = np.exp(generator.normal(0.0, [[1.5], [1.0]], (2, groups.size)))
    return sizes, groups, rates, weights


@pytest.mark.parametrize("upper", [None, 0.7])
@pytest.mark.parametrize("share", [0.02, 2.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_one_cap_for_groups_of_hundreds_gives_each_what_it_takes_alone(family, share, upper):
    """A share of one item's mean rate: of the largest, one item in hundreds takes something; or of a few items."""
    generator = np.random.default_rng(5)
    sizes, groups, rates, weights = hosts(generator, 6)
    cap = share * float(rates.mean())
    caps = np.minimum(cap, 0.9 * sizes * (upper or np.inf))
    options = {"equality": False, "groups": groups, "group_caps": caps}
    result = solve_nefk(FAMILIES[family](rates), 1.5 * caps.sum(), weights=weights, upper=upper, **options)
    assert result.price == 0.0
    assert max(result.kkt_residual, result.budget_residual) <= 1e-12
    for g in range(sizes.size):
        own = groups == g
        alone = solve_nefk(FAMILIES[family](rates[own]), caps[g], weights=weights[own], upper=upper)
        assert result.group_prices[g] == pytest.approx(alone.price, rel=1e-11)
        np.testing.assert_allclose(result.amounts[own], alone.amounts, rtol=1e-9, atol=1e-12 * caps[g])


@pytest.mark.parametrize("law", ["even", "Pareto"])
def test_hosts_of_all_sizes_share_a_budget(law):
    generator, n = np.random.default_rng(8), 60_000
    shares = 1.0 + generator.pareto(1.1, n // 50) if law == "Pareto" else np.ones(n // 200)
    groups = generator.choice(shares.size, n, p=shares / shares.sum())
    rates, weights = np.exp(generator.normal(0.0, [[1.5], [1.0]], (2, n)))
    for over in (0.8, 1.02, 2.0):
        caps = np.full(shares.size, over * 0.3 * n / shares.size)
        result = solve_nefk(
            criteria.Freshness(rates), 0.3 * n, weights=weights, equality=over > 1.0, groups=groups, group_caps=caps
        )
        assert max(result.kkt_residual, result.budget_residual) <= 1e-12
        totals = np.bincount(groups, result.amounts, shares.size)
        binds = result.group_prices > 0.0
        np.testing.assert_allclose(totals[binds], caps[binds], rtol=1e-12)
        assert (totals <= caps * (1.0 + 1e-12)).all() and (binds.any() or over == 2.0)
