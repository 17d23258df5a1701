"""Solves with groups that leave out the items that upper bounds hold."""

import math

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk import held_groups, held_items, solver

KINDS = [
    criteria.Freshness,
    criteria.Detection,
    criteria.PoissonFreshness,
    criteria.Harmonic,
    criteria.Logarithmic,
    criteria.Power,
    criteria.Exponential,
]


def held_problem(kind, n, hosts, seed, left):
    """Items of which bounds and caps, one in ten of which may bind, allow a little more than the capacity."""
    generator = np.random.default_rng(seed)
    weights, upper = np.exp(generator.standard_normal((2, n)))
    criterion = kind(generator.uniform(0.05, 0.95, n))
    groups = generator.integers(-1, hosts, n)  # some items have no group
    lower = generator.uniform(0.0, 0.5, n) * upper * (generator.random(n) < 0.5)
    most, least = (np.bincount(groups + 1, bounds, hosts + 1) for bounds in (upper, lower))
    between = least[1:] + (most - least)[1:] * generator.uniform(0.1, 1.0, hosts)
    caps = np.where(generator.random(hosts) < 0.1, between, generator.choice([1.0, 3.0], hosts) * most[1:]) + 1e-9
    capacity = (1.0 - left) * (most[0] + np.minimum(most[1:], caps).sum())
    given = {"weights": weights, "lower": lower, "upper": upper, "groups": groups, "group_caps": caps}
    return criterion, capacity, given


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", [1e-6, 1e-3, 0.02, 0.1])
def test_the_answer_is_that_of_all_items(kind, left, monkeypatch):
    for module in (held_groups, held_items):
        monkeypatch.setattr(module, "FEWEST", 256)
    monkeypatch.setattr(held_items, "LEAST_FREE", 8)
    taken = []
    original = solver.solve_groups_beside_held
    for seed in range(4):
        criterion, capacity, given = held_problem(kind, 3000, 400, seed, left)
        monkeypatch.setattr(
            solver, "solve_groups_beside_held", lambda *args: taken.append(original(*args)) or taken[-1]
        )
        one, two = (solve_nefk(criterion, capacity, **given, n_jobs=jobs) for jobs in (1, 2))
        monkeypatch.setattr(solver, "solve_groups_beside_held", lambda *_: None)
        plain = solve_nefk(criterion, capacity, **given)
        np.testing.assert_array_equal(one.amounts, two.amounts)
        assert one.residual <= 1e-12 and taken[-1] is not None
        np.testing.assert_allclose(one.amounts, plain.amounts, rtol=1e-9, atol=1e-12 * plain.amounts.max())
        np.testing.assert_allclose(
            [one.price, one.value, one.amounts.sum()], [plain.price, plain.value, capacity], rtol=1e-9
        )
        np.testing.assert_allclose(one.group_prices, plain.group_prices, rtol=1e-8, atol=1e-8 * plain.price)
        assert np.mean(one.side != plain.side) < 1e-3


@pytest.mark.parametrize("per_host", [2, 10, 50])
@pytest.mark.parametrize("share", [0.9, 0.98, 0.999])
@pytest.mark.parametrize("alone", [0.0, 0.7])
@pytest.mark.parametrize("are_loose", [False, True])
def test_few_passes_do(per_host, share, alone, are_loose):
    """Two, and some over the items that are left, no more than a quarter; over all, 12 to 15 (all caps loose: 4)."""
    n, generator = 50_000, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    hosts = n // per_host
    groups = np.where(generator.random(n) < alone, -1, generator.integers(0, hosts, n))
    groups[:1] = hosts - 1
    held = np.minimum(1.0, share * generator.uniform(1.0, 2.0, hosts))
    caps = np.bincount(groups + 1, upper, hosts + 1)[1:] * (1.0 if are_loose else held)
    caps[caps == 0.0] = 1.0  # without items
    given = {"weights": weights, "upper": upper, "groups": groups, "group_caps": caps}
    result = solve_nefk(criteria.Freshness(rates), share * upper.sum(), **given)
    assert result.residual <= 1e-12
    assert result.n_passes <= 3
    over = solve_nefk(criteria.Freshness(rates), share * upper.sum(), **given, out=upper)  # which is read, too
    np.testing.assert_array_equal(over.amounts, result.amounts)


def test_a_cap_below_its_lower_bounds_is_named():
    criterion, capacity, given = held_problem(criteria.Freshness, 20_000, 50, 0, 0.02)
    given["group_caps"][7] = 0.5 * given["lower"][given["groups"] == 7].sum()
    with pytest.raises(InfeasibleError, match="the lower bounds of group 7 sum to"):
        solve_nefk(criterion, capacity * 0.97, **given)


