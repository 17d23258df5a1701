"""Caps that are likely to bind are filled before the budget's price is known: the same answer as by totals."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from tight_problems import tight, told_by_caps

import knapsolve.nefk.first_prices as first_prices
import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem


@pytest.mark.parametrize("by_caps", [True, False])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("size", [2, 3, 8, 30, 300, 3000])
def test_filled_caps_give_the_answer_of_totals(size, kind, by_caps, filled, request, monkeypatch):
    told, tell = [], reduced.price_beside_caps
    monkeypatch.setattr(reduced, "price_beside_caps", lambda *args: told.append(tell(*args)) or told[-1])
    if not by_caps:
        request.getfixturevalue("sampled")
    criterion, given = tight(150_000, size, kind)
    result = solve_nefk(criterion, **given)
    assert (filled.above == [told[0] * (1.0 + reduced.ABOVE)]) if by_caps else filled.above[0] > result.price
    assert filled == [True]
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    other = solve_nefk(criterion, **given)
    assert filled == [True]
    assert max(result.residual, other.residual) <= 1.2e-13
    assert result.price == pytest.approx(other.price, rel=1e-11)
    assert result.value == pytest.approx(other.value, rel=1e-13)
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])
    np.testing.assert_allclose(result.group_prices, other.group_prices, rtol=1e-9, atol=1e-11 * other.price)
    np.testing.assert_array_equal(result.side, other.side)


@pytest.mark.parametrize("seed", range(5))
def test_all_items_of_no_group_tell_the_price_where_these_are_few(seed, filled, monkeypatch):
    """Some of them are off by far more than what is known of the price beside all caps."""
    monkeypatch.setattr(first_prices, "SAMPLED", 64)
    criterion, given = tight(150_000, 5, criteria.Freshness, seed)
    result = solve_nefk(criterion, **given)
    assert filled == [True]
    assert filled.above[0] == pytest.approx(result.price * (1.0 + reduced.ABOVE), rel=0.1 * reduced.ABOVE)
    assert result.n_passes == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_filled_caps_do_not_depend_on_threads_or_room(dtype, filled):
    criterion, given = tight(300_000, 3, criteria.Freshness)
    results = [solve_nefk(criterion, **given | {"n_jobs": jobs}, out=np.empty(300_000, dtype)) for jobs in (1, 2, 3)]
    assert len(filled) == 3 * (dtype == np.float64)  # amounts of another type are not written over columns
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].amounts, other.amounts)
        np.testing.assert_array_equal(results[0].group_prices, other.group_prices)
        assert (results[0].price, results[0].value) == (other.price, other.value)


@pytest.mark.parametrize("size", [3, 100])
def test_a_sample_that_is_far_off_costs_a_second_solve_alone(size, filled, monkeypatch):
    """Prices taken to be far below the answer's: caps are filled that do not bind."""
    criterion, given = tight(150_000, size, criteria.Freshness, share=(0.3, 2.0))
    expected = solve_nefk(criterion, **given)
    assert not filled
    monkeypatch.setattr(loose_caps, "find_price_above", lambda sample, price, *_: (1e-3 * price, 0.0))
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    result = solve_nefk(criterion, **given)
    assert filled == [False]
    assert result.residual <= 1.2e-13
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])


@pytest.mark.parametrize(("error", "most"), [(0.0, 0.1), (0.3, 0.13), (0.5, 0.15), (9.0, 0.15)])
def test_more_may_be_left_where_the_price_is_known_badly(error, most, monkeypatch):
    """But no more than there is room for."""
    monkeypatch.setattr(tight_caps, "can_be_filled", lambda problem: True)
    for left, room, is_enough in (most - 0.001, 1.0, True), (most + 0.001, 1.0, False), (most - 0.001, 0.1, False):
        sample = SimpleNamespace(totals=SimpleNamespace(problem=None), capped_at=lambda price, left=left: (0.9, left))
        sample.price_above = lambda price, errors: 2.0 * price
        assert (tight_caps.left_below(sample, 1.0, room, error) == left) == is_enough
        assert (tight_caps.find_price_above(sample, 1.0, error, room) == (2.0, left)) == is_enough


@pytest.mark.parametrize("size", [3, 100, 1000])
def test_groups_whose_caps_are_loose_are_not_filled(size, monkeypatch):
    """Many are, and caps that bind are filled first all the same."""
    criterion, given = tight(150_000, size, criteria.Freshness, share=(0.3, 1.8))
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    expected = solve_nefk(criterion, **given)
    monkeypatch.undo()
    tried, fill = [], reduced.fill_and_solve
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 1.0)
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    monkeypatch.setattr(tight_caps, "LEAST_CAPPED", 0.0)
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    monkeypatch.setattr(reduced, "fill_and_solve", lambda *args: tried.append(fill(*args)) or tried[-1])
    result = solve_nefk(criterion, **given)
    assert tried[-1] is not None and result.residual <= 1.2e-13
    assert np.mean(result.group_prices > 0.0) < 0.95
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])


def test_a_problem_of_which_nothing_is_filled_is_solved_by_totals(filled, monkeypatch):
    """A sample may say that all caps bind where none does."""
    criterion, given = tight(150_000, 3, criteria.Freshness, share=(1.2, 2.0))
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (1e300, 0.0))
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", -1.0)
    result = solve_nefk(criterion, **given)
    assert filled == [False] and result.residual <= 1.2e-13


@pytest.mark.parametrize("error", [np.nan, 1.0, 1e3, np.inf])
def test_a_sample_that_may_be_far_off_fills_nothing(error, filled, sampled, monkeypatch):
    criterion, given = tight(150_000, 3, criteria.Freshness)
    monkeypatch.setattr(loose_caps.SampledTotals, "error", lambda sample: error)
    result = solve_nefk(criterion, **given)
    assert filled == ([True] if np.isnan(error) else [])  # by its size alone
    assert result.residual <= 1.2e-13


