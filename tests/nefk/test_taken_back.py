"""Groups that were filled and turn out not to reach their caps are taken back, and what counts of the others."""

import math
import tracemalloc

import numpy as np
import pytest
from tight_problems import assert_same, tight

import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.taken_back import price_to_free


def test_a_price_that_is_wrongly_held_for_the_highest_costs_a_solve_of_what_is_left(filled, taken_back, monkeypatch):
    criterion, given = tight(150_000, 3, criteria.Freshness)
    expected, told = solve_nefk(criterion, **given), reduced.price_beside_caps
    assert not taken_back
    monkeypatch.setattr(reduced, "price_beside_caps", lambda *args: 0.9 * told(*args))
    result = solve_nefk(criterion, **given)
    assert filled == [True, True] and len(taken_back) == 1
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("below", [0.95, 0.7, 0.4])
@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000])
def test_groups_that_were_wrongly_filled_are_taken_back(size, below, dtype, filled, taken_back, sampled, monkeypatch):
    """The budget's price is above the one that it was held to be below. Amounts in single precision do not tell their
    value, and all is solved again.
    """
    criterion, given = tight(150_000, size, criteria.Freshness, share=(0.3, 1.1))
    criterion = criteria.Freshness(criterion._parameter.astype(dtype))
    given |= {"weights": given["weights"].astype(dtype)}
    with monkeypatch.context() as patch:
        patch.setattr(reduced, "may_fill", lambda layout: False)
        expected = solve_nefk(criterion, **given)
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (below * expected.price, 0.0))
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    result = solve_nefk(criterion, **given, out=np.empty(150_000, dtype))
    is_double = dtype == np.float64
    assert filled[0] == is_double and len(taken_back) == is_double
    assert result.price == pytest.approx(expected.price, rel=1e-11)
    assert result.value == pytest.approx(expected.value, rel=1e-12) and result.residual <= 2e-13
    np.testing.assert_allclose(
        result.amounts, expected.amounts, rtol=1e-9 if is_double else 1e-6, atol=1e-12 * given["capacity"]
    )
    np.testing.assert_allclose(result.group_prices, expected.group_prices, rtol=1e-7, atol=1e-10)
    assert np.array_equal(result.at_lower, result.amounts <= 0.0)


@pytest.mark.parametrize("ungrouped", [0.02, 0.25])
@pytest.mark.parametrize("below", [None, 0.8])
def test_values_of_items_that_never_change_count_once(below, ungrouped, filled, taken_back, sampled, monkeypatch):
    """They are worth something without a poll; of some of their groups, caps do not bind."""
    criterion, given = tight(150_000, 3, criteria.Freshness)
    generator = np.random.default_rng(3)
    given["groups"][generator.random(150_000) < ungrouped] = -1
    rates = criterion._parameter.copy()
    rates[generator.random(150_000) < 0.1] = 0.0
    rates[given["groups"] < 2000] = 0.0
    criterion = criteria.Freshness(rates)
    changes = np.bincount(given["groups"] + 1, rates, 50_001)[1:] > 0.0
    given["capacity"] = 0.95 * given["group_caps"][changes].sum()
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(reduced, "may_fill", lambda layout: False)
        expected = solve_nefk(criterion, **given)
    price = expected.price * (below or 1.05)
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (price, 0.0))
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    result = solve_nefk(criterion, **given, out=np.empty(150_000))
    assert filled == [True] and len(taken_back) == (below is not None)
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    assert result.price == pytest.approx(expected.price, rel=1e-11)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64])
def test_groups_that_are_taken_back_may_have_numbers_of_any_type(dtype, filled, taken_back, sampled, monkeypatch):
    """Also the largest of it."""
    n, n_groups, generator = 70_000, min(np.iinfo(dtype).max + 1, 40_000), np.random.default_rng(1)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(0, n_groups, n).astype(dtype)
    if dtype != np.uint8:
        groups[::50] = -1
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    caps = generator.uniform(0.3, 1.1, n_groups) * (np.bincount(groups.astype(int) + 1, free, n_groups + 1)[1:] + 1e-9)
    caps[-1] *= 0.93
    given = {"capacity": min(0.3 * n, 0.98 * caps.sum()), "weights": weights, "group_caps": caps, "n_jobs": 1}
    with monkeypatch.context() as patch:
        patch.setattr(reduced, "may_fill", lambda layout: False)
        expected = solve_nefk(criteria.Freshness(rates), groups=groups.astype(np.intp), **given)
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (0.93 * expected.price, 0.0))
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    result = solve_nefk(criteria.Freshness(rates), groups=groups, **given, out=np.empty(n))
    assert filled[0] and len(taken_back) == 1
    assert result.price == pytest.approx(expected.price, rel=1e-11)
    np.testing.assert_allclose(result.amounts, expected.amounts, rtol=1e-9, atol=1e-12 * given["capacity"])


