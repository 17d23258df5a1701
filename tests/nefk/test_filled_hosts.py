"""Hosts of very different sizes are filled first as others are: large ones by themselves, and empty ones are none."""

import math

import numpy as np
import pytest
from tight_problems import assert_same, hosts_by_rank

import knapsolve._core.nefk as core
import knapsolve.nefk.layouts as layouts
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.room as room
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_totals import GroupTotals
from knapsolve.nefk.large_groups import LargeGroup
from knapsolve.nefk.passes import Passes
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.runs import Runs


@pytest.fixture
def large(monkeypatch):
    """Which large groups were filled, of all that were tried."""
    seen, fill = {}, LargeGroup.fill

    def spy(one, *args):
        found = fill(one, *args)
        seen[one.group] = found is not None
        return found

    monkeypatch.setattr(LargeGroup, "fill", spy)
    return seen


@pytest.mark.parametrize(
    ("size", "over", "loose"), [(2, 0.8, False), (2, 1.02, False), (2, 1.02, True), (5, 1.02, True), (50, 0.8, False)]
)
def test_hosts_by_rank_are_filled_large_ones_by_themselves(size, over, loose, filled, large, monkeypatch):
    """One of them may be loose: then its items are left."""
    n = 500_000
    criterion, given = hosts_by_rank(n, n // size, over)
    given["out"] = np.empty(n)  # with groups of two there is room for that alone
    sizes = np.bincount(given["groups"], minlength=n // size)
    second = np.argsort(-sizes)[1]
    if loose:
        given["group_caps"][second] *= 5.0
        monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.2)
    result = solve_nefk(criterion, **given)
    assert filled == [True]
    assert sizes[second] > core.TILE
    assert large == {int(g) + 1: not (loose and g == second) for g in np.flatnonzero(sizes > core.TILE)}
    assert (result.group_prices[second] == 0.0) == loose
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    assert_same(result, solve_nefk(criterion, **given | {"out": np.empty(n)}), given["capacity"])
    assert filled == [True]


def test_a_large_group_that_is_left_has_its_cap_still(filled, large, monkeypatch):
    """Its own price is above the budget's, but not above what that may well be."""
    n = 500_000
    criterion, given = hosts_by_rank(n, n // 5, 1.02)
    given["out"] = np.empty(n)
    second = np.argsort(-np.bincount(given["groups"]))[1]
    given["group_caps"][second] *= 5.0
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.2)
    given["group_caps"][second] = 0.999 * solve_nefk(criterion, **given).amounts[given["groups"] == second].sum()
    result = solve_nefk(criterion, **given)
    assert filled == [True, True]
    assert not large[second + 1]
    assert 0.0 < result.group_prices[second] < 0.01 * result.price
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    assert_same(result, solve_nefk(criterion, **given | {"out": np.empty(n)}), given["capacity"])


def test_large_groups_that_are_filled_do_not_depend_on_threads(large):
    criterion, given = hosts_by_rank(400_000, 20_000, 1.02)
    one, two = (solve_nefk(criterion, **given | {"n_jobs": jobs}) for jobs in (1, 2))
    assert any(large.values())
    np.testing.assert_array_equal(one.amounts, two.amounts)
    np.testing.assert_array_equal(one.group_prices, two.group_prices)
    assert (one.price, one.value, one.residual) == (two.price, two.value, two.residual)


def test_a_large_group_whose_items_have_no_rate_is_not_filled(filled, large, monkeypatch):
    """They take nothing at any price."""
    criterion, given = hosts_by_rank(500_000, 50_000, 1.02)
    rates, sizes = criterion._parameter.copy(), np.bincount(given["groups"], minlength=50_000)
    second = np.argsort(-sizes)[1]
    rates[given["groups"] == second] = 0.0
    given["capacity"] -= given["group_caps"][second]
    given["out"] = np.empty(rates.size)  # room for what is left
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.2)  # of which large groups make a sample unsure
    result = solve_nefk(criteria.Freshness(rates), **given)
    assert filled == [True]
    assert not large[second + 1]
    assert not result.amounts[given["groups"] == second].any()
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    assert_same(result, solve_nefk(criteria.Freshness(rates), **given | {"out": None}), given["capacity"])


def test_most_items_in_large_groups_are_not_filled(filled):
    """Each of them takes as long as a problem by itself: less with totals."""
    generator, n = np.random.default_rng(3), 200_000
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups, caps = generator.integers(0, 8, n), np.full(8, 0.2 * n / 8)
    criterion = criteria.Freshness(rates)
    result = solve_nefk(criterion, 0.3 * n, weights=weights, groups=groups, group_caps=caps, equality=False)
    assert not filled
    assert result.group_prices.min() > 0.0
    assert result.residual <= 1e-12


def test_groups_without_items_are_not_in_the_share_of_those_whose_caps_bind():
    criterion, given = hosts_by_rank(100_000, 50_000, 1.02)
    names = ("capacity", "weights", "groups", "group_caps", "equality")
    capacity, weights, groups, caps, equality = (given[name] for name in names)
    problem = check_problem(criterion, capacity, weights, 0.0, None, groups, caps, equality)
    sample = SampledTotals(GroupTotals(problem, problem.passes().items, every=23))
    price = solve_nefk(criterion, **given).price
    share, left = sample.capped_at(price)
    sizes = np.bincount(groups, minlength=50_000)
    assert np.count_nonzero(sizes) < 0.5 * sizes.size
    assert 0.8 < share <= 1.0
    assert left < 0.1


