"""Caps that are surely loose are dropped: the same answer, from totals that are taken without sorting the items."""

import math

import numpy as np
import pytest
from group_fuzz import residual
from nefk_oracle import grouped, solve, totals_of

import knapsolve._core.nefk as core
import knapsolve.nefk.group_marks as group_marks_module
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.loose_caps as loose_caps_module
import knapsolve.nefk.narrow as narrow_module
import knapsolve.nefk.reduced as reduced_module
import knapsolve.nefk.room as room_module
import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.kept_caps import without_loose_caps
from knapsolve.nefk.layouts import lay_out
from knapsolve.nefk.loose_caps import below_the_answer, reduce
from knapsolve.nefk.result import Place
from knapsolve.nefk.single import new_search
from tests.sizes import slow_and_full

N = 70_000


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


@pytest.mark.parametrize("off", [math.nan, 0.001, 0.03, 0.2])
def test_a_first_price_with_all_caps_lies_as_far_below_a_samples_as_that_may_be_off(off, monkeypatch):
    """Unless that is no more than such samples usually are, or too far to end near the answer."""
    p, options = grouped("freshness", 14_000, 3, [0.5, 0.5, 0.5, 40.0])
    totals = totals_of("freshness", p, options)
    search = new_search(totals.problem, totals.problem.passes())
    sample = SampledTotals(totals)
    price, usual = sample.price(search.copy()), 1.0 / math.sqrt(sample.totals.problem.n)
    monkeypatch.setattr(SampledTotals, "error", lambda _: off)
    reduce(totals, search)
    margin = off if usual < off <= loose_caps_module.NEAR else usual
    assert search[core.PRICE] == pytest.approx(price * (1.0 - margin), rel=margin**2)


@pytest.mark.parametrize("n_groups", [14_000, 300])
@pytest.mark.parametrize("off", [math.nan, 0.001, 0.018, 0.2])
def test_a_first_price_in_the_items_order_lies_surely_below_a_samples(n_groups, off, monkeypatch):
    """A little more than it may be off; but not so far that the step from there asks for another pass, unless that goes
    along the sample's curve.
    """
    p, options = grouped("freshness", n_groups, 3, [0.5, 2.0, 2.0])
    totals = totals_of("freshness", p, options)
    search, prices = new_search(totals.problem, totals.problem.passes()), []
    sample = SampledTotals(totals)
    price, usual = sample.price(search.copy()), 1.0 / math.sqrt(sample.totals.problem.n)
    monkeypatch.setattr(SampledTotals, "error", lambda _: off)
    respond = totals.respond
    monkeypatch.setattr(totals, "respond", lambda price: prices.append(price) or respond(price))
    reduce(totals, search)
    margin = ({0.018: 0.018} if n_groups == 14_000 else {0.018: 1.25 * 0.018, 0.2: 0.025}).get(off, usual)
    assert usual < 0.016
    assert prices[0] == pytest.approx(price * (1.0 - margin), rel=margin**2)