def test_items_that_start_together_share_what_is_left():
    """The price is where all in loose groups start: it is not a bound that holds them."""
    n, hosts, generator = 20_000, 2000, np.random.default_rng(1)
    groups, upper = np.arange(n) % hosts, generator.uniform(0.5, 1.5, n)
    weights = np.where(generator.random(n) < 0.02, 1.0, np.exp(2.0 + generator.standard_normal(n)))
    caps = np.bincount(groups, upper) * np.where(np.arange(hosts) < 20, 0.9, 1.0)
    most = float(caps.sum())
    given = {"weights": weights, "upper": upper, "groups": groups, "group_caps": caps}
    for left in (1e-4, 0.01, 0.02):
        result = solve_nefk(criteria.Detection(1.0), (1.0 - left) * most, **given)
        assert result.residual <= 1e-12
        assert result.amounts.sum() == pytest.approx((1.0 - left) * most, rel=1e-12)


@pytest.mark.parametrize("factor", [0.0, 0.9, 1.1])
def test_a_price_on_the_wrong_side_does_no_harm(factor, monkeypatch):
    criterion, capacity, given = held_problem(criteria.Freshness, 20_000, 1000, 2, 0.02)
    monkeypatch.setattr(solver, "solve_groups_beside_held", lambda *_: None)
    plain = solve_nefk(criterion, capacity, **given)
    monkeypatch.undo()
    monkeypatch.setattr(held_groups, "_side", lambda *_: factor * plain.price)
    result = solve_nefk(criterion, capacity, **given)
    assert result.residual <= 1e-12
    np.testing.assert_allclose(result.amounts, plain.amounts, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "hosts"), [("int8", 128), ("uint8", 256), *((x, 300) for x in ("uint16", "int32", "uint32", "uint64"))]
)
@pytest.mark.parametrize("are_loose", [False, True])
def test_labels_of_any_type_and_their_largest(dtype, hosts, are_loose):
    n, generator = 20_000, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    groups = generator.integers(0, hosts, n)
    sums = np.bincount(groups, upper, hosts)
    caps = sums * np.where((np.arange(hosts) % 20 == hosts % 20 - 1) & (not are_loose), 0.8, 1.5)
    capacity = 0.99 * np.minimum(sums, caps).sum()
    given = {"weights": weights, "upper": upper, "group_caps": caps}
    first = solve_nefk(criteria.Freshness(rates), capacity, groups=groups, **given)
    other = solve_nefk(criteria.Freshness(rates), capacity, groups=groups.astype(dtype), **given)
    assert first.residual <= 1e-12 and first.n_passes <= 3
    np.testing.assert_array_equal(other.amounts, first.amounts)


def test_bounds_that_cross_are_named():
    criterion, capacity, given = held_problem(criteria.Freshness, 20_000, 50, 0, 0.02)
    given["lower"][5000], given["upper"][5000] = 1e-9, 1e-11
    with pytest.raises(InfeasibleError, match="lower exceeds upper at position 5000"):
        solve_nefk(criterion, capacity, **given)


def test_a_cap_is_kept_that_is_below_its_bounds_by_less_than_plain_sums_are_off():
    """One after the other, 800,000 bounds of .3 sum to 1.4e-11 less than they are."""
    n, m = 10**6, 800_000
    upper, groups = np.full(n, 0.3), np.full(n, -1)
    upper[m:] = np.random.default_rng(0).uniform(0.5, 1.5, n - m)
    groups[:m] = 0
    cap = float(np.bincount(groups + 1, upper)[1])
    weights = np.random.default_rng(1).uniform(1.0, 2.0, n)
    result = solve_nefk(
        criteria.Freshness(1.0), 0.98 * upper.sum(), weights=weights, upper=upper, groups=groups, group_caps=[cap]
    )
    assert math.fsum(result.amounts[:m]) <= cap * (1.0 + 1e-12)


def test_values_that_have_no_end_stay():
    """An item that may take nothing, in a group that its cap binds, of harmonic value."""
    criterion, capacity, given = held_problem(criteria.Harmonic, 20_000, 400, 0, 0.02)
    binds = np.flatnonzero(solve_nefk(criterion, capacity, **given).group_prices > 0.0)[0]
    item = np.flatnonzero(given["groups"] == binds)[0]
    given["upper"][item] = given["lower"][item] = 0.0
    assert solve_nefk(criterion, 0.999 * capacity, **given).value == -np.inf


@pytest.mark.parametrize("kind", KINDS)
def test_capped_items_without_bounds_are_beside_those_with_them(kind):
    n, hosts, generator = 20_000, 1000, np.random.default_rng(3)
    weights, upper = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(0, hosts, n)
    sums = np.bincount(groups, upper, hosts)
    is_tight = np.arange(hosts) % 20 == 0
    caps = np.where(is_tight, 0.5, 2.0) * sums
    upper[is_tight[groups]] = np.inf
    capacity = 0.98 * np.minimum(caps, sums).sum()
    criterion = kind(generator.uniform(0.05, 0.95, n))
    result = solve_nefk(criterion, capacity, weights=weights, upper=upper, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)
    assert (np.bincount(groups, result.amounts) <= caps * (1.0 + 1e-12)).all()