@pytest.mark.parametrize("gives_out", [False, True])
@pytest.mark.parametrize("size", [2, 5])
def test_a_table_of_where_uneven_groups_go_is_made_where_there_is_room(gives_out, size, monkeypatch):
    """Else items are moved without: they end up in the same places. Guesses that are as many are no better."""
    n = 100_000
    criterion, given = hosts_by_rank(n, n // size, 1.02)
    capacity, weights, groups, caps = (given[x] for x in ("capacity", "weights", "groups", "group_caps"))
    problem = check_problem(criterion, capacity, weights, 0.0, None, groups, caps, True)

    def tiled(most):
        monkeypatch.setattr(room, "MOST_ROOM", most)
        starts = np.zeros(len(caps) + 3, dtype=np.uint32)
        starts[2:] = np.bincount(groups + 1, minlength=len(caps) + 1).cumsum()
        place = Place(n, np.empty(n), 8) if gives_out else Place(n, None)
        assert room.have_table(Runs(starts[1:].copy()), n)
        return layouts.lay_out(problem, [(None, starts)], place)

    ample = tiled(30.0)
    assert ample.table_bytes > 0
    layouts_by_room = map(tiled, np.arange(24.0, 0.0, -0.1))
    narrow = next(x for x in layouts_by_room if isinstance(x, layouts.Listed) or not x.table_bytes)
    assert isinstance(narrow, layouts.Tiled)
    np.testing.assert_array_equal(narrow.problem.weights, ample.problem.weights)
    assert narrow.most_rough < ample.most_rough
    assert math.isfinite(narrow.most_rough)


@pytest.mark.parametrize("over", [0.8, 1.02])
def test_items_in_order_by_host_are_filled_as_others_are(over, filled):
    criterion, given = hosts_by_rank(150_000, 15_000, over)
    result = solve_nefk(criterion, **given)
    order = np.argsort(given["groups"], kind="stable")
    sorted_given = given | {name: given[name][order] for name in ("weights", "groups")}
    other = solve_nefk(criteria.Freshness(criterion._parameter[order]), **sorted_given)
    assert filled == [True, True]
    assert max(result.residual, other.residual) <= 3e-13
    assert other.price == pytest.approx(result.price, rel=1e-11)
    np.testing.assert_allclose(other.amounts, result.amounts[order], rtol=1e-9, atol=1e-12 * given["capacity"])
    np.testing.assert_allclose(other.group_prices, result.group_prices, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("over", [0.8, 1.02])
def test_own_prices_are_guessed_by_the_sizes_of_hosts(over, filled, monkeypatch):
    """Without a pass; no guess is so far off that steps would be many."""
    seen, guess = [], tight_caps.guesses_by_size
    monkeypatch.setattr(tight_caps, "guesses_by_size", lambda passes: seen.append(guess(passes)) or seen[-1].copy())
    criterion, given = hosts_by_rank(200_000, 30_000, over)
    result = solve_nefk(criterion, **given)
    assert filled == [True]
    assert len(seen) == 1
    some = (result.group_prices > 0.1 * result.price) & (np.bincount(given["groups"], minlength=30_000) >= 24)
    off = np.abs(np.log(seen[0][1:][some] / (result.price + result.group_prices[some])))
    assert off.size > 200
    assert np.median(off) < 0.2
    assert off.max() < 2.0


def test_large_groups_are_not_asked_at_subnormal_prices(filled, large, monkeypatch):
    """Passes at these take ten times as long."""
    n, prices, respond = 500_000, [], Passes.respond
    monkeypatch.setattr(Passes, "respond", lambda passes, price: prices.append(price) or respond(passes, price))
    criterion, given = hosts_by_rank(n, n // 50, 0.8)
    result = solve_nefk(criterion, **given)
    assert filled == [True] and result.residual <= 1e-12
    assert large and all(large.values()) and min(prices) >= 1e-150


def test_a_large_group_whose_own_price_is_next_to_nothing_is_filled(filled, large):
    """At the least of other prices it takes less than its cap."""
    n = 500_000
    criterion, given = hosts_by_rank(n, n // 50, 0.8)
    biggest = int(np.argmax(np.bincount(given["groups"])))
    given["group_caps"][biggest], given["capacity"] = 1e90, 1e91
    result = solve_nefk(criterion, **given)
    assert filled == [True] and large[biggest + 1] and result.residual <= 1e-12
    assert result.amounts[given["groups"] == biggest].sum() == pytest.approx(1e90, rel=1e-12)
    assert 0.0 < result.group_prices[biggest] < 1e-150


def test_large_hosts_that_take_their_caps_up_to_a_price_are_filled_though_slopes_tell_nothing(filled):
    """Pages of a host are nearly alike: totals are flat, and fall all at once when hosts leave their caps."""
    n, hosts = 100_000, 100
    for seed in (2, 6, 8):
        generator = np.random.default_rng(seed)
        groups = generator.integers(0, hosts, n)
        rates = generator.lognormal(0, 1.5, hosts)[groups] * generator.lognormal(0, 0.1, n)
        weights = generator.lognormal(0, 1, hosts)[groups]
        caps = np.full(hosts, 1.02 * 0.3 * n / hosts)
        result = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, groups=groups, group_caps=caps)
        assert result.residual <= 1e-12
        assert result.n_passes <= 12
    assert filled == [True] * 3
