"""Groups that surely exceed their caps over a bracket, or nowhere in it, are told without a look at their items."""

import math

import numpy as np
import pytest
from nefk_oracle import totals_of
from scipy.special import gammaincinv

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.loose_caps as loose_caps_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_marks import beside, mark_surely, steepest
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals


@pytest.mark.parametrize("away", [1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.5, 1.0, 10.0])
def test_no_item_falls_further_than_its_slope_tells(away):
    """Of freshness: an item that starts at s times the price takes 1/z there, with P(2, z) = 1/s."""
    apart = np.geomspace(1e-12, 1.0, 500)
    starts = 1.0 + np.concatenate([np.geomspace(1e-12, 100.0, 500), away * (1.0 - 0.999 * apart), away * (1.0 + apart)])
    z, above = gammaincinv(2.0, 1.0 / starts), np.maximum(starts, 1.0 + away)
    later = np.where(above > 1.0 + away, 1.0 / gammaincinv(2.0, (1.0 + away) / above), 0.0)
    slope = np.exp(z) / (z**3 * starts)
    times = ((1.0 / z - later) / (slope * away)).max()
    assert times < steepest(away)
    assert away > 1.0 or times > 0.6 * steepest(away)


@pytest.mark.parametrize("groups", [300, 2000])
def test_the_price_at_which_a_total_is_known_lies_outside_of_the_next_bracket(groups, monkeypatch):
    """But for a bracket about a price that is nearly the answer's."""
    seen = []

    def spy(passes, mu, ends, total, slope):
        seen.append((ends[0] / mu, ends[1] / mu))
        return mark_surely(passes, mu, ends, total, slope)

    monkeypatch.setattr(groups_module, "mark_surely", spy)
    criterion, capacity, options = half_capped(10_000, groups)
    assert solve_nefk(criterion, capacity, **options).residual <= 1e-12
    assert 1.0 in seen[0]
    assert all(low >= 1.0 or high <= 1.0 or high < low + 1e-5 for low, high in seen)


def test_where_the_price_stays_or_falls_all_that_is_above_a_cap_stays_above():
    assert steepest(0.0) == steepest(-1.0) == 0.0


def test_a_bracket_ends_where_the_total_is_known_to_be_on_one_side():
    assert beside((1.0, 3.0), 2.0, 0.5) == (2.0, 3.0)
    assert beside((1.0, 3.0), 2.0, -0.5) == (1.0, 2.0)
    assert beside((1.0, 3.0), 2.0, 0.0) == beside((1.0, 3.0), 0.5, 0.5) == beside((1.0, 3.0), 4.0, -0.5) == (1.0, 3.0)


def half_capped(n=100_000, groups=20_000):
    """Items in groups of which half have a cap that binds."""
    generator = np.random.default_rng(0)
    rates, weights = generator.lognormal(0, 1.5, n), generator.lognormal(0, 1, n)
    group = generator.integers(-1, groups, n)
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    few = np.where(generator.random(groups) < 0.5, generator.uniform(0.3, 0.9, groups), 50.0)
    caps = few * (np.bincount(group + 1, free, groups + 1)[1:] + 1e-9)
    return criteria.Freshness(rates), 0.3 * n, {"weights": weights, "groups": group, "group_caps": caps}


def test_a_first_price_that_is_far_below_tells_of_nearly_all_groups_that_are_capped(monkeypatch):
    """A step up of a tenth of the price, and of a twentieth where T is known on the other side."""
    seen = []

    def spy(passes, mu, ends, total, slope):
        marks = mark_surely(passes, mu, ends, total, slope)
        above = passes.respond(ends[1])[0][1:] > passes.caps
        assert np.all(above[marks[1:] == 1])
        seen.append((ends[1] / mu, np.count_nonzero(marks[1:] == 1) / np.count_nonzero(above)))
        return marks

    monkeypatch.setattr(SampledTotals, "error", lambda _: 0.035)
    monkeypatch.setattr(loose_caps_module, "MOST_SURE", 0.035)
    monkeypatch.setattr(groups_module, "mark_surely", spy)
    criterion, capacity, options = half_capped()
    result = solve_nefk(criterion, capacity, **options)
    assert result.residual <= 1e-12
    away, share = seen[0]
    assert 1.05 < away < 1.15
    assert share > 0.85


@pytest.mark.parametrize("times", [0.999, 1.0005])
def test_groups_are_told_on_both_sides_of_the_answer(times):
    """Next to a price at which the total is known, whatever the bracket about the next one."""
    criterion, capacity, options = half_capped()
    price = times * solve_nefk(criterion, capacity, **options).price
    totals = totals_of("freshness", criterion._parameter, options | {"upper": None})
    passes = GroupPasses(totals.problem, 1)
    total, slope = passes.respond(price)
    side = np.minimum(total[1:], passes.caps).sum() + total[0] - capacity
    assert (side > 0.0) == (times < 1.0)
    low, high = beside((0.99 * price, 1.01 * price), price, side)
    marks = mark_surely(passes, price, (low, high), total, slope)[1:]
    over = total[1:] > passes.caps
    if side > 0.0:
        np.testing.assert_array_equal(marks == 3, total[1:] * (1.0 + 2.0 * core.ROUGH) <= passes.caps)
    else:
        np.testing.assert_array_equal(marks == 1, total[1:] * (1.0 - core.ROUGH) > passes.caps)
    assert not np.any(over[marks == 3])
    assert np.all(over[marks == 1])


def test_groups_without_room_that_take_nothing_are_loose_at_higher_prices():
    total, slope, caps = np.array([1.0, 0.0, 0.0, 1e-3]), np.array([1.0, 0.0, 0.0, 1e-3]), np.array([0.0, 1.0, 0.0])
    marks = np.empty(4, dtype=np.int8)
    for rise, expected in ((0.0, [3, 3, 3, 1]), (math.inf, [0, 0, 0, 1])):
        for kind in (np.float64, np.float32):
            group_tables.mark_surely(total.astype(kind), slope.astype(kind), caps, 0.1, marks, 0.0, rise)
            assert marks.tolist() == expected


@pytest.mark.parametrize("tiny", [1.0, 1e-60])
def test_groups_without_room_have_the_price_at_which_their_first_item_starts(tiny):
    """Also where what one takes at the budget's price is lost in single precision, beside groups that take nothing."""
    generator, n, groups = np.random.default_rng(0), 100_000, 80_000
    rates, weights = generator.lognormal(0, 1.5, n), generator.lognormal(0, 1, n)
    group, caps = generator.integers(-1, groups, n), np.zeros(groups)
    caps[::4] = 2.0
    is_tiny = (group % 4 == 1) & (group >= 0)
    rates[is_tiny] *= tiny
    weights[is_tiny] *= tiny * 1e3
    result = solve_nefk(criteria.Freshness(rates), 0.05 * n, weights=weights, groups=group, group_caps=caps)
    assert result.residual <= 1e-12
    has_none = (group >= 0) & (caps[group] == 0.0)
    assert not result.amounts[has_none].any()
    starts = np.zeros(groups)
    np.maximum.at(starts, group[has_none], (weights / rates)[has_none])
    own = np.where(starts > result.price, starts - result.price, 0.0)[caps == 0.0]
    np.testing.assert_allclose(result.group_prices[caps == 0.0], own, rtol=1e-9, atol=1e-12)
