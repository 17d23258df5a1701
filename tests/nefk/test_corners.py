"""Caps that leave an item so little that prices hardly tell how much: it is found all the same."""

import numpy as np
import pytest
from scipy import special

from knapsolve import criteria, solve_nefk

KINDS = [criteria.Freshness, criteria.Detection]


def planted(kind, size, deepest, n_groups=3000, seed=0):
    """Rates, weights and amounts (m, size) of groups, and own prices (m,): the second item of each takes a z-th of
    its rate, z up to `deepest`, the first one more, and others what they take there.
    """
    generator = np.random.default_rng(seed)
    rates = np.exp(generator.standard_normal((n_groups, size)))
    starts = np.exp(generator.standard_normal((n_groups, size)))
    z = generator.uniform(0.5, deepest, n_groups)
    price = starts[:, 1] * -special.expm1(np.log1p(z) - z)
    starts[:, 0] = starts[:, 1] * generator.uniform(1.1, 4.0, n_groups)
    with np.errstate(all="ignore"):
        amounts = np.where(price[:, None] < starts, rates / special.gammaincinv(2, price[:, None] / starts), 0.0)
    amounts[:, 1] = rates[:, 1] / z
    weights = starts * rates if kind is criteria.Freshness else starts
    return rates, weights, amounts, price


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 6, 30])
@pytest.mark.parametrize("deepest", [8.0, 20.0, 45.0, 300.0])
@pytest.mark.parametrize("is_left_over", [True, False])
def test_planted_amounts_are_found(kind, size, deepest, is_left_over):
    rates, weights, amounts, price = planted(kind, size, deepest)
    caps = amounts.sum(axis=1)
    given = {"weights": weights.ravel(), "groups": np.repeat(np.arange(caps.size), size), "group_caps": caps}
    given |= {"equality": False} if is_left_over else {}
    result = solve_nefk(kind(rates.ravel()), (1.5 if is_left_over else 0.9999) * caps.sum(), **given)
    assert max(result.kkt_residual, result.budget_residual) <= 1e-12
    binds = result.group_prices > 0.0
    assert binds.mean() > 0.99
    off = np.abs(result.amounts.reshape(amounts.shape) - amounts) / caps[:, None]
    assert off[binds].max() <= 2e-13
    own = result.group_prices + result.price
    np.testing.assert_allclose(own[binds], price[binds], rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_start_at_one_price_share_what_is_left(kind):
    rates, weights, amounts, _ = planted(kind, 3, 45.0)
    rates[:, 2], amounts[:, 2] = 4.0 * rates[:, 1], 4.0 * amounts[:, 1]
    weights[:, 2] = weights[:, 1] * (4.0 if kind is criteria.Freshness else 1.0)
    caps = amounts.sum(axis=1)
    groups = np.repeat(np.arange(caps.size), 3)
    result = solve_nefk(
        kind(rates.ravel()), 2.0 * caps.sum(), weights=weights.ravel(), groups=groups, group_caps=caps, equality=False
    )
    assert result.residual <= 1e-12
    off = np.abs(result.amounts.reshape(amounts.shape) - amounts) / caps[:, None]
    assert off.max() <= 2e-13


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("less", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-17])
@pytest.mark.parametrize("deepest", [2.0, 10.0, 45.0])
def test_an_item_that_takes_next_to_nothing_leaves_no_residual(kind, less, deepest):
    """What the others leave to it is mostly rounding."""
    rates, weights, amounts, _ = planted(kind, 3, deepest)
    rates[:, 1] *= less
    weights[:, 1] *= less if kind is criteria.Freshness else 1.0
    amounts[:, 1] *= less
    caps = amounts.sum(axis=1)
    groups = np.repeat(np.arange(caps.size), 3)
    result = solve_nefk(
        kind(rates.ravel()), 2.0 * caps.sum(), weights=weights.ravel(), groups=groups, group_caps=caps, equality=False
    )
    assert result.residual <= 1e-12
    assert result.amounts.min() >= 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deep", [1e4, 1e8, 1e13, 1e15, 1e16, 1e18, 1e20, 1e30, 1e100])
@pytest.mark.parametrize("least", [1e-2, 1e-4, 1e-8, 1e-14])
def test_a_price_that_tells_nothing_of_an_amount_is_right(kind, deep, least):
    """The item in its corner has a rate so many times the cap, and its price is its start's; the other takes little."""
    generator, m = np.random.default_rng(1), 2000
    starts = generator.uniform(0.3, 1.0, m)
    second = starts * generator.uniform(1.1, 4.0, m)
    little = least * generator.uniform(0.3, 1.0, m)
    rates = np.column_stack(
        [deep * generator.uniform(0.3, 1.0, m), little * special.gammaincinv(2, starts / second)]
    )
    weights = np.column_stack([starts, second]) * (rates if kind is criteria.Freshness else 1.0)
    groups, caps = np.repeat(np.arange(m), 2), 1.0 + little
    result = solve_nefk(
        kind(rates.ravel()), 3.0 * m, weights=weights.ravel(), groups=groups, group_caps=caps, equality=False
    )
    assert result.residual <= 1e-12
    np.testing.assert_allclose(result.group_prices + result.price, starts, rtol=1e-14)
