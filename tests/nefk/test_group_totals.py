"""Totals by group that are taken without sorting the items."""

import numpy as np
import pytest
from nefk_oracle import FAMILIES, grouped, solve, totals_of

import knapsolve._core.group_layout as group_layout
import knapsolve._core.nefk as core
import knapsolve.nefk.group_totals as group_totals
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_totals import LARGE, MOST_IN_BLOCK, GroupTotals
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.passes import CHUNK
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place
from knapsolve.nefk.sampled_items import sampled_groups_of

N = 70_000


@pytest.mark.parametrize("n_groups", [4, 14_000, pytest.param(30_000, marks=pytest.mark.slow)])
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
    """Then their runs are those of all of them, and it is known which have items."""
    generator, n, n_groups = np.random.default_rng(4), 500_000, 150_000
    groups = generator.integers(0, n_groups, n)
    groups[:: n if kind == "all have a group" else 50] = -1
    groups[0] = 5
    if kind == "one large":
        groups[generator.permutation(n)[:2000]] = 77
    if kind == "one large, late":
        groups[-600:] = 77
    upper = 5.0 if kind == "bounded" else None
    caps = 0.5 + generator.random(n_groups)
    options = {"weights": None, "upper": upper, "groups": groups, "group_caps": caps}
    totals = totals_of("freshness", np.ones(n), options, jobs)
    assert totals.has_large == (kind not in ("even", "all have a group"))
    sizes = np.bincount(groups + 1, minlength=n_groups + 1)
    assert totals.ungrouped == sizes[0]
    used = sizes[1:] > 0
    assert not used.all() and totals.sum_of_used_caps() == pytest.approx(caps[used].sum(), rel=1e-13)
    assert totals.are_counted == totals.has_large
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
