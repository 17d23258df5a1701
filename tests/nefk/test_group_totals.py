"""Totals by group that are taken without sorting the items, and samples of them."""

import math

import numpy as np
import pytest
from nefk_oracle import FAMILIES, grouped, solve, totals_of

import knapsolve._core.group_layout as group_layout
import knapsolve._core.nefk as core
import knapsolve.nefk.group_totals as group_totals
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_totals import LARGE, MOST_IN_BLOCK, GroupTotals, capped_sums
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.passes import CHUNK
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.sampled_items import sampled_groups_of

N = 70_000


@pytest.mark.parametrize("n_groups", [4, 14_000, 30_000])
def test_totals_in_the_order_of_the_items_are_those_of_tiles_whatever_the_threads(n_groups):
    """Items that single precision cannot answer are next to others in one list of a thread's, but not in another's."""
    p, options = grouped("freshness", n_groups, 1, [0.5, 2.0])
    options["groups"][1::9] = -1
    options["weights"][::700] = 1e-295
    p[::700] = 1e-298
    totals = totals_of("freshness", p, options)
    for jobs in (2, 3, 5):
        for ours, theirs in zip(totals.respond(0.3), totals_of("freshness", p, options, jobs).respond(0.3)):
            np.testing.assert_array_equal(ours, theirs)
    passes = GroupPasses(totals.problem, 1)
    for ours, tiles in zip(totals.respond(0.3).T, passes.respond(0.3)):
        np.testing.assert_allclose(ours, tiles, rtol=core.ROUGH)
    for ours, theirs in zip(totals.bounds_by_group(), passes.bounds_by_group()):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize("n_groups", [9, 60_000])
def test_threads_that_share_a_table_by_groups_add_what_one_does(monkeypatch, n_groups):
    monkeypatch.setattr(group_totals, "FEWEST_SHARED", 1)
    p, options = grouped("freshness", n_groups, 1, [0.5, 2.0])
    options["groups"][1::9] = -1
    alone = totals_of("freshness", p, options).respond(0.3)
    for jobs in (2, 3, 9):
        totals = totals_of("freshness", p, options, jobs)
        assert (len(totals._shares_of_groups(1)) > 2) == (jobs > 1)
        np.testing.assert_array_equal(totals.respond(0.3), alone)


def test_a_samples_total_follows_the_sum_of_all_caps():
    """Where caps bind, few groups take more than others as far as their caps do: else the total is up to 3% off."""
    for seed in range(5):
        p, options = grouped("freshness", 14_000, seed, [0.3, 0.5, 0.7, 0.9])
        totals = totals_of("freshness", p, options)
        exact = capped_sums(totals, *totals.respond(0.02).T)[0]
        assert SampledTotals(totals).respond(0.02)[0] == pytest.approx(exact, rel=6e-3)


def test_a_sample_knows_how_far_it_may_be_off():
    off = []
    for seed in range(20):
        p, options = grouped("freshness", 14_000, seed, [0.3, 0.5, 0.7, 0.9])
        totals = totals_of("freshness", p, options)
        sample, exact = SampledTotals(totals), capped_sums(totals, *totals.respond(1.0).T)[0]
        assert math.isnan(sample.error())
        total, slope, _ = sample.respond(1.0)
        off.append((total - exact) / (sample.error() * slope))
    assert 0.6 <= math.sqrt(np.mean(np.square(off))) <= 1.6


@pytest.mark.parametrize("caps", [0.9, None])
@pytest.mark.parametrize("large", [0, 2])
def test_where_caps_hold_all_a_sample_has_the_sum_of_those_of_groups_with_items(caps, large):
    """One group in ten is without any, by chance more or less in a sample: its total would be off by 1%."""
    generator = np.random.default_rng(5)
    groups = generator.integers(0, 14_000, 32_000)
    groups[: 1500 * large] %= max(large, 1)
    caps = generator.uniform(0.5, 2.0, 14_000) if caps is None else np.full(14_000, caps)
    options = {"weights": np.ones(32_000), "upper": None, "groups": groups, "group_caps": caps}
    totals = totals_of("freshness", generator.lognormal(0.0, 1.0, 32_000), options)
    whole = caps[np.unique(groups)].sum()
    assert SampledTotals(totals).respond(1e-6)[0] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("empty", [0, 3])
