"""Optimality of freshness in groups, looked at apart from the solver: also that a cap with a price binds."""

import numpy as np
import pytest
from scipy.special import gammainc

from knapsolve import criteria, solve_nefk

KINDS = ["tight", "endless", "half", "empty", "near", "nearly loose"]


def problem(seed, kind):
    """Rates, weights, groups, caps and capacity of 300 to 200,000 items in groups of one to half of them."""
    generator = np.random.default_rng(seed)
    n = int(np.exp(generator.uniform(np.log(300), np.log(2e5))))
    n_groups = max(1, int(n / np.exp(generator.uniform(np.log(1.2), np.log(n / 2)))))
    rates, weights = np.exp([[1.2], [0.7]] * generator.standard_normal((2, n)))
    groups = generator.integers(0, n_groups, n)
    groups[generator.random(n) < generator.choice([0.0, 0.002, 0.02, 0.2])] = -1
    capacity = generator.choice([0.1, 0.3, 1.0]) * n
    free = solve_nefk(criteria.Freshness(rates), capacity, weights=weights).amounts
    few = generator.uniform(0.3, 0.9, n_groups)
    share = {
        "tight": few,
        "endless": np.where(generator.random(n_groups) < generator.choice([0.005, 0.02, 0.3]), np.inf, few),
        "half": np.where(generator.random(n_groups) < 0.5, few, 50.0),
        "empty": np.where(generator.random(n_groups) < 0.02, 0.0, few),
        "near": generator.uniform(0.3, 1.5, n_groups),
        "nearly loose": generator.uniform(1.0, 1.1, n_groups),
    }[kind]
    return rates, weights, groups, share * (np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-9), capacity


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(25))
def test_amounts_meet_the_conditions_of_optimality(seed, kind):
    rates, weights, groups, caps, capacity = problem(100 * KINDS.index(kind) + seed, kind)
    given = {"weights": weights, "groups": groups, "group_caps": caps, "equality": False, "n_jobs": 1 + seed % 2}
    result = solve_nefk(criteria.Freshness(rates), capacity, **given)
    x, prices = result.amounts, result.price + np.append(result.group_prices, 0.0)[groups]
    takes, total = x > 0.0, np.bincount(groups + 1, x, len(caps) + 1)[1:]
    tells = takes & (rates < 20.0 * x)  # elsewhere amounts hang on more digits of the price than there are
    worth = (weights * gammainc(2.0, rates / np.where(takes, x, 1.0)) / rates)[tells]
    np.testing.assert_allclose(worth, prices[tells], rtol=1e-9)
    assert np.all((weights / rates)[~takes] <= prices[~takes] * (1.0 + 1e-12))
    binds = result.group_prices > 0.0
    np.testing.assert_allclose(total[binds], caps[binds], rtol=1e-11)
    assert np.all(total <= caps * (1.0 + 1e-11))
    assert x.sum() == pytest.approx(capacity, rel=1e-11) if result.price > 0.0 else x.sum() <= capacity * (1.0 + 1e-11)
