"""Items that start below the budget's price are left out: others are where they belong, and the answer is the same."""

import numpy as np
import pytest
from nefk_oracle import solve, totals_of

import knapsolve._core.nefk as core
import knapsolve.nefk.active_items as active_module
import knapsolve.nefk.kept_caps as kept_caps_module
import knapsolve.nefk.layouts as layouts_module
import knapsolve.nefk.loose_caps as loose_caps_module
import knapsolve.nefk.reduced as reduced_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.active_items import are_active, find_active
from knapsolve.nefk.group_order import order_by
from knapsolve.nefk.groups import LowAnswer
from knapsolve.nefk.kept_caps import starts_of
from knapsolve.nefk.layouts import Listed, Tiled, lay_out
from knapsolve.nefk.problem import check_problem, sampled
from knapsolve.nefk.result import Place

N = 100_003  # no whole number of words of bits
CRITERIA = {
    "detection": criteria.Detection,
    "freshness": criteria.Freshness,
    "poisson": criteria.PoissonFreshness,
    "logarithmic": criteria.Logarithmic,
}


def spread(n_groups, seed=1, n=N, dtype=np.float64):
    generator = np.random.default_rng(seed)
    rates, weights = np.exp(generator.normal(0.0, [[1.5], [1.0]], (2, n))).astype(dtype)
    return rates, weights, generator.integers(-1, n_groups, n)


def starts(family, rates, weights):
    return weights if family == "detection" else weights / rates


def half_tight(criterion, capacity, weights, groups, n_groups, times=50.0):
    """Caps of which half are less than groups take without any, and the others `times` that."""
    free = solve_nefk(criterion, capacity, weights=weights).amounts
    generator = np.random.default_rng(7)
    few = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), times)
    return few * np.bincount(groups + 1, free, n_groups + 1)[1:] + 1e-9