@pytest.mark.parametrize("small", [6, 18, 43, 200])
def test_few_small_groups_of_a_sample_or_none_do_not_mislead(small, empty):
    """Of groups beside large ones, one in 27 or so is sampled: their total would be a multiple of its, or nothing."""
    generator = np.random.default_rng(small)
    sizes = np.append(generator.integers(1200, 2000, 60), generator.integers(100, 500, small))
    sizes = generator.permutation(np.append(sizes, np.zeros(small * empty, dtype=int)))
    groups = np.repeat(np.arange(sizes.size), sizes)
    caps = 1e-3 * np.where(sizes > 0, sizes, 300) * generator.uniform(0.5, 2.0, sizes.size)
    options = {"weights": np.ones(groups.size), "upper": None, "groups": groups, "group_caps": caps}
    totals = totals_of("freshness", generator.lognormal(0.0, 1.0, groups.size), options)
    sample = SampledTotals(totals)
    assert np.count_nonzero(sample.totals.sizes[1 + sample.small]) <= max(small // 10, 2)
    assert sample.respond(1e-6)[0] == pytest.approx(caps[sizes > 0].sum(), rel=1e-12)


def test_how_far_a_sample_may_be_off_is_known_where_its_total_does_not_fall():
    """At a price at which most groups are at their caps, and the others' items have not started."""
    n_groups, generator = 9000, np.random.default_rng(3)
    groups, late = generator.integers(0, n_groups, 45_000), generator.random(n_groups) < 0.05
    starts = np.where(late, 0.5, 1.0)[groups] * np.exp(0.01 * generator.standard_normal(45_000))
    options = {"weights": starts, "upper": None, "groups": groups, "group_caps": np.full(n_groups, 0.01)}
    sample = SampledTotals(totals_of("freshness", np.ones(45_000), options))
    slope = sample.respond(0.7)[1]
    assert slope == 0.0 and 0.005 < sample.error() < 0.1
    above = sample.price_above(0.7, sample.error())
    assert 0.7 < above <= 0.7 * math.exp(sample.error())


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


@pytest.mark.parametrize("differ", [0.0, 1.0])
@pytest.mark.parametrize("n_groups", [1, 2, 120])
def test_a_sample_of_large_groups_knows_how_far_it_may_be_off(n_groups, differ):
    """Of which half have loose caps, beside items of no group: groups that are taken to be alike are off together."""
    off = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        groups = generator.integers(-1, n_groups, N) if n_groups > 2 else generator.integers(-2, n_groups, N).clip(-1)
        weights = np.exp(generator.standard_normal(N) + differ * generator.standard_normal(n_groups + 1)[groups])
        rates = generator.lognormal(0, 1, N)
        options = {"weights": weights, "upper": None, "groups": groups, "group_caps": np.full(n_groups, np.inf)}
        taken = totals_of("freshness", rates, options).respond(0.3)[1:, 0]
        options["group_caps"] = taken * np.where(np.arange(n_groups) % 2, 0.5, 5.0)
        totals = totals_of("freshness", rates, options)
        sample, exact = SampledTotals(totals), capped_sums(totals, *totals.respond(0.3).T)[0]
        total, slope, _ = sample.respond(0.3)
        off.append((total - exact) / (sample.error() * slope))
    assert 0.6 <= math.sqrt(np.mean(np.square(off))) <= 1.6


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_sample_of_items_of_no_group_beside_large_ones_knows_what_it_may_be_off(share):
    """It is known how many they are, whatever chance has brought into the sample; all caps bind."""
    n, off = 200_000, []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        groups = np.where(generator.random(n) < share, -1, generator.integers(0, 20, n))
        options = {"weights": None, "upper": None, "groups": groups, "group_caps": np.full(20, 1e-3)}
        totals = totals_of("freshness", generator.lognormal(0, 0.3, n), options)
        sample, exact = SampledTotals(totals), capped_sums(totals, *totals.respond(0.3).T)[0]
        total, slope, _ = sample.respond(0.3)
        off.append((total - exact) / (sample.error() * slope))
    assert 0.6 <= math.sqrt(np.mean(np.square(off))) <= 1.6


def test_a_sample_of_many_items_of_no_group_knows_what_it_may_be_off():
    """All caps bind: what chance there is, is of those items, of which one in four is in the sample."""
    n, generator = 1_500_000, np.random.default_rng(5)
    groups = generator.integers(0, 500_000, n)
    groups[generator.permutation(n)[: n // 33]] = -1
    off = []
    for seed in range(5):
        p = np.random.default_rng(seed).lognormal(0, 1, n)
        options = {"weights": None, "upper": None, "groups": groups, "group_caps": np.full(500_000, 1e-3)}
        totals = totals_of("freshness", p, options)
        sample = SampledTotals(totals)
        assert sample.ungrouped == pytest.approx(4.0, abs=0.01)
        total, slope, _ = sample.respond(0.1)
        exact = capped_sums(totals, *totals.respond(0.1).T)[0]
        off.append((total - exact) / (sample.error() * slope))
    assert 0.3 < np.sqrt(np.mean(np.square(off))) < 2.0


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
    assert sample.ungrouped == (pytest.approx(every, rel=0.1) if large[0] else 1.0)
    assert large[1:].all() == (n_groups < 1000)
    whole = np.append(0, 1 + group_layout.sampled_groups(0, n_groups, every))
    assert whole.size == pytest.approx(1 + n_groups / every, abs=3)
    expected = totals.sizes[large].sum() / every + totals.sizes[whole][~large[whole]].sum()
    assert part.n == pytest.approx(expected, rel=0.05, abs=300)
    capped = np.minimum(totals.respond(0.3)[:, 0], np.append(np.inf, totals.caps)).sum()
    assert sample.respond(0.3)[0] == pytest.approx(capped, rel=0.1)


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


def test_blocks_are_of_at_least_one_group(monkeypatch):
    """Many groups that are all large are counted one by one."""
    for name in ("MANY_GROUPS", "IN_BYTES"):
        monkeypatch.setattr(group_totals, name, 2)
    p, options = grouped("freshness", 14, 2, [0.5])
    options["upper"] = None
    totals = totals_of("freshness", p, options)
    assert totals.has_large
    assert totals.sizes.sum() == p.size
    assert solve("freshness", p, 0.1 * p.size, **options).residual <= 1e-12


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("kind", ["even", "one large", "one large, late", "bounded", "all have a group"])
def test_groups_are_counted_in_blocks_where_they_are_many_and_small(kind, jobs):
    """Then their runs are those of all of them. Where all items have a group, sizes say what caps allow."""
    generator, n, n_groups = np.random.default_rng(4), 500_000, 150_000
    groups = generator.integers(0, n_groups, n)
    groups[:: n if kind == "all have a group" else 50] = -1
    groups[0] = 5
    if kind == "one large":
        groups[generator.permutation(n)[:2000]] = 77
    if kind == "one large, late":
        groups[-600:] = 77
    upper = 5.0 if kind == "bounded" else None
    options = {"weights": None, "upper": upper, "groups": groups, "group_caps": np.full(n_groups, 0.5)}
    totals = totals_of("freshness", np.ones(n), options, jobs)
    assert totals.has_large == (kind != "even")
    sizes = np.bincount(groups + 1, minlength=n_groups + 1)
    assert totals.ungrouped == sizes[0]
    some = sizes[1:][::10]
    runs = totals.even_runs(some)
    assert (runs is None) == totals.has_large
    if runs:
        width, lead = runs.even
        assert lead == width - 1
        assert [run.first for run in runs.every] == [0, *range(1, n_groups + 1, width)]
        starts = np.append(0, np.cumsum(sizes))
        assert [(run.begin, run.end) for run in runs.every] == [(starts[x.first], starts[x.last]) for x in runs.every]
        assert max(run.end - run.begin for run in runs.every[1:]) <= core.TILE
        assert runs.count_in_long(4) == pytest.approx(sizes[1:][sizes[1:] > 4].sum(), rel=0.1)
        member = np.concatenate(
            [generator.permutation(np.repeat(np.arange(x.last - x.first), sizes[x.first : x.last])) for x in runs.every]
        ).astype(np.uint16)
        runs.place_groups(member, jobs)
        for run in runs.every:
            np.testing.assert_array_equal(runs.starts[run.first : run.last], starts[run.first : run.last] - run.begin)
    assert np.array_equal(totals.sizes, sizes)
    assert totals.even_runs(some) is None  # once they are counted


@pytest.mark.parametrize("are_sampled", [False, True])
def test_numbers_of_groups_that_the_sample_leaves_out_or_takes_all_cost_no_room_and_no_answer(are_sampled):
    n, n_groups, generator = 400_000, 1_000_000, np.random.default_rng(1)
    sampled = group_layout.sampled_groups(0, n_groups, sampled_groups_of(n))
    used = sampled if are_sampled else np.setdiff1d(np.arange(n_groups), sampled)[:40_000]
    groups, rates = generator.choice(used, n), generator.lognormal(0, 1, n)
    caps = 0.3 * np.bincount(groups, minlength=n_groups) * generator.choice([0.9, 1.5], n_groups) + 1e-9
    problem = check_problem(FAMILIES["freshness"](rates), 0.3 * n, None, 0.0, None, groups, caps, True)
    listed = GroupTotals(problem, problem.passes().items, 1, sampled_groups_of(n)).listed
    assert (listed is None) if are_sampled else (listed.size == 0)
    result = solve("freshness", rates, 0.3 * n, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 8


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


@pytest.mark.parametrize("kind", ["small", "large", "sorted", "none"])
def test_threads_count_and_list_what_one_does(kind):
    """Each lists items of sampled groups as if there were no others: those of large groups are too many, but are not
    looked at, and where too many are to be sampled, no number of threads lists any.
    """
    n, generator = 400_000, np.random.default_rng(3)
    groups = generator.integers(-1, 90_000 if kind in ("small", "sorted") else 700, n)
    if kind == "sorted":
        groups.sort()
    if kind == "none":
        groups = generator.choice(group_layout.sampled_groups(0, 90_000, sampled_groups_of(n)), n)
    options = {"weights": None, "upper": None, "groups": groups, "group_caps": np.ones(90_000)}
    alone = totals_of("freshness", np.ones(n), options)
    assert np.array_equal(alone.sizes, np.bincount(groups + 1, minlength=90_001))
    for jobs in (2, 3, 4, 9):
        totals = totals_of("freshness", np.ones(n), options, jobs)
        assert np.array_equal(totals.sizes, alone.sizes)
        assert (totals.listed is None) == (alone.listed is None) == (kind == "none")
        if kind != "none":
            kept, expected = (x.listed[0, x.sizes[1 + x.listed[1]] < LARGE] for x in (totals, alone))
            assert np.array_equal(kept, expected)
            assert (kind == "large") == (kept.size == 0) == (totals.listed.size > alone.listed.size)


@pytest.mark.parametrize(("more", "are_large"), [(8, False), (24, True)])
def test_some_items_of_a_block_may_be_among_the_first_by_chance(more, are_large):
    """Beside as many as a block of groups that are small may have of them."""
    generator, n, n_groups = np.random.default_rng(6), 500_000, 150_000
    groups = generator.permutation(np.arange(n) % n_groups)
    groups[0], first, width = -1, groups[:CHUNK], 1 << group_totals._bits_of_blocks(totals_of_ones(groups).problem)
    named = first // width == 100
    first[named] += 10 * width
    first[1 : 1 + more + MOST_IN_BLOCK * CHUNK // n] = 100 * width + 3
    assert totals_of_ones(groups).has_large == are_large


def totals_of_ones(groups):
    options = {"weights": None, "upper": None, "groups": groups, "group_caps": np.full(groups.max() + 1, 0.5)}
    return totals_of("freshness", np.ones(groups.size), options, 1)
