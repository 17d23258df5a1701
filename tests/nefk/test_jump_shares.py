"""Items that all start at one price rise together, in proportion to their rates, until a bound or a cap holds each;
also where little capacity leaves that price but one bit.
"""

import numpy as np
import pytest

import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.narrow as narrow_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.jump_shares import settle_share
from knapsolve.nefk.passes import Prices, Settled


def level(total, target):
    """Where a rising total meets a target."""
    low, high = 0.0, 1e3
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if total(middle) > target else (middle, high)
    return high


def filled(rates, lower, upper, groups, caps, capacity):
    """Amounts by water-filling, and those before it of no group."""

    def amounts(height, some=slice(None)):
        return np.clip(rates[some] * height, lower[some], upper[some])

    def total(height):
        by_group = np.bincount(groups + 1, amounts(height), len(caps) + 1)
        return by_group[0] + np.minimum(by_group[1:], caps).sum()

    height = level(total, capacity)
    x = amounts(height)
    for g in np.flatnonzero(np.bincount(groups + 1, x, len(caps) + 1)[1:] > caps):
        own = groups == g
        x[own] = amounts(level(lambda height, own=own: amounts(height, own).sum(), caps[g]), own)
    return x


@pytest.mark.parametrize("kind", [criteria.Detection, criteria.Freshness])
@pytest.mark.parametrize("height", [1e-4, 0.02, 0.03, 0.2])
@pytest.mark.parametrize("bounds", ["none", "upper", "lower", "both"])
@pytest.mark.parametrize(("n", "n_groups"), [(3, 0), (3, 2), (40, 0), (40, 3), (3000, 900), (40_000, 3)])
@pytest.mark.parametrize("is_forced", [False, True])
def test_items_that_start_together_fill_up_in_proportion_to_their_rates(
    kind, height, bounds, n, n_groups, is_forced, monkeypatch
):
    if is_forced:
        for module in (groups_module, narrow_module):
            monkeypatch.setattr(module, "MANY", 2)
    generator = np.random.default_rng([n, n_groups, len(bounds)])
    rates = np.exp(generator.standard_normal(n))
    lower, upper = np.zeros(n), np.full(n, np.inf)
    if bounds in ("upper", "both"):
        upper = rates * height * np.exp(generator.normal(0.3, 1.0, n))
    if bounds in ("lower", "both"):
        lower = np.minimum(rates * height * np.exp(generator.normal(-1.5, 1.0, n)), upper)
    groups = generator.integers(-1, n_groups, n)
    least, taken = (
        np.bincount(groups + 1, x, n_groups + 1)[1:] for x in (lower, np.clip(rates * height, lower, upper))
    )
    caps = least + (taken - least) * generator.uniform(0.2, 2.0, n_groups) + 1e-9 * height
    inside = np.bincount(groups + 1, np.clip(rates * height, lower, upper), n_groups + 1)
    capacity = inside[0] + np.minimum(inside[1:], caps).sum()
    options = {"weights": rates} if kind is criteria.Freshness else {}
    if bounds != "none":
        options |= {"lower": lower, "upper": upper}
    if n_groups:
        options |= {"groups": groups, "group_caps": caps}
    result = solve_nefk(kind(rates), capacity, **options)
    assert result.residual <= 1e-12
    expected = filled(rates, lower, upper, groups, caps, capacity)
    np.testing.assert_allclose(result.amounts, expected, rtol=1e-9, atol=1e-12 * height)


@pytest.mark.parametrize("held", [(2.0, 2.0, 2.0), (0.5, 0.7, 0.01), (1e-5, 1e-6, 2.0)])
@pytest.mark.parametrize("target", [1e-6, 0.3, 0.9])
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_the_share_of_a_jump_is_found_wherever_parts_of_it_are_held(held, target, off):
    """From a first share and a jump that are off as well."""
    tries = []

    def settle(prices):
        tries.append(prices.share)
        return Settled(sum(min(prices.share, most) for most in held), 0.0, 0.0)

    most = settle(Prices(1.0, 2.0, 1.0)).total
    found, settled = settle_share(
        settle, Prices(1.0, 2.0, target * (1.0 - off), jump=most * (1.0 + off)), target * most
    )
    assert settled.total == pytest.approx(target * most, rel=1e-13)
    assert settled.total == settle(found).total
    assert len(tries) <= 60


def test_a_jump_that_does_not_hold_the_target_is_given_up_soon():
    tries = []

    def settle(prices):
        tries.append(prices.share)
        return Settled(5.0 + prices.share, 0.0, 0.0)

    assert settle_share(settle, Prices(1.0, 2.0, 0.5, jump=1.0), 4.0)[1].total == 5.0
    assert len(tries) <= 8
