"""Caps that are surely loose are dropped: the same answer, from totals that are taken without sorting the items."""

import math

import numpy as np
import pytest
from group_fuzz import residual
from nefk_oracle import FAMILIES, random_parameters, solve, totals_of

import knapsolve._core.group_layout as group_layout
import knapsolve._core.nefk as core
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.loose_caps as loose_caps_module
import knapsolve.nefk.narrow as narrow_module
import knapsolve.nefk.room as room_module
import knapsolve.nefk.solver as solver_module
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals, sampled_groups_of
from knapsolve.nefk.group_totals import LARGE, GroupTotals, capped_sums
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.loose_caps import below_the_answer, reduce, without_loose_caps
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.single import new_search

N = 70_000


def grouped(family, n_groups, seed, tightness, upper=None):
    """Parameters and options of a problem whose caps are `tightness` times what groups take without them."""
    generator = np.random.default_rng(seed)
    p, w = random_parameters(family, N, generator), np.exp(generator.standard_normal(N))
    free = solve(family, p, 0.3 * N, weights=w, upper=upper).amounts
    groups = generator.integers(-1, n_groups, N)
    taken = np.bincount(groups + 1, free, n_groups + 1)[1:]
    caps = taken * generator.choice(tightness, n_groups) + 1e-9
    return p, {"weights": w, "upper": upper, "groups": groups, "group_caps": caps}


@pytest.mark.parametrize("n_groups", [4, 14_000])
def test_totals_in_the_order_of_the_items_are_those_of_tiles_whatever_the_threads(n_groups):
    """Items that single precision cannot answer are next to others in one list of a thread's, but not in another's."""
    p, options = grouped("freshness", n_groups, 1, [0.5, 2.0])
    options["weights"][::700] = 1e-295
    p[::700] = 1e-298
    totals = totals_of("freshness", p, options)
    for jobs in (2, 3):
        for ours, theirs in zip(totals.respond(0.3), totals_of("freshness", p, options, jobs).respond(0.3)):
            np.testing.assert_array_equal(ours, theirs)
    passes = GroupPasses(totals.problem, 1)
    for ours, tiles in zip(totals.respond(0.3).T, passes.respond(0.3)):
        np.testing.assert_allclose(ours, tiles, rtol=core.ROUGH)
    for ours, theirs in zip(totals.bounds_by_group(), passes.bounds_by_group()):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_a_samples_total_follows_the_sum_of_all_caps():
    """Where caps bind, few groups take more than others as far as their caps do: else the total is up to 3% off."""
    for seed in range(5):
        p, options = grouped("freshness", 14_000, seed, [0.3, 0.5, 0.7, 0.9])
        totals = totals_of("freshness", p, options)
        exact = capped_sums(totals, *totals.respond(0.02).T)[0]
        assert SampledTotals(totals).respond(0.02)[0] == pytest.approx(exact, rel=6e-3)


@pytest.mark.parametrize(("differ", "off"), [(0.0, 0.015), (1.5, 0.04)])
def test_caps_of_large_groups_do_not_hold_too_much_of_a_samples_total(differ, off):
    """Of thirty sampled items, what a group takes is known within a fifth, and its cap holds it where that is too much.
    If chance were taken for true, T would be 6% low; if groups that differ were taken to be alike, 40%.
    """
    errors = []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        groups = generator.integers(0, 120, N)
        weights = np.exp(generator.standard_normal(N) + differ * generator.standard_normal(120)[groups])
        options = {"weights": weights, "upper": None, "groups": groups}
        taken = totals_of("freshness", np.full(N, 0.5), options | {"group_caps": np.ones(120)}).respond(1.0)[1:, 0]
        caps = taken * generator.uniform(0.8, 1.2, 120)
        sample = SampledTotals(totals_of("freshness", np.full(N, 0.5), options | {"group_caps": caps}))
        errors.append(sample.respond(1.0)[0] / np.minimum(taken, caps).sum() - 1.0)
    assert abs(np.mean(errors)) <= off


def test_a_sample_that_misses_all_of_a_large_group_but_one_knows_a_total():
    """Every 49th item is of another group, and those alone are sampled."""
    n = 200_000
    groups = np.where(np.arange(n) % sampled_groups_of(n) == 0, 1, 0)
    options = {"weights": np.ones(n), "upper": None, "groups": groups, "group_caps": np.full(2, 1e9)}
    totals = totals_of("freshness", np.ones(n), options)
    assert SampledTotals(totals).respond(0.3)[0] <= 1.01 * totals.respond(0.3)[:, 0].sum()