@pytest.mark.parametrize("fills", [True, False])
def test_groups_without_items_and_with_a_cap_of_0_have_no_price(fills, monkeypatch):
    n, n_groups = 150_000, 60_000
    groups = np.random.default_rng(0).integers(0, n_groups, n)
    rates, weights = np.exp(np.random.default_rng(1).standard_normal((2, n)))
    sizes = np.bincount(groups, minlength=n_groups).astype(np.float64)
    if not fills:
        monkeypatch.setattr(reduced, "may_fill", lambda layout: False)
    result = solve_nefk(
        criteria.Freshness(rates), 0.3 * n, weights=weights, groups=groups, group_caps=1.05 * 0.3 * sizes, n_jobs=1
    )
    assert np.all(result.group_prices[sizes == 0.0] == 0.0) and result.residual <= 2e-13
    assert np.mean(result.group_prices > 0.0) > 0.5


@pytest.mark.parametrize("size", [2, 5, 10, 50])
def test_caps_that_are_little_more_than_the_capacity_are_filled_or_taken_back(size, filled):
    """The budget's price is far below any that a sample can tell: what groups leave that are taken back is guessed."""
    n, n_groups, tried = 200_000, 200_000 // size, []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        groups = generator.integers(0, n_groups, n)
        sizes = np.bincount(groups, minlength=n_groups)
        caps = 1.0001 * 0.3 * sizes
        given = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
        result = solve_nefk(criteria.Freshness(rates), 0.3 * n, **given)
        taken = np.bincount(groups, result.amounts, n_groups)
        assert np.all(taken <= caps * (1 + 1e-12)) and result.residual <= 2e-13
        tried += filled
        filled.clear()
    assert all(tried)


@pytest.mark.parametrize("size", [2, 10, 100])
def test_a_rest_of_next_to_no_capacity_takes_few_groups_back(size, filled, taken_back, sampled, monkeypatch):
    """Its own price is far above the budget's, which what the filled ones are to free leads to."""
    n, n_groups, generator = 100_000, 100_000 // size, np.random.default_rng(2)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = generator.integers(0, n_groups, n)
    caps = 1.02 * 0.3 * np.bincount(groups, minlength=n_groups)
    given = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    criterion = criteria.Freshness(rates)
    own = solve_nefk(criterion, n, **given, equality=False).group_prices
    with monkeypatch.context() as patch:
        patch.setattr(reduced, "may_fill", lambda layout: False)
        expected = solve_nefk(criterion, 0.3 * n, **given)
    order = np.argsort(-own)
    k = np.searchsorted(np.cumsum(caps[order]), (0.3 - 3e-5) * n)
    price = 0.5 * (own[order[k]] + own[order[k - 1]])
    assert price < expected.price
    filled.clear()
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (price, 0.0))
    monkeypatch.setattr(loose_caps, "WORTH_NAMING", 0.0)
    for module in (reduced, tight_caps):
        monkeypatch.setattr(module, "share_beside_filled", lambda *_, **__: 1.0)
    result = solve_nefk(criterion, 0.3 * n, **given, out=np.empty(n))
    loose = np.count_nonzero(np.isin(groups, np.flatnonzero(own <= expected.price)))
    assert filled == [True] and loose <= taken_back[0] <= 3 * loose
    assert_same(result, expected, 0.3 * n)


def test_memory_stays_below_three_arrays_where_groups_are_taken_back(taken_back, monkeypatch):
    """Small groups, whose own prices take much of that."""
    n, generator = 1_000_000, np.random.default_rng(0)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = generator.integers(0, n // 2, n)
    caps = 1.02 * 0.3 * np.bincount(groups, minlength=n // 2)
    given = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1}
    criterion = criteria.Freshness(rates)
    price = solve_nefk(criterion, 0.3 * n, **given).price
    taken_back.clear()
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (0.97 * price, 0.0))
    tracemalloc.start()
    try:
        result = solve_nefk(criterion, 0.3 * n, **given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(taken_back) == 1 and result.residual <= 2e-13
    assert peak <= 24.0 * n


def test_price_to_free_asks_some_of_many_groups():
    own, caps = np.random.default_rng(0).uniform(1.0, 4.0, (2, 100_000))
    freed = np.array([(caps * (1.0 - np.sqrt(own / price)))[own < price].sum() for price in (1.5, 2.0, 3.0)])
    found = [price_to_free(own, caps, much / 1.25, 4.0) for much in freed]
    np.testing.assert_allclose(found, [1.5, 2.0, 3.0], rtol=0.02)


def test_price_to_free_leaves_what_is_missing():
    own, caps = np.array([1.0, 4.0, 9.0, np.nan, 16.0]), np.array([1.0, 2.0, 4.0, 1e3, 8.0])
    for price, much in ((4.0, 0.2), (9.0, 0.6), (16.0, 1.2)):
        freed = price_to_free(own, caps, much, 20.0)
        assert freed == price  # as 1 - sqrt(own / price) of the caps below is more
    assert price_to_free(own, caps, 1.2, 10.0) == 10.0
    assert price_to_free(own, caps, 100.0, math.inf) == math.inf
