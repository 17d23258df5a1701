"""Groups in tiles: order of items, threads, sizes and the model of the total change nothing."""

import math

import numpy as np
import pytest
from group_fuzz import MANY_PER_GROUP, MANY_SIZES, residual
from nefk_oracle import random_parameters, solve
from test_nefk_groups import assert_certified, random_problem

import knapsolve._core.nefk as core
import knapsolve.nefk.group_marks as group_marks_module
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.narrow as narrow_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_passes import BATCHES, MOST_LISTED, GroupPasses
from knapsolve.nefk.problem import check_problem
from tests.sizes import slow_and_full


@pytest.mark.parametrize("family", ["freshness", "harmonic", "quadratic"])
@pytest.mark.parametrize(("n", "n_groups"), [(70_000, 3), (70_000, 20), (70_000, 14_000)])
def test_many_items_in_large_and_small_groups_are_certified(family, n, n_groups):
    problem = random_problem(family, n, n_groups, 1, n_groups == 20)
    p, w, groups, caps, low, high, capacity = problem
    options = {"weights": w, "lower": low, "upper": high, "groups": groups, "group_caps": caps}
    one, two = (solve(family, p, capacity, n_jobs=jobs, **options) for jobs in (1, 2))
    np.testing.assert_array_equal(one.amounts, two.amounts)
    assert (one.price, one.value, one.n_passes) == (two.price, two.value, two.n_passes)
    sample = np.random.default_rng(3).choice(n_groups, min(n_groups, 100), replace=False)
    own = one.price + np.where(groups >= 0, one.group_prices[np.maximum(groups, 0)], 0.0)
    assert one.residual <= 1e-12
    for g in sample:
        taken = math.fsum(one.amounts[groups == g])
        assert taken <= caps[g] * (1 + 1e-12)
        if one.group_prices[g] > 1e-9 * abs(one.price):
            assert taken == pytest.approx(caps[g], rel=1e-12)
    slope = w * criteria.Harmonic(p).derivative(one.amounts) if family == "harmonic" else None
    if slope is not None:
        inside = (one.amounts > low) & (one.amounts < high)
        np.testing.assert_allclose(slope[inside], own[inside], rtol=1e-11)