@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000])
def test_groups_without_an_end_are_left(size, filled, monkeypatch):
    """They take what the budget's price says, whatever a sample says of caps."""
    criterion, given = tight(150_000, size, criteria.Freshness)
    given["group_caps"][::50] = np.inf
    monkeypatch.setattr(tight_caps, "MOST_LEFT", 0.2)
    result = solve_nefk(criterion, **given, out=np.empty(150_000))  # room for what is left of two items a group
    assert filled == [True] or size == 100  # of so few sampled groups, one without an end tells nothing
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    other = solve_nefk(criterion, **given)
    assert result.price == pytest.approx(other.price, rel=1e-11)
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])
    assert np.all(result.group_prices[::50] == 0.0)


@pytest.mark.parametrize("without", [None, "rates", "weights"])
@pytest.mark.parametrize("capacity", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("size", [2, 3, 30, 3000])
def test_caps_that_leave_capacity_over_are_filled_at_a_price_of_0(size, capacity, without, filled, monkeypatch):
    """But for groups that never take theirs."""
    criterion, given = tight(150_000, size, criteria.Freshness)
    given["groups"][given["groups"] < 0] = 0
    caps, alone = given["group_caps"], np.flatnonzero(given["groups"] == 5)
    rate = criterion._parameter.copy()
    if without:
        (rate if without == "rates" else given["weights"])[alone] = 0.0
    criterion, given = criteria.Freshness(rate), given | {"equality": False, "capacity": capacity * caps.sum()}
    result = solve_nefk(criterion, **given)
    assert (filled == [True] or capacity == np.inf) and result.n_passes <= 9
    assert result.price == 0.0 and result.residual <= 1.2e-13
    taken, has_items = np.bincount(given["groups"], result.amounts, caps.size), np.bincount(given["groups"]) > 0
    takes = has_items & (np.arange(caps.size) != 5) if without else has_items
    np.testing.assert_allclose(taken[takes], caps[takes], rtol=1e-12)
    assert np.all(taken[~takes] == 0.0) and np.all((result.group_prices > 0.0) == takes)
    monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    other = solve_nefk(criterion, **given)
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9, atol=1e-12 * caps.sum())
    assert result.value == pytest.approx(other.value, rel=1e-12)  # items of rate 0 have theirs at once


@pytest.mark.parametrize("share", [1.0, 1.0 - 1e-13])
def test_caps_of_which_some_are_0_and_that_are_all_of_the_capacity_are_filled(share, filled):
    criterion, given = tight(150_000, 3, criteria.Freshness)
    given["groups"][given["groups"] < 0] = 0
    given["group_caps"][::50] = 0.0
    result = solve_nefk(criterion, **given | {"equality": False, "capacity": share * given["group_caps"].sum()})
    assert filled == [True] and result.residual <= 2e-13


def test_most_caps_of_0_are_not_filled(filled):
    criterion, given = tight(150_000, 3, criteria.Freshness)
    given["groups"][given["groups"] < 0] = 0
    given["group_caps"][np.arange(50_000) % 5 < 3] = 0.0
    result = solve_nefk(criterion, **given | {"equality": False, "capacity": 2.0 * given["group_caps"].sum()})
    assert not filled and result.price == 0.0 and result.residual <= 2e-13


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection, criteria.Harmonic, criteria.PoissonFreshness])
@pytest.mark.parametrize("size", [2, 30, 1000])
@pytest.mark.parametrize("most", [0.9, 1.3])
def test_what_caps_leave_over_tells_a_price_that_the_budgets_is_at_most(kind, size, most):
    criterion, given = tight(20_000, size, kind, share=(0.3, most))
    capacity, weights, groups, caps = (given[name] for name in ("capacity", "weights", "groups", "group_caps"))
    problem = check_problem(criterion, capacity, weights, 0.0, None, groups, caps, True)
    result, beside = solve_nefk(criterion, **given), told_by_caps(problem)
    assert result.price <= beside * (1.0 + 1e-5)
    assert result.price >= 0.9 * beside or most > 1.0


def test_no_price_is_told_where_caps_leave_nothing_over_or_none_is_there_to_take_it():
    criterion, given = tight(5_000, 3, criteria.Freshness, share=(2.0, 3.0))
    few = np.full(len(given["group_caps"]), 1e-6)

    def told(groups, caps):
        return told_by_caps(check_problem(criterion, 1500.0, given["weights"], 0.0, None, groups, caps, False))

    assert math.isnan(told(given["groups"], given["group_caps"]))
    assert math.isnan(told(np.abs(given["groups"]), few))
    assert told(given["groups"], few) > 0.0


def test_brackets_are_split_where_a_line_between_totals_leads():
    """Caps hold nearly all, so that slopes tell nothing: where brackets are halved, 11.4 passes in the mean."""
    passes = []
    for seed in range(8):
        generator, n, hosts = np.random.default_rng(seed), 100_000, 20_000
        rank = 1.0 / np.arange(1, hosts + 1)
        groups = generator.choice(hosts, n, p=rank / rank.sum())
        rates, weights = np.exp(generator.normal(0.0, 2.0, n)), np.exp(generator.normal(size=n))
        capacity = 0.001 * float(rates.sum())
        caps = np.exp(generator.normal(size=hosts)) * np.bincount(groups, minlength=hosts)
        options = {"weights": weights, "groups": groups, "group_caps": caps * (1.02 * capacity / caps.sum())}
        result = solve_nefk(criteria.Detection(rates), capacity, **options, n_jobs=1)
        assert result.residual <= 1e-12
        passes.append(result.n_passes)
    assert np.mean(passes) <= 10.9