def test_where_items_are_not_copied_the_first_pass_is_in_their_order():
    p, options = grouped("freshness", 14_000, 3, [0.5, 0.5, 0.5, 40.0])
    totals = totals_of("freshness", p, options)
    reduced = reduce(totals, new_search(totals.problem, totals.problem.passes()), room=0)
    assert totals.count == reduced.count == len(reduced.known) == 1
    assert reduced.kept.all()


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
    monkeypatch.setattr(reduced_module, "_reduce", lambda *_: None)
    full = solve(family, p, 0.3 * N, **options)
    np.testing.assert_array_equal(ours.amounts, twice.amounts)
    assert ours.residual <= 1e-12
    assert ours.price == pytest.approx(full.price, rel=1e-11)
    np.testing.assert_allclose(ours.amounts, full.amounts, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(ours.group_prices, full.group_prices, rtol=1e-9, atol=1e-11 * full.price)


def adversarial(first, count, monkeypatch):
    for module in (groups_module, group_marks_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 5)
    return [seed for seed in range(first, first + count) if not residual(seed, even=True) <= 1e-12]


@pytest.mark.parametrize("first", [100_600, 101_000, 107_800])
def test_adversarial_problems_leave_no_residual(first, monkeypatch):
    """Among them groups that would take 1e21, beside which what the loose ones take is a rounding error."""
    assert adversarial(first, 250, monkeypatch) == []


@pytest.mark.parametrize("first", slow_and_full(range(120_000, 125_000, 2500), range(125_000, 130_000, 2500)))
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


def test_groups_too_many_for_the_cache_are_all_kept_unless_few_caps_bind_or_models_have_no_room(monkeypatch):
    few_bind, little = [0.5] + [2.0] * 19, 0.005 * N
    for tightness, room, are_kept in (
        ([0.5, 0.9, 2.0, 2.0, 2.0], math.inf, True),
        ([0.5, 0.9, 2.0, 2.0, 2.0], little, False),
        (few_bind, math.inf, False),
    ):
        p, options = grouped("freshness", 20_000, 3, tightness)
        totals = totals_of("freshness", p, options)
        few = reduce(totals, new_search(totals.problem, totals.problem.passes()))
        assert not few.kept.all()
        monkeypatch.setattr(loose_caps_module, "MANY_GROUPS", 10_000)
        totals = totals_of("freshness", p, options)
        many = reduce(totals, new_search(totals.problem, totals.problem.passes()), room)
        monkeypatch.undo()
        assert many.kept.all() == are_kept


@pytest.mark.parametrize("tight", [False, True])
def test_sides_are_those_of_amounts_rounded_to_the_output(tight):
    """Half of the amounts are less than single precision knows below an upper bound, and become it. With groups, those
    are at it, whether caps bind or not.
    """
    generator = np.random.default_rng(4)
    out, groups, alike = np.empty(N, np.float32), generator.integers(0, 20_000, N), np.arange(N) % 2 == 0
    rates = np.where(alike, 1.0 + 1e-9 * generator.random(N), generator.lognormal(0, 1, N))
    caps = np.where(np.arange(20_000) < 4000, 0.1 if tight else 1e9, 1e9)
    options = {"groups": groups, "group_caps": caps}
    bound = (1 + 1e-9) * solve("freshness", rates, 0.3 * N, **options).amounts[alike].max()
    result = solve("freshness", rates, 0.3 * N, upper=np.where(alike, bound, np.inf), out=out, **options)
    at_upper = alike & (out >= np.float32(bound))
    assert at_upper.mean() > 0.3
    np.testing.assert_array_equal(result.at_upper, at_upper)


@pytest.mark.parametrize("kind", ["straight", "curved"])
@pytest.mark.parametrize(("share", "is_used_up"), [(0.3, True), (0.9, True), (1.0, False), (1.5, False)])
def test_caps_are_left_out_where_capacity_need_not_be_used_up_but_is(kind, share, is_used_up, monkeypatch):
    """Of items whose price could be negative: 0 is tried first."""
    generator = np.random.default_rng(21)
    n, n_groups, found = 30_000, 5000, []
    criterion = criteria.Quadratic((kind == "curved") * np.exp(generator.standard_normal(n)))
    weights, upper = np.exp(generator.standard_normal(n)), generator.uniform(0.3, 1.5, n)
    groups = np.arange(n) % n_groups
    most = np.minimum(upper, 1.0 / criterion._parameter) if kind == "curved" else upper
    by_group = np.bincount(groups, most)
    caps = by_group * generator.choice([0.5, 1.5], n_groups)
    capacity = share * np.minimum(by_group, caps).sum()
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": caps, "equality": False}
    for module in (groups_module, group_marks_module, narrow_module):
        monkeypatch.setattr(module, "MANY", 2)
    reduced = solver_module.solve_reduced
    monkeypatch.setattr(solver_module, "solve_reduced", lambda *given: found.append(reduced(*given)) or found[-1])
    result = solve_nefk(criterion, capacity, **options)
    monkeypatch.setattr(solver_module, "solve_reduced", lambda *given: None)
    whole = solve_nefk(criterion, capacity, **options)
    assert (found[0] is not None) == is_used_up
    assert max(result.residual, result.budget_residual) <= 1e-12
    assert result.value == pytest.approx(whole.value, rel=1e-12)
    assert (result.price > 0.0) == is_used_up


@pytest.mark.parametrize("seed", range(12))
def test_totals_that_hardly_fall_are_enclosed(seed, monkeypatch):
    """Caps hold nearly all of T, and a sample's price is far off: totals on the way tell both sides of the answer, and
    items are brought to tiles for it. Without, up to 16 passes, or items read one by one.
    """
    few, copy = [], solver_module.copy_few
    monkeypatch.setattr(solver_module, "copy_few", lambda given, *args: few.append(given.n) or copy(given, *args))
    generator, n = np.random.default_rng(seed), 90_000
    shares = 1.0 + generator.pareto(1.1, n // 5)
    groups = generator.choice(n // 5, n, p=shares / shares.sum())
    rates, weights = np.exp(2.0 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    capacity = 3e-4 * rates.sum()
    caps = np.full(n // 5, 1.5 * capacity / np.unique(groups).size)
    result = solve_nefk(criteria.Detection(rates), capacity, weights=weights, groups=groups, group_caps=caps, n_jobs=1)
    assert result.residual <= 1e-12 and result.n_passes <= 10
    assert max(few, default=0) < n // 10  # but what is left beside filled groups


@pytest.mark.parametrize(
    ("kind", "share", "passes"), [(criteria.PoissonFreshness, 0.005, 25), (criteria.Logarithmic, 0.5, 24)]
)
def test_a_price_below_is_found_where_totals_have_no_slope(kind, share, passes):
    """Hosts of few rates and weights each take nothing, or their caps: steps to a price of 0 took 30 and 32 passes."""
    generator, n, hosts = np.random.default_rng(1), 300_000, 60_000
    size = generator.pareto(1.1, hosts) + 0.05
    groups = np.sort(generator.choice(hosts, n, p=size / size.sum()))
    rates = np.array([1 / 365, 1 / 30, 1 / 7, 1.0])[generator.integers(0, 4, hosts)[groups]]
    weights = np.array([0.1, 0.3, 1.0, 3.0, 10.0])[generator.integers(0, 5, hosts)[groups]]
    capacity = share * float(rates.sum())
    caps = np.bincount(groups, minlength=hosts) * 1.2 * capacity / n
    result = solve_nefk(kind(rates), capacity, weights=weights, groups=groups, group_caps=caps, n_jobs=1)
    assert result.residual <= 1e-12 and result.n_passes <= passes