@pytest.fixture
def found(monkeypatch):
    """All items that were found active."""
    seen = []

    def spy(*given):
        seen.append(find_active(*given))
        return seen[-1]

    for module in (kept_caps_module, loose_caps_module):
        monkeypatch.setattr(module, "find_active", spy)
    return seen


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("family", ["detection", "freshness"])
def test_bits_and_counts_are_those_of_the_items_that_start_above(family, dtype, jobs):
    rates, weights, groups = spread(1000, dtype=dtype)
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": np.ones(1000)}
    totals = totals_of(family, rates, options, jobs)
    above = float(np.quantile(starts(family, rates, weights), 0.4))
    for bits in (0, 4):
        active = find_active(totals, above, bits)
        expected = starts(family, rates, weights) > above
        assert active.n == pytest.approx(0.6 * N, rel=1e-3)
        found = np.unpackbits(active.bits.astype("<u8").view(np.uint8), bitorder="little").astype(bool)
        assert not found[N:].any()
        is_next = np.abs(starts(family, rates, weights) / above - 1.0) < 1e-6
        np.testing.assert_array_equal(found[:N][~is_next], expected[~is_next])
        blocks = np.where(groups < 0, 0, 1 + (groups >> bits))
        np.testing.assert_array_equal(active.counts, np.bincount(blocks[found[:N]], minlength=active.counts.size))
        np.testing.assert_array_equal(active.of(slice(65_536, N)), active.bits[1024:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("has_rates", "has_weights"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("family", CRITERIA)
def test_compiled_marks_are_those_of_the_comparison(family, has_rates, has_weights, dtype):
    """Of columns or one number for all, also next to a price, and of parts with bits to spare."""
    n = 5000
    rates, weights, groups = spread(10, n=n, dtype=dtype)
    rates[::7] = weights[::7] / dtype(0.5)
    rates, weights = rates if has_rates else 2.0, weights if has_weights else None
    problem = check_problem(CRITERIA[family](rates), 0.3 * n, weights, 0.0, None, groups, np.ones(10), True)
    for start, stop in ((0, n), (64, 1000), (4992, n), (1024, 1088), (512, 513)):
        marks = np.full((stop - start + 63) // 64, 2**64 - 1, dtype=np.uint64)
        core.mark_started(problem.passes().items, 0.5, start, stop, marks)
        found = np.unpackbits(marks.astype("<u8").view(np.uint8), bitorder="little").astype(bool)
        np.testing.assert_array_equal(found[: stop - start], are_active(problem, slice(start, stop), 0.5))
        assert not found[stop - start :].any()


@pytest.mark.parametrize("with_ungrouped", [False, True])
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("bits", [0, 4])
def test_counts_of_all_tell_those_of_the_active_items(jobs, bits, with_ungrouped):
    """Where they are known: idle items are taken away from them."""
    rates, weights, groups = spread(1000)
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": np.ones(1000)}
    above, found = float(np.quantile(weights / rates, 0.4)), []
    for is_known in (False, True):
        totals = totals_of("freshness", rates, options, jobs)
        totals.forget_sizes()
        if is_known:
            counts = np.bincount(np.where(groups < 0, 0, 1 + (groups >> bits))).astype(np.uint32)
            totals._sizes, totals._blocks, totals._bits = (None, counts, bits) if bits else (counts, None, 0)
        assert (totals.counted(bits) is not None) == is_known
        found.append(find_active(totals, above, bits, with_ungrouped))
        assert totals.counted(bits) is None or totals.counted(bits).sum() == N
    assert found[0].n == found[1].n == found[0].counts.sum()
    assert (found[0].counts[0] == np.count_nonzero(groups < 0)) == with_ungrouped
    np.testing.assert_array_equal(found[0].bits, found[1].bits)
    np.testing.assert_array_equal(found[0].counts, found[1].counts)


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.PoissonFreshness])
def test_prices_that_single_precision_does_not_hold(kind, found):
    """Products of a price and a rate are taken in double precision: else all items would be left out."""
    rates, weights, groups = spread(50, 5)
    rates, weights = (rates * 1e-12).astype(np.float32), (weights * 1e30).astype(np.float32)
    wide, capacity = [x.astype(np.float64) for x in (rates, weights)], 0.3 * float(rates.sum())
    caps = 1.5 * capacity / 50 * np.exp(np.random.default_rng(1).normal(0.0, 0.5, 50))
    options = {"groups": groups, "group_caps": caps}
    result = solve_nefk(kind(rates), capacity, weights=weights, out=np.empty(N, np.float32), **options)
    assert result.price > 1e39 and any(found)
    assert result.amounts.sum(dtype=np.float64) == pytest.approx(capacity, rel=1e-6)
    expected = solve_nefk(kind(wide[0]), capacity, weights=wide[1], **options)
    assert result.price == pytest.approx(expected.price, rel=1e-12)


def test_a_sample_of_a_stride_that_misleads_is_found_out_by_counting(monkeypatch):
    """All items but those of the stride start below: none, or hardly any, would be left."""
    rates, weights, groups = np.ones(N), np.full(N, 0.5), np.arange(N) % 1000
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": np.ones(1000)}
    totals = totals_of("freshness", rates, options)
    assert find_active(totals, 0.6, 0) is None
    weights[sampled(N, active_module.SAMPLE)] = 0.1
    assert find_active(totals, 0.3, 0) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_one_weight_for_all_or_one_rate(weighted):
    rates, weights, groups = spread(1000)
    rates = 2.0 if weighted else rates
    problem = check_problem(
        criteria.Freshness(rates), 0.3 * N, weights if weighted else None, 0.0, None, groups, np.ones(1000), True
    )
    above = float(np.quantile(weights / 2.0 if weighted else 1.0 / rates, 0.5))
    found = are_active(problem, slice(10, 5000), above)
    expected = (weights / 2.0 if weighted else 1.0 / rates)[10:5000] > above
    assert np.count_nonzero(found != expected) <= 1
    alike = check_problem(criteria.Freshness(1.0), 0.3 * N, None, 0.0, None, groups, np.ones(1000), True)
    assert are_active(alike, slice(0, N, 7), 2.0).tolist() == [False] * len(range(0, N, 7))


def test_it_is_not_worth_it_or_not_allowed():
    rates, weights, groups = spread(1000)
    above = float(np.quantile(weights / rates, 0.4))
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": np.ones(1000)}
    assert find_active(totals_of("freshness", rates, options), above, 0)
    assert find_active(totals_of("freshness", rates, options), float(np.quantile(weights / rates, 0.05)), 0) is None
    assert find_active(totals_of("freshness", rates, options), 0.0, 0) is None
    assert find_active(totals_of("harmonic", rates, options), above, 0) is None
    in_order = options | {"groups": np.sort(groups)}
    assert find_active(totals_of("freshness", rates, in_order), above, 0) is None
    for lower in (1e-9, np.full(N, 1e-9)):
        totals = totals_of("freshness", rates, options)
        object.__setattr__(totals.problem, "lower", lower)
        assert find_active(totals, above, 0) is None


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("n_groups", [7, 900, 40_000])
def test_copies_and_lists_have_the_active_items_and_the_answer_goes_back(n_groups, jobs):
    rates, weights, groups = spread(n_groups, n=120_000)
    n = len(rates)
    problem = check_problem(
        criteria.Freshness(rates), 0.3 * n, weights, 0.0, None, groups, np.full(n_groups, 30.0), True
    )
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": problem.caps}
    totals = totals_of("freshness", rates, options)
    active = find_active(totals, float(np.quantile(weights / rates, 0.4)), 0)
    takes = are_active(problem, slice(0, n), active.above / (1.0 + active_module.ROUNDED))
    place, counts = Place(n, np.full(n, np.nan), 8), active.counts
    tiled = lay_out(problem, [(None, starts_of(totals, active.counts[1:], active))], place, jobs, False, active)
    assert isinstance(tiled, Tiled)
    tile = np.concatenate([np.full(run.end - run.begin, run.first) for run in tiled.runs.every])
    mine = np.lexsort((tiled.problem.weights, tile + tiled.member))
    theirs = np.lexsort((weights[takes], groups[takes]))
    np.testing.assert_array_equal((tile + tiled.member)[mine] - 1, groups[takes][theirs])
    np.testing.assert_array_equal(tiled.problem.weights[mine], weights[takes][theirs])
    np.testing.assert_array_equal(tiled.problem.criterion._parameter[mine], rates[takes][theirs])
    tiled.target(place)[:] = tiled.problem.weights  # as amounts, of items in any order
    tiled.deliver(place)
    np.testing.assert_array_equal(place.amounts(), np.where(takes, weights, 0.0))
    order = order_by(groups, None, np.append([0, 0], np.cumsum(counts)).astype(np.uint32), jobs, active.bits)
    np.testing.assert_array_equal(order, np.flatnonzero(takes)[np.argsort(groups[takes], kind="stable")])


@pytest.mark.parametrize("family", sorted(CRITERIA))
@pytest.mark.parametrize("times", [50.0, 3.0])
@pytest.mark.parametrize("n_groups", [20, 900, 50_000])
@pytest.mark.parametrize("most_listed", [0, N])
def test_the_answer_is_that_of_all_items(family, times, n_groups, most_listed, found, monkeypatch):
    monkeypatch.setattr(layouts_module, "FEW_LISTED", most_listed)
    rates, weights, groups = spread(n_groups, 2)
    rates[:50], weights[25:75] = 0.0, 0.0  # those that never change are always fresh
    if family == "logarithmic":
        rates = np.maximum(rates, 1e-9)
    criterion = CRITERIA[family](rates)
    caps = half_tight(criterion, 0.3 * N, weights, groups, n_groups, times)
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    ours = [solve_nefk(criterion, 0.3 * N, n_jobs=jobs, **options) for jobs in (1, 2)]
    assert any(found)
    monkeypatch.setattr(active_module, "WORTH", 2.0)
    result = solve_nefk(criterion, 0.3 * N, **options)
    assert not any(found[-1:])
    assert ours[0].residual <= 1e-12
    assert ours[0].price == pytest.approx(result.price, rel=1e-12)
    assert ours[0].value == pytest.approx(result.value, rel=1e-12)
    scale = result.amounts + 0.3  # one that starts next to the price amplifies its last digits
    assert np.max(np.abs(ours[0].amounts - result.amounts) / scale) <= 1e-8
    np.testing.assert_allclose(ours[0].group_prices, result.group_prices, rtol=1e-9, atol=1e-9 * result.price)
    np.testing.assert_array_equal(ours[0].side == -1, ours[0].amounts == 0.0)
    np.testing.assert_array_equal(ours[0].amounts, ours[1].amounts)
    assert ours[0].price == ours[1].price and ours[0].value == ours[1].value


@pytest.mark.parametrize("n", [N, 300_000])
@pytest.mark.parametrize("over", [1e-4, 0.05, 0.3, 2.0])
def test_a_sample_that_misleads_costs_time_alone(n, over, monkeypatch):
    """Items are left out that start above the answer's price: it is found without that."""
    rates, weights, groups = spread(n // 2, 3, n)
    caps = np.full(n // 2, 0.8) if n == N else half_tight(criteria.Freshness(rates), 0.3 * n, weights, groups, n // 2)
    options = {"weights": weights, "groups": groups, "group_caps": caps, "out": np.empty(n)}
    expected = solve("freshness", rates, 0.3 * n, **options)
    monkeypatch.setattr(loose_caps_module, "below_likely", lambda *_: expected.price * (1.0 + over))
    monkeypatch.setattr(active_module, "WORTH", 0.01)
    turns = turns_of(monkeypatch)
    result = solve("freshness", rates, 0.3 * n, **options)
    assert turns in (["given up", "answer"], ["too low", "answer"]) if over < 0.05 else turns == ["given up", "answer"]
    assert result.residual <= 1e-12
    assert result.price == pytest.approx(expected.price, rel=1e-12)


def turns_of(monkeypatch):
    """A list to which each search adds how it ended."""
    turns, solve_groups = [], reduced_module.solve_groups

    def spy(passes, *given):
        try:
            found = solve_groups(passes, *given)
        except LowAnswer:
            turns.append("given up")
            raise
        turns.append("too low" if found[0].low < passes.least else "answer")
        return found

    monkeypatch.setattr(reduced_module, "solve_groups", spy)
    return turns


@pytest.mark.parametrize(("n_groups", "load"), [(900, 50.0), (20_000, 50.0), (20_000, None), (30_000, 50.0)])
def test_samples_seldom_mislead(n_groups, load, found, monkeypatch):
    """Items are left out of nearly all such problems, and none is solved twice."""
    turns, n_problems = turns_of(monkeypatch), 12
    for seed in range(n_problems):
        rates, weights, groups = spread(n_groups, seed, 80_000)
        caps = np.full(n_groups, 1.3 * 24_000 / n_groups)
        if load:
            caps = half_tight(criteria.Freshness(rates), 24_000.0, weights, groups, n_groups, load)
        solve("freshness", rates, 24_000.0, weights=weights, groups=groups, group_caps=caps)
    assert sum(map(bool, found)) >= 0.8 * n_problems
    assert turns == ["answer"] * n_problems


def test_a_price_three_standard_errors_below_a_samples_does_not_mislead(monkeypatch):
    """Caps by size, a little above the capacity: below the price they hold most, and it is more often far down."""
    turns, generator, n = turns_of(monkeypatch), np.random.default_rng(0), 100_000
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    groups = np.random.default_rng(1).integers(0, n // 50, n)
    caps = 1.02 * 0.3 * np.bincount(groups, minlength=n // 50)
    solve("freshness", rates, 0.3 * n, weights=weights, groups=groups, group_caps=caps)
    assert turns == ["answer"]


def test_a_list_without_room_for_copies_has_the_active_items_alone(monkeypatch):
    monkeypatch.setattr(layouts_module, "room", type("No", (), {"__getattr__": lambda _, name: NO_ROOM[name]})())
    rates, weights, groups = spread(2000)
    caps = np.full(2000, 30.0)
    problem = check_problem(criteria.Freshness(rates), 0.3 * N, weights, 0.0, None, groups, caps, True)
    totals = totals_of("freshness", rates, {"weights": weights, "upper": None, "groups": groups, "group_caps": caps})
    active = find_active(totals, float(np.quantile(weights / rates, 0.4)), 0)
    place = Place(N, None)
    listed = lay_out(problem, [(None, starts_of(totals, active.counts[1:], active))], place, 1, False, active)
    assert isinstance(listed, Listed) and listed.order.size == active.n
    place.amounts()[:] = np.nan
    assert not listed.target(place).any()


NO_ROOM = {
    "have_table": lambda *_: False,
    "columns_to_copy": lambda problem: [problem.columns()],
    "most_rough": lambda *_: -1,
    "is_enough": lambda *_: False,
}