def test_the_order_of_the_items_changes_the_answer_by_rounding_alone():
    p, w, groups, caps, low, high, capacity = random_problem("freshness", 30_000, 900, 4, True)
    by = np.argsort(groups, kind="stable")
    options = {"groups": groups, "group_caps": caps, "lower": low, "upper": high}
    mixed = solve("freshness", p, capacity, weights=w, **options)
    options |= {"groups": groups[by], "lower": low[by], "upper": high[by]}
    sorted_ = solve("freshness", p[by], capacity, weights=w[by], **options)
    np.testing.assert_allclose(mixed.amounts[by], sorted_.amounts, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(mixed.group_prices, sorted_.group_prices, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_groups", [15, 3000])
def test_every_instruction_set_solves_groups_to_the_same_bits(n_groups):
    p, w, groups, caps, _, _, capacity = random_problem("freshness", 20_000, n_groups, 5, False)
    answers = []
    try:
        for level in (0, 1, 2):
            core.use_level(level)
            result = solve("freshness", p, capacity, weights=w, groups=groups, group_caps=caps)
            answers.append((result.amounts.tobytes(), result.group_prices.tobytes()))
    finally:
        core.use_level(2)
    assert len(set(answers)) == 1


@pytest.mark.parametrize("family", ["detection", "freshness", "poisson", "power", "quadratic"])
def test_the_model_of_the_total_gives_the_answer_of_exact_passes(family, monkeypatch):
    problem = random_problem(family, 2000, 300, 6, True)
    p, w, groups, caps, low, high, capacity = problem
    options = {"weights": w, "lower": low, "upper": high, "groups": groups, "group_caps": caps}
    exact = solve(family, p, capacity, **options)
    for module in (groups_module, group_marks_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 100)
    modelled = solve(family, p, capacity, **options)
    assert_certified(family, *problem, modelled)
    assert modelled.price == pytest.approx(exact.price, rel=1e-11)


@pytest.mark.parametrize("n_groups", [4, 14_000])
@pytest.mark.parametrize("room", [0.9, 1.0001, 1.5])
def test_capacity_that_is_no_use_is_left_over_however_many_items(n_groups, room):
    """A quadratic's value falls beyond 1 / curvature: at most so much is given out, at price 0."""
    generator, n = np.random.default_rng(13), 70_000
    curvature, w = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(-1, n_groups, n)
    best = 1.0 / curvature
    taken = np.bincount(groups + 1, best, n_groups + 1)
    caps = taken[1:] * generator.choice([0.5, 2.0], n_groups) + 1e-9
    useful = taken[0] + np.minimum(taken[1:], caps).sum()
    options = {"weights": w, "groups": groups, "group_caps": caps, "equality": False}
    result = solve_nefk(criteria.Quadratic(curvature), room * useful, **options)
    assert result.residual <= 1e-12
    assert result.amounts.sum() == pytest.approx(min(room, 1.0) * useful, rel=1e-12)
    assert (result.price > 0.0) == (room < 1.0)


def test_float32_output_rounds_the_same_amounts():
    p, w, groups, caps, _, _, capacity = random_problem("freshness", 9000, 700, 7, False)
    out = np.empty(9000, dtype=np.float32)
    options = {"weights": w, "groups": groups, "group_caps": caps}
    wide, narrow = solve("freshness", p, capacity, **options), solve("freshness", p, capacity, out=out, **options)
    np.testing.assert_array_equal(wide.amounts.astype(np.float32), narrow.amounts)


@pytest.mark.parametrize("first", range(0, 3000, 250))
def test_adversarial_problems_leave_no_residual(first):
    assert [seed for seed in range(first, first + 250) if not residual(seed) <= 1e-12] == []


@pytest.mark.parametrize("first", range(0, 400, 100))
@pytest.mark.parametrize("even", [False, True])
def test_adversarial_groups_of_many_items_leave_no_residual(first, even):
    found = [residual(seed, even, MANY_SIZES, MANY_PER_GROUP) for seed in range(first, first + 100)]
    assert max(found) <= 1e-12


@pytest.mark.parametrize("family", ["detection", "freshness", "poisson", "harmonic", "power", "exponential"])
def test_own_prices_of_groups_of_many_items_are_those_of_the_groups_alone(family):
    generator = np.random.default_rng(12)
    sizes = [130, 500, 1700, 6000, 12_000]
    groups = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = groups.size
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    caps = 0.05 * np.array(sizes) * generator.uniform(0.5, 1.0, len(sizes))
    result = solve(family, p, caps.sum() * 0.999, weights=w, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    own = result.price + result.group_prices
    bind = np.flatnonzero(result.group_prices > 1e-6 * result.price)
    assert bind.size >= 3
    for g in bind:
        alone = solve(family, p[groups == g], caps[g], weights=w[groups == g])
        assert own[g] == pytest.approx(alone.price, rel=1e-11)
        np.testing.assert_allclose(result.amounts[groups == g], alone.amounts, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("first", slow_and_full(range(10_000, 20_000, 2500), range(20_000, 40_000, 2500)))
def test_many_adversarial_problems_leave_no_residual(first):
    assert [seed for seed in range(first, first + 2500) if not residual(seed) <= 1e-12] == []


@pytest.mark.parametrize("first", slow_and_full(range(50_000, 55_000, 2500), range(55_000, 60_000, 2500)))
def test_many_adversarial_problems_leave_no_residual_by_the_model_either(first, monkeypatch):
    for module in (groups_module, group_marks_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 5)
    assert [seed for seed in range(first, first + 2500) if not residual(seed) <= 1e-12] == []


@pytest.mark.parametrize("first", [60_000, 60_300])
def test_groups_taken_to_be_capped_too_early_are_opened_again(first, monkeypatch):
    for module in (groups_module, group_marks_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 5)
    monkeypatch.setattr(group_marks_module, "CLEAR", 0.0)
    monkeypatch.setattr(group_marks_module, "steepest", lambda _: 0.0)
    assert [seed for seed in range(first, first + 300) if not residual(seed) <= 1e-12] == []


@pytest.mark.parametrize("family", ["freshness", "quadratic"])
def test_groups_on_the_wrong_side_of_their_caps_end_where_exact_passes_end(family, monkeypatch):
    """Guessed from a sample, some groups count as capped whose caps the answer leaves loose: their amounts add up to
    the caps, and nothing but the comparison of their own price with the budget's tells."""
    n_opened = 0
    reopen = groups_module.GroupModel.reopen

    def counted(model, wrong):
        nonlocal n_opened
        n_opened += wrong.size
        return reopen(model, wrong)

    def nearly_capped(passes, mu, ends, total, slope):
        filled = np.append(
            0.0, np.divide(total[1:], passes.caps, out=np.zeros_like(passes.caps), where=passes.caps < np.inf)
        )
        capped = (filled > 1.0).astype(np.int8)
        capped[np.argmax(np.where(filled > 1.0, 0.0, filled))] = 1  # the fullest of the loose ones
        return capped

    for seed in range(8):
        p, w, groups, caps, low, high, capacity = problem = random_problem(family, 3000, 400, seed, seed % 2 == 0)
        options = {"weights": w, "lower": low, "upper": high, "groups": groups, "group_caps": caps}
        exact = solve(family, p, capacity, **options)
        with monkeypatch.context() as patch:
            for module in (groups_module, group_marks_module, narrow_module):
                patch.setattr(module, "MANY", 5)
            patch.setattr(groups_module, "mark_surely", nearly_capped)
            patch.setattr(groups_module.GroupModel, "reopen", counted)
            modelled = solve(family, p, capacity, **options)
        assert_certified(family, *problem, modelled)
        assert modelled.price == pytest.approx(exact.price, rel=1e-11)
        np.testing.assert_allclose(modelled.amounts, exact.amounts, rtol=1e-7, atol=1e-10)
    assert n_opened > 0


def test_a_power_of_almost_one_at_almost_no_capacity_stays_on_the_floor_of_doubles():
    exponents = random_parameters("power", 300, np.random.default_rng(9)) * 0 + np.linspace(0.1, 0.97, 300)
    result = solve("power", exponents, 1e-12)
    assert result.residual <= 1e-12
    assert (result.amounts > 0).all()


def nearest_starts(n, seed=14):
    """Rates and weights (n,) whose quotient, the start, is a double but for some 2^-105 of itself: no rate can start
    nearer to one.
    """
    generator, one, found = np.random.default_rng(seed), 1 << 53, []
    while len(found) < n:
        start = int(generator.integers(one >> 1, one)) | 1
        rate = -pow(start, -1, one) % one
        weight = (start * rate + 1) >> 53
        if rate >= one >> 1:
            found.append((rate / 2**52, weight / 2**51))
    return np.array(found).T


@pytest.mark.parametrize("part", [46.0, 60.0, 77.5, 78.0, 84.9, 85.1])
def test_a_cap_is_met_where_an_item_starts_with_less_than_it(part):
    """A 78th of the rate is the least that an item can start with; a cap surely is within the jump only below that."""
    rates, weights = nearest_starts(500)
    caps, starts = rates / part, weights / rates
    rates = np.append(np.column_stack([rates, np.ones(rates.size)]).ravel(), 1.0)  # two of a group, one of none
    weights = np.append(np.column_stack([weights, 1e-3 * starts]).ravel(), 1e-3)
    groups = np.append(np.repeat(np.arange(caps.size), 2), -1)
    result = solve("freshness", rates, caps.sum() + 0.3, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    np.testing.assert_allclose(np.bincount(groups + 1, result.amounts)[1:], caps, rtol=1e-12)
    np.testing.assert_allclose(result.group_prices + result.price, starts, rtol=1e-12)


def test_tiles_of_one_call_list_what_they_list_one_by_one():
    """All groups pass their caps within the bracket: what is listed fills the room of a call after a few tiles."""
    n = 800_000
    generator = np.random.default_rng(4)
    groups, rates = generator.integers(-1, n // 5, n), np.exp(1.5 * generator.standard_normal(n))
    free = GroupPasses(check_problem(criteria.Freshness(rates), 1.0, None, 0.0, None, groups, np.ones(n // 5), True), 1)
    caps = free.respond(0.1)[0][1:] + 1e-9
    passes = GroupPasses(check_problem(criteria.Freshness(rates), 1.0, None, 0.0, None, groups, caps, True), 1)
    marks = np.zeros(n // 5 + 1, dtype=np.int8)
    rough, opened, terms = passes.expand(0.1, 1e-3, 1e-17, marks, n)
    alone, space = np.zeros_like(marks), core.TileSpace()
    assert len(opened) > BATCHES * MOST_LISTED
    listed, passing = np.empty((2, core.TILE + 1), dtype=np.uint32)
    ours = [], [], []
    for tile in passes.runs.places:
        tiles = tile[np.newaxis]
        (row,), *counts = passes._tiles.expand(tiles, space, 0.1, 1e-3, 1e-17, alone, listed, passing)
        assert counts == row[:2]
        for found, part in zip(ours, (listed[: counts[0]], passing[: counts[1]], row[2:4])):
            found.extend(part)
    np.testing.assert_array_equal(rough, ours[0])
    np.testing.assert_array_equal(opened, ours[1])
    np.testing.assert_array_equal(marks, alone)
    assert terms[0] == math.fsum(ours[2])
    few = passes.expand(0.1, 1e-3, 1e-17, np.zeros_like(marks), len(opened) // 2)
    assert few[0] is None
    assert len(few[1]) == 0


@pytest.mark.parametrize("family", ["freshness", "detection"])
@pytest.mark.parametrize(("mean", "looks"), [(2, True), (3, True), (4, False)])
def test_starts_are_looked_at_where_groups_of_few_items_are_small(family, mean, looks, monkeypatch):
    n, generator, asked = 6000, np.random.default_rng(mean), []
    rates, weights = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    groups = generator.integers(0, n // mean, n)
    free = solve(family, rates, 0.3 * n, weights=weights).amounts
    caps = np.where(generator.random(n // mean) < 0.5, 0.5, 50.0) * np.bincount(groups, free, n // mean) + 1e-9
    unmark = GroupPasses.unmark
    monkeypatch.setattr(GroupPasses, "unmark", lambda *given: asked.append(given) or unmark(*given))
    given = {"weights": weights, "groups": groups, "group_caps": caps, "equality": False}
    result = solve(family, rates, 0.3 * n, **given)
    assert bool(asked) is looks
    monkeypatch.setattr(group_marks_module, "SMALL_MEAN", 0 if looks else n)
    other = solve(family, rates, 0.3 * n, **given)
    assert max(result.residual, other.residual) <= 1e-12
    np.testing.assert_allclose(result.amounts, other.amounts, rtol=1e-9, atol=1e-11)