@pytest.mark.parametrize("n_groups", [4, 100, 14_000])
def test_a_sample_takes_some_groups_whole_and_some_items_of_large_ones(n_groups):
    p, options = grouped("freshness", n_groups, 2, [0.5, 2.0])
    totals = totals_of("freshness", p, options)
    sample = SampledTotals(totals)
    part, every = sample.totals.problem, int(sample.every)
    large = totals.sizes >= LARGE
    large[0] = n_groups < 32  # else few items have no group
    assert sample.ungrouped == (every if large[0] else 1.0)
    assert large[1:].all() == (n_groups < 1000)
    whole = np.append(0, 1 + group_layout.sampled_groups(n_groups, every))
    assert whole.size == pytest.approx(1 + n_groups / every, abs=3)
    expected = totals.sizes[large].sum() / every + totals.sizes[whole][~large[whole]].sum()
    assert part.n == pytest.approx(expected, rel=0.05, abs=300)
    capped = np.minimum(totals.respond(0.3)[:, 0], np.append(np.inf, totals.caps)).sum()
    assert sample.respond(0.3)[0] == pytest.approx(capped, rel=0.1)


@pytest.mark.parametrize("n_groups", [20, 14_000])
@pytest.mark.parametrize(
    ("tightness", "all_kept"),
    [([1.5, 2.0], False), ([0.5, 40.0, 40.0], False), ([0.8, 2.5, 2.5], False), ([0.5, 0.5, 0.5, 40.0], True)],
)
def test_dropped_caps_are_loose_at_the_answer_and_the_others_are_kept_in_order(
    n_groups, tightness, all_kept, monkeypatch
):
    p, options = grouped("freshness", n_groups, 3, tightness)
    totals = totals_of("freshness", p, options)
    search = new_search(totals.problem, totals.problem.passes())
    price, table = below_the_answer(totals, search, SampledTotals(totals).price(search), 0.01)
    taken = table.copy()
    reduced = without_loose_caps(totals, price, table, search)
    result = solve("freshness", p, 0.3 * N, **options)
    assert price < result.price
    kept = np.flatnonzero(reduced.kept)
    assert set(np.flatnonzero(result.group_prices > 0.0)) <= set(kept)
    assert (kept.size == n_groups) == all_kept
    names = np.full(n_groups + 1, -1)
    names[kept] = np.arange(kept.size)
    left = names[options["groups"]]
    ((group_names, starts),) = reduced.tables
    np.testing.assert_array_equal(np.diff(starts[1:]), np.bincount(left + 1, minlength=kept.size + 1))
    if kept.size < n_groups:
        np.testing.assert_array_equal(group_names, np.append(-1, names[:-1]))
    if kept.size:
        monkeypatch.setattr(room_module, "MOST_ROOM", 0)
        listed = lay_out(totals.problem, reduced.tables, Place(N, None))
        np.testing.assert_array_equal(listed.order, np.argsort(left, kind="stable"))
    ((total, slope),) = reduced.known
    for ours, all_groups, tolerance in zip((total, slope), taken.T, (1e-12, 1e-6)):
        np.testing.assert_array_equal(ours[1:], all_groups[1 + kept].astype(ours.dtype))
        assert ours.sum() == pytest.approx(all_groups.sum(), rel=tolerance)


def test_where_most_caps_bind_they_are_all_kept_without_a_pass_in_order():
    p, options = grouped("freshness", 14_000, 3, [0.5, 0.5, 0.5, 40.0])
    totals = totals_of("freshness", p, options)
    search = new_search(totals.problem, totals.problem.passes())
    reduced = reduce(totals, search)
    result = solve("freshness", p, 0.3 * N, **options)
    assert totals.count == reduced.count == len(reduced.known) == 0
    assert reduced.kept.all()
    assert search[core.PRICE] == pytest.approx(result.price, rel=0.1)
    assert result.residual <= 1e-12


def test_where_items_are_not_copied_the_first_pass_is_in_their_order():
    p, options = grouped("freshness", 14_000, 3, [0.5, 0.5, 0.5, 40.0])
    totals = totals_of("freshness", p, options)
    reduced = reduce(totals, new_search(totals.problem, totals.problem.passes()), tiled=False)
    assert totals.count == reduced.count == len(reduced.known) == 1
    assert reduced.kept.all()


