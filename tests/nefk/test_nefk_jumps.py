"""Amounts that jump at a price, under bounds and caps: items that always change, and starts within its last bit."""

import numpy as np
import pytest
from scipy.optimize import brentq

from knapsolve import criteria, solve_nefk


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rest", [False, True])
def test_items_that_always_change_are_linear_within_bounds_and_caps(seed, rest):
    """With rates of infinity alone, they are linear items; with others beside, all constraints are met."""
    generator = np.random.default_rng([seed, 17])
    n = int(generator.integers(1, 9))
    rates = np.where(generator.random(n) < (0.5 if rest else 0.0), generator.uniform(0.5, 3.0, n), np.inf)
    lower, upper = generator.uniform(0.0, 0.2, n), generator.uniform(0.3, 2.0, n)
    options = {"weights": generator.integers(1, 4, n).astype(float)}
    options |= {"lower": lower} if seed % 2 else {}
    options |= {"upper": upper} if seed % 3 else {}
    least, most = (lower if seed % 2 else np.zeros(n)), (upper if seed % 3 else np.full(n, 2.0))
    groups = generator.integers(-1, 3, n)
    if seed % 5:
        caps = np.array([least[groups == g].sum() + generator.uniform(0.1, 1.5) for g in range(3)])
        options |= {"groups": groups, "group_caps": caps}
        inside = [min(most[groups == g].sum(), caps[g]) for g in range(3)]
        most = np.append(inside, most[groups < 0])
    capacity = least.sum() + generator.uniform(0.1, 0.9) * (most.sum() - least.sum())
    result = solve_nefk(criteria.Detection(rates), capacity, **options)
    assert max(result.residual, result.budget_residual) <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    if "groups" in options:
        assert all(result.amounts[groups == g].sum() <= caps[g] * (1 + 1e-12) for g in range(3))
    if not rest:
        assert result.value == pytest.approx(solve_nefk(criteria.Linear(), capacity, **options).value, rel=1e-12)


@pytest.mark.parametrize("room", [1e-9, 3.16e-4, 0.1])
@pytest.mark.parametrize("least", [1e-14, 1e-9, 1e-3])
def test_little_room_above_a_lower_bound_is_used_where_amounts_jump(least, room):
    """An item starts with a jump within the last bit of a price, of which the bound hides nearly all that is taken."""
    alone = solve_nefk(criteria.Detection([1.3]), least * (1 + room), lower=least)
    assert max(alone.residual, alone.budget_residual) <= 1e-12
    lower, cap = np.array([least, *8 * [0.0]]), least * (1 + room)
    groups = [0] + 8 * [-1]
    capped = solve_nefk(criteria.Detection(np.ones(9)), 17 * cap, lower=lower, groups=groups, group_caps=[cap])
    assert max(capped.residual, capped.budget_residual) <= 1e-12
    assert capped.amounts[0] <= cap * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_groups_larger_than_a_tile_start_with_a_jump_within_their_caps(seed):
    n, generator = 100_000, np.random.default_rng([seed, 18])
    rates, groups = np.exp(generator.standard_normal(n)), generator.integers(-1, 2, n)
    height = 0.02 * np.exp(generator.standard_normal())
    caps = height * np.bincount(groups + 1, rates)[1:] * generator.uniform(0.2, 1.5, 2)
    capacity = height * rates[groups < 0].sum() + 0.9 * caps.sum()
    result = solve_nefk(criteria.Detection(rates), capacity, groups=groups, group_caps=caps)
    assert max(result.residual, result.budget_residual) <= 1e-12
    assert (np.bincount(groups + 1, result.amounts)[1:] <= caps * (1 + 1e-12)).all()


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("more", [1e-3, 0.01, 0.03])
def test_half_of_many_items_start_at_once_below_the_others(kind, more):
    """The answer is in their jump. Steps that halved towards where they start took 90 to 96 passes."""
    generator, n = np.random.default_rng(5), 100_000
    is_first = generator.random(n) < 0.5
    rates, starts = generator.choice([1.0, 2.0, 4.0], n), np.where(is_first, 1.1, 1.0)
    weights = starts * rates if kind is criteria.Freshness else starts

    def price_of_first(capacity):
        return solve_nefk(kind(rates[is_first]), capacity, weights=weights[is_first]).price - 1.0

    capacity = brentq(price_of_first, 1e-6 * n, 5.0 * n, xtol=1e-9 * n)
    capacity += more * float(rates[~is_first].sum())
    result = solve_nefk(kind(rates), capacity, weights=weights)
    assert result.residual <= 1e-12 and result.n_passes <= 18
    assert result.price == pytest.approx(1.0, rel=1e-12)
    assert result.amounts[~is_first].sum() == pytest.approx(more * rates[~is_first].sum(), rel=1e-4)
