"""What samples of the groups say of totals under caps, and how far that may be off."""

import math

import numpy as np
import pytest
from nefk_oracle import grouped, solve, totals_of

import knapsolve._core.group_layout as group_layout
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_totals import LARGE, capped_sums
from knapsolve.nefk.sampled_items import sampled_groups_of

N = 70_000


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


@pytest.mark.parametrize("large", [0, 2])
def test_a_sample_in_which_some_caps_have_no_end_tells_a_total(large):
    """What groups take does not go with such caps."""
    p, options = grouped("freshness", 14_000, 3, [0.5, 0.9])
    options["groups"][: 1500 * large] %= max(large, 1)
    options["group_caps"][::5] = np.inf
    totals = totals_of("freshness", p, options)
    for price in (0.02, 0.3, 1.0):
        exact = capped_sums(totals, *totals.respond(price).T)
        sums = SampledTotals(totals).respond(price)
        assert sums[0] == pytest.approx(exact[0], rel=0.05)
        assert sums[1:] == pytest.approx(exact[1:], rel=0.25)


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