def test_totals_of_tiles_are_as_near_as_they_say():
    p, options = grouped("freshness", 14_000, 3, [0.5])
    problem = totals_of("freshness", p, options).problem
    starts = np.append([0, 0], np.cumsum(np.bincount(options["groups"] + 1))).astype(np.uint32)
    tiles = GroupPasses(problem, 1, lay_out(problem, [(None, starts)], Place(N, None)))
    assert tiles.is_rough
    rough, exact = (
        tiles.respond_roughly(0.1),
        (tiles.respond(0.1)[0], totals_of("freshness", p, options).respond(0.1)[:, 1]),
    )
    for ours, theirs in zip(rough, exact):
        assert (ours != theirs).mean() > 0.9
        np.testing.assert_allclose(ours, theirs, rtol=1.01 * core.ROUGH)


@pytest.mark.parametrize("are_sampled", [False, True])
def test_numbers_of_groups_that_the_sample_leaves_out_or_takes_all_cost_no_room_and_no_answer(are_sampled):
    n, n_groups, generator = 400_000, 1_000_000, np.random.default_rng(1)
    sampled = group_layout.sampled_groups(n_groups, sampled_groups_of(n))
    used = sampled if are_sampled else np.setdiff1d(np.arange(n_groups), sampled)[:40_000]
    groups, rates = generator.choice(used, n), generator.lognormal(0, 1, n)
    caps = 0.3 * np.bincount(groups, minlength=n_groups) * generator.choice([0.9, 1.5], n_groups) + 1e-9
    problem = check_problem(FAMILIES["freshness"](rates), 0.3 * n, None, 0.0, None, groups, caps, True)
    listed = GroupTotals(problem, problem.passes().items, 1, sampled_groups_of(n)).listed
    assert (listed is None) if are_sampled else (listed.size == 0)
    result = solve("freshness", rates, 0.3 * n, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 8


@pytest.mark.parametrize("seed", [0, 8, 11])
def test_a_sample_that_knows_no_better_is_not_asked_again(seed):
    """The caps add up to nearly the capacity, so that the price depends on few groups; 61 to 377 passes."""
    n, n_groups, generator = 200_000, 40_000, np.random.default_rng(0)
    rates, groups = generator.lognormal(0, 1, n), generator.integers(-1, n_groups, n)
    free = solve("freshness", rates, 0.3 * n).amounts
    shares = np.random.default_rng(seed).choice([0.9, 1.1], n_groups)
    caps = np.bincount(groups + 1, free, n_groups + 1)[1:] * shares + 1e-9
    result = solve("detection", rates, 0.3 * n, weights=1.0 + rates[::-1], groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 10


@pytest.mark.parametrize("seed", range(3))
def test_rough_totals_alone_do_not_end_a_search(seed, monkeypatch):
    p, options = grouped("freshness", 14_000, seed, [0.5, 0.5, 0.5, 40.0])
    monkeypatch.setattr(groups_module, "_settle_model", lambda *_: None)
    result = solve("freshness", p, 0.3 * N, **options)
    assert result.residual <= 1e-12  # 1e-6 where the last totals are not taken again
    assert result.n_passes <= 40


@pytest.mark.parametrize("left", [1e-3, 3e-5, 1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize("bind", [0.45, 1.0])
def test_a_total_that_hardly_moves_is_taken_exactly_where_a_rough_one_does_not_tell(left, bind):
    """Caps hold all but little of the capacity, so that rough totals are on either side of it at any price."""
    generator, n_groups = np.random.default_rng(6), 14_000
    rates, groups = generator.lognormal(0, 1, N), generator.integers(0, n_groups, N)
    groups[:200] = -1
    free = solve("freshness", rates, 0.3 * N).amounts
    taken = np.bincount(groups + 1, free, n_groups + 1)[1:]
    caps = np.where(generator.random(n_groups) < bind, 0.5 * taken, 1e3) + 1e-9
    capacity = caps[caps < 1e3].sum() * (1.0 + left) if bind == 1.0 else 0.3 * N
    if bind < 1.0:
        rates[np.isin(groups, np.flatnonzero(caps == 1e3))] *= left
    result = solve("freshness", rates, capacity, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 25


@pytest.mark.parametrize("family", ["detection", "freshness", "logarithmic", "exponential", "quadratic", "power"])
@pytest.mark.parametrize(("n_groups", "tightness"), [(5, [0.6, 2.0]), (14_000, [1.5, 2.0]), (300, [0.8, 1.4])])
def test_the_answer_is_that_with_all_caps_kept(family, n_groups, tightness, monkeypatch):
    p, options = grouped(family, n_groups, 4, tightness, upper=5.0)
    ours, twice = (solve(family, p, 0.3 * N, n_jobs=jobs, **options) for jobs in (1, 2))
    monkeypatch.setattr(solver_module, "_reduce", lambda *_: None)
    full = solve(family, p, 0.3 * N, **options)
    np.testing.assert_array_equal(ours.amounts, twice.amounts)
    assert ours.residual <= 1e-12
    assert ours.price == pytest.approx(full.price, rel=1e-11)
    np.testing.assert_allclose(ours.amounts, full.amounts, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(ours.group_prices, full.group_prices, rtol=1e-9, atol=1e-11 * full.price)


def adversarial(first, count, monkeypatch):
    for module in (groups_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 5)
    return [seed for seed in range(first, first + count) if not residual(seed, even=True) <= 1e-12]


@pytest.mark.parametrize("first", [100_600, 101_000, 107_800])
def test_adversarial_problems_leave_no_residual(first, monkeypatch):
    """Among them groups that would take 1e21, beside which what the loose ones take is a rounding error."""
    assert adversarial(first, 250, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(120_000, 130_000, 2500))
def test_many_adversarial_problems_leave_no_residual(first, monkeypatch):
    assert adversarial(first, 2500, monkeypatch) == []


@pytest.mark.parametrize("upper", [0.7, 0.9])
def test_a_cap_is_kept_that_is_exceeded_by_less_than_plain_sums_are_off(upper):
    groups, n = np.arange(4 * N) % 2, 2 * N
    plain, taken = np.cumsum(np.full(n, upper))[-1], math.fsum([upper] * n)
    assert plain < taken  # what all items of group 0 take at their upper bounds
    cap = 0.5 * (plain + taken)
    rates, weights = np.where(groups, 1.0, 1e3), np.where(groups, 1.0, 1e6)
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": [cap, 1e9]}
    result = solve("freshness", rates, 1.5 * taken, **options)
    assert math.fsum(result.amounts[groups == 0]) == pytest.approx(cap, rel=1e-14)
    assert result.group_prices[0] > 0.0


@pytest.mark.parametrize("over", [1.02, 1.1, 1.7])
def test_one_cap_for_all_groups_is_no_matter_to_a_sample(over):
    """What it has too much of caps that differ by rounding alone is nothing: divided by it, totals were nonsense."""
    generator = np.random.default_rng(5)
    p, groups = generator.lognormal(0, 1.5, N), generator.integers(0, 14_000, N)
    options = {"weights": None, "upper": None, "groups": groups, "group_caps": np.full(14_000, over * 0.3 * N / 14_000)}
    totals = totals_of("freshness", p, options)
    exact = capped_sums(totals, *totals.respond(0.1).T)[0]
    assert SampledTotals(totals).respond(0.1)[0] == pytest.approx(exact, rel=2e-2)
    del options["upper"]
    result = solve("freshness", p, 0.3 * N, **options)
    assert result.residual <= 1e-12
    assert result.n_passes <= 8  # up to 14 without secants


def test_steps_on_a_sample_do_not_fly_off():
    """Nearly all caps bind; what the sample says that they hold is more than its whole total, once corrected."""
    n, n_groups, generator = 1_000_000, 333_333, np.random.default_rng(0)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(0, n_groups, n)
    generator.uniform(size=2 * n_groups)
    caps = 0.3 * np.bincount(groups, minlength=n_groups) * generator.uniform(0.2, 0.9, n_groups) + 1e-9
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    result = solve("freshness", rates, 0.98 * caps.sum(), **options)
    assert result.residual <= 1e-12
    assert result.n_passes <= 10  # 22 where the sample's price ends nowhere


def test_groups_too_many_for_the_cache_are_all_kept_unless_few_caps_bind(monkeypatch):
    for tightness, are_kept in (([0.5, 0.9, 2.0, 2.0, 2.0], True), ([0.5] + [2.0] * 7, False)):
        p, options = grouped("freshness", 20_000, 3, tightness)
        totals = totals_of("freshness", p, options)
        few = reduce(totals, new_search(totals.problem, totals.problem.passes()))
        assert not few.kept.all()
        monkeypatch.setattr(loose_caps_module, "MANY_GROUPS", 10_000)
        totals = totals_of("freshness", p, options)
        many = reduce(totals, new_search(totals.problem, totals.problem.passes()))
        monkeypatch.undo()
        assert many.kept.all() == are_kept
