"""Steps of searches that know what every group takes: near the answer, and few."""

import itertools
import math

import numpy as np
import pytest
from group_fuzz import residual
from nefk_oracle import solve, totals_of

import knapsolve.nefk.group_marks as group_marks_module
import knapsolve.nefk.group_steps as steps_module
import knapsolve.nefk.groups as groups_module
import knapsolve.nefk.loose_caps as loose_caps_module
import knapsolve.nefk.narrow as narrow_module
import knapsolve.nefk.room as room_module
import knapsolve.nefk.sampled_items as items_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_steps import price_by_groups
from knapsolve.nefk.group_totals import capped_sums
from knapsolve.nefk.sample_curve import Curve
from knapsolve.nefk.single import new_search

N = 70_000


def tight(n, size, share, load, seed=1):
    """Rates, weights, groups, caps and a capacity that is little less than all caps."""
    generator = np.random.default_rng(seed)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    free, n_groups = solve("freshness", rates, 0.3 * n, weights=weights).amounts, int(n / size)
    groups = generator.integers(0, n_groups, n)
    caps = np.bincount(groups, free, n_groups) * generator.uniform(*share, n_groups) + 1e-9
    return rates, weights, groups, caps, min(0.3 * n, load * caps.sum())


def test_a_curve_knows_totals_and_prices_between_its_ends():
    curve = Curve(np.array([-0.1, 0.0, 0.1, 0.4]), np.array([9.0, 7.0, 6.0, 5.0]))
    for price, total in ((-0.09, 8.8), (-0.05, 8.0), (0.25, 5.5), (0.37, 5.1)):
        assert curve.total(math.exp(price)) == pytest.approx(total, rel=1e-12)
        assert curve.price(total) == pytest.approx(math.exp(price), rel=1e-12)
    assert all(
        math.isnan(x)
        for x in (curve.total(0.0), curve.total(0.9), curve.total(1.5), curve.price(4.9), curve.price(9.1))
    )


@pytest.mark.parametrize(("size", "load"), [(2, 0.8), (2, 0.95), (3, 0.8), (3, 0.95), (5, 0.8), (5, 0.95)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_samples_curve_leads_from_one_total_nearly_to_the_answers_price(size, load, seed):
    """Caps that begin to bind make Newton's steps from there too long, up to three times."""
    rates, weights, groups, caps, capacity = tight(200_000, size, (0.3, 0.95), load, seed)
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    result = solve("freshness", rates, capacity, **options)
    totals, answer = totals_of("freshness", rates, options | {"upper": None}), result.price
    error, sample = 2e-2, SampledTotals(totals)
    sample.respond(answer)
    curve, known = sample.curve(answer * 0.995, error), answer * math.exp(-error)
    found = curve.price(curve.total(known) + capacity - capped_sums(totals, *totals.respond(known).T)[0])
    assert abs(math.log(found / answer)) <= 0.4 * error
    assert result.n_passes <= 7
    assert sample.curve(math.nan, error) is None


@pytest.mark.parametrize("price", [1e-3, 3.0])
def test_there_is_no_curve_where_hardly_any_caps_are_loose_or_bind(price):
    rates, weights, groups, caps, _ = tight(N, 8, (0.3, 0.95), 0.9)
    totals = totals_of("freshness", rates, {"weights": weights, "groups": groups, "group_caps": caps, "upper": None})
    sample = SampledTotals(totals)
    sample.respond(price)
    assert sample.curve(1.0, 1e-2) is None


def test_there_is_no_curve_where_all_items_start_at_once():
    generator, n_groups = np.random.default_rng(1), 10_000
    rates, groups = np.exp(generator.standard_normal(N)), generator.integers(0, n_groups, N)
    caps = np.bincount(groups, minlength=n_groups) * generator.uniform(0.1, 3.0, n_groups) + 1e-9
    options = {"weights": rates, "groups": groups, "group_caps": caps}  # slopes at 0 are 1
    sample = SampledTotals(totals_of("freshness", rates, options | {"upper": None}))
    sample.respond(0.7)
    assert sample.curve(0.7, 1e-2) is not None
    sample.respond(0.7)
    assert sample.curve(0.98, 1e-2) is None
    result = solve("freshness", rates, 0.3 * N, **options)
    assert result.residual <= 1e-12
    assert result.n_passes <= 40


def test_a_search_ends_where_a_rough_total_is_near_on_one_side_alone(monkeypatch):
    """The next price came without anything learnt, went to where the total is not near, and came back from there."""
    for module, name, value in (
        (narrow_module, "MANY", 20),
        (groups_module, "MANY", 20),
        (group_marks_module, "MANY", 20),
        (room_module, "MOST_ROOM", 10**6),
        (items_module, "LEAST_SAMPLE", 64),
        (loose_caps_module, "FEWEST", 16),
    ):
        monkeypatch.setattr(module, name, value)
    respond, count = GroupPasses.respond, itertools.count()

    def counted(*arguments, **options):
        assert next(count) < 500
        return respond(*arguments, **options)

    monkeypatch.setattr(GroupPasses, "respond", counted)
    assert residual(7013626, even=True) <= 1e-12


@pytest.mark.parametrize(("n", "size", "seed"), [(80_000, 2, 1), (200_000, 3, 1)])
def test_a_sample_that_holds_too_many_caps_finds_a_price_where_nearly_all_bind(n, size, seed):
    """Its caps come to more than the capacity, its total corrected by that to less: it was 0.6 times the answer's."""
    rates, weights, groups, caps, capacity = tight(n, size, (0.3, 0.95), 0.999, seed)
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    answer = solve("freshness", rates, capacity, **options).price
    totals = totals_of("freshness", rates, options | {"upper": None}, capacity=capacity)
    search = new_search(totals.problem, totals.problem.passes())
    assert SampledTotals(totals).price(search) == pytest.approx(answer, rel=0.03)


def test_a_model_of_all_of_the_bracket_follows_one_that_missed():
    """There steps crawl, each to a model that just misses the answer: 74 passes."""
    rates, weights, groups, caps, capacity = tight(N, 5, (0.3, 0.95), 0.9999, 9)
    result = solve("freshness", rates, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 25


@pytest.mark.parametrize(("size", "off"), [(20, 0.06), (1000, 0.03), (20_000, 0.03)])
@pytest.mark.parametrize("start", [0.3, 0.5, 0.8, 1.3])
def test_what_groups_take_leads_near_the_answers_price(size, off, start):
    rates, weights, groups, caps, capacity = tight(N, size, (0.3, 3.0), 0.9)
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    answer = solve("freshness", rates, capacity, **options).price
    totals = totals_of("freshness", rates, options | {"upper": None})
    total, slope = totals.respond(start * answer).T
    sums = capped_sums(totals, total, slope)
    found = price_by_groups(totals.problem, total, slope, sums, start * answer, capacity)
    assert abs(math.log(found / answer)) <= off * (1.0 + abs(math.log(start)))


def test_no_price_is_found_where_nothing_is_taken():
    rates, weights, groups, caps, capacity = tight(N, 1000, (0.3, 3.0), 0.9)
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": caps}
    totals = totals_of("freshness", rates, options)
    nothing = np.zeros(len(caps) + 1)
    assert math.isnan(price_by_groups(totals.problem, nothing, nothing, (0.0, 0.0, 0.0), 1e9, capacity))


def test_no_price_is_led_to_at_which_caps_hold_too_little():
    """Then steps only lead farther away, until they end."""
    rates, weights, groups, caps, _ = tight(N, 1000, (0.3, 0.9), 0.9)
    options = {"weights": weights, "upper": None, "groups": groups, "group_caps": caps}
    totals = totals_of("freshness", rates, options)
    total, slope = totals.respond(1.0).T
    total[0] = slope[0] = 0.0  # nothing outside groups, whose caps are all that they can take
    sums = capped_sums(totals, total, slope)
    assert math.isnan(price_by_groups(totals.problem, total, slope, sums, 1.0, 1.5 * float(caps.sum())))


@pytest.mark.parametrize(
    ("size", "load", "passes"),
    [
        (2, 0.999, 7),
        (3, 0.999, 8),
        (5, 0.999, 8),
        (1000, 0.95, 8),
        (1000, 0.999, 11),
        (100, 0.999, 11),
        (20_000, 0.999, 8),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_passes_do_where_most_groups_are_near_their_caps(size, load, passes, seed):
    """Newton's steps and those of a sample took up to 26."""
    rates, weights, groups, caps, capacity = tight(100_000, size, (0.3, 0.95), load, seed)
    result = solve("freshness", rates, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= passes


@pytest.mark.parametrize(
    ("n", "load", "seed"), [(100_000, 1e-5, 5), (100_000, 1e-6, 5), (200_000, 1e-6, 2), (200_000, 1e-6, 3)]
)
def test_few_passes_do_where_large_groups_leave_a_trifle(n, load, seed):
    """T hardly changes up to where the first group leaves its cap: lines from there went 18 to 34 passes in vain."""
    rates, weights, groups, caps, capacity = tight(n, 500, (0.3, 0.95), 1.0 - load, seed)
    result = solve("freshness", rates, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 14


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("share", [1e-4, 1e-5, 1e-6, 1e-8])
def test_few_passes_do_where_small_groups_leave_a_trifle(size, share):
    """All caps bind below a price, which tells nothing of how far it is to the answer: models on that side, used up,
    left halving, 75 passes."""
    rates, weights, groups, caps, _ = tight(200_000, size, (0.3, 0.95), 0.9, 6)
    result = solve("freshness", rates, (1.0 - share) * caps.sum(), weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 20


def skewed(n, n_groups):
    """Sizes of groups fall with their number: the first one has a fiftieth of all items, half of them have one."""
    generator = np.random.default_rng(2)
    share = 1.0 / np.arange(1, n_groups // 2 + 1) ** 0.9
    some = generator.choice(n_groups // 2, n - n_groups, p=share / share.sum())
    rates, weights = np.exp(generator.normal(-3, 2, n)), np.exp(generator.standard_normal(n))
    free = solve("freshness", rates, 0.5 * n, weights=weights).amounts
    groups = generator.permutation(np.concatenate([np.arange(n_groups), some]))
    return rates, weights, groups, np.bincount(groups, free, n_groups), generator


@pytest.mark.parametrize("share", [0.4, 0.5])
def test_few_passes_do_where_sizes_of_groups_go_with_their_numbers(share):
    """One in so many groups stood for the largest ones, too: up to 100 passes, each with a step that was too short."""
    n, n_groups = 200_000, 30_000
    rates, weights, groups, taken, generator = skewed(n, n_groups)
    caps = taken * generator.uniform(0.3, 1.7, n_groups) + 1.01
    options = {"weights": weights, "groups": groups, "group_caps": caps}
    for lower in (1e-5, np.full(n, 1e-5)):
        result = solve("freshness", rates, share * n, lower=lower, **options)
        assert result.residual <= 1e-12
        assert result.n_passes <= 9


@pytest.mark.parametrize(("share", "passes"), [(1e-3, 9), (1e-4, 10), (1e-5, 12), (1e-6, 30)])
def test_few_passes_do_where_the_capacity_is_all_caps_but_for_a_trifle(share, passes):
    """Rough totals are exact where caps hold: to take what they may be off over all for it took 60 passes."""
    n, n_groups = 200_000, 30_000
    rates, weights, groups, taken, generator = skewed(n, n_groups)
    caps = taken * generator.uniform(0.3, 1.7, n_groups) + 0.01
    capacity = math.fsum(caps) * (1.0 - share)
    result = solve("freshness", rates, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= passes


def test_large_groups_lead_to_the_answers_price_wherever_their_numbers_lie():
    n, n_groups = N, 30_000
    rates, weights, groups, taken, generator = skewed(n, n_groups)
    options = {"weights": weights, "groups": groups, "group_caps": taken * generator.uniform(0.3, 1.7, n_groups) + 0.05}
    answer = solve("freshness", rates, 0.3 * n, **options).price
    totals = totals_of("freshness", rates, options | {"upper": None})
    total, slope = totals.respond(0.6 * answer).T
    sums = capped_sums(totals, total, slope)
    found = price_by_groups(totals.problem, total, slope, sums, 0.6 * answer, 0.3 * n)
    assert found == pytest.approx(answer, rel=0.05)


@pytest.mark.parametrize(("flat", "steep"), [(0.05, 0.97), (0.99, 0.05), (0.95, 0.5), (0.9, 0.05)])
def test_steps_that_fall_short_end(flat, steep):
    """Items of no group answer the price far less than those of groups, or more, than a sample of both does."""
    n, n_groups, generator = 100_000, 3, np.random.default_rng(0)
    is_free = generator.random(n) < 0.2
    p = np.where(is_free, flat, steep) * generator.uniform(0.98, 1.0, n)
    weights = np.exp(generator.standard_normal(n))
    groups = np.where(is_free, -1, generator.integers(0, n_groups, n))
    taken = solve("power", p, n, weights=weights).amounts
    caps = np.bincount(groups[~is_free], taken[~is_free]) * generator.uniform(0.25, 0.75, n_groups)
    capacity = min(n, 1.1 * caps.sum() + taken[is_free].sum())
    result = solve("power", p, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 26


@pytest.mark.parametrize("period", [24, 25])
@pytest.mark.parametrize("load", [0.6, 0.99])
def test_few_passes_do_where_caps_are_periodic_in_the_groups_numbers(period, load):
    n, n_groups, generator = 300_000, 100_000, np.random.default_rng(1)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(0, n_groups, n)
    free = solve("freshness", rates, 0.3 * n, weights=weights).amounts
    share = np.where(np.arange(n_groups) % period == 0, 30.0, 0.3)
    caps = np.bincount(groups, free, n_groups) * share + 1e-9
    capacity = load * min(caps.sum(), 0.3 * n)
    result = solve("freshness", rates, capacity, weights=weights, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= 6


def test_searches_of_few_items_do_not_creep_towards_starts():
    """Slopes of totals have no end just below the price at which an item starts: steps by them take up to 39 passes."""
    passes = []
    for seed in range(40):
        generator, n = np.random.default_rng(seed), 2000
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        options = {"weights": weights, "groups": generator.integers(0, 200, n), "group_caps": 4.2, "n_jobs": 1}
        result = solve_nefk(criteria.Freshness(rates), 600.0, **options)
        assert result.residual <= 2e-13
        passes.append(result.n_passes)
    assert max(passes) <= 20


@pytest.mark.parametrize(("kind", "seed"), [(criteria.PoissonFreshness, 2), (criteria.Logarithmic, 4)])
def test_prices_below_which_nothing_is_known_are_tried_from_near_to_far(kind, seed):
    """From a sample's price above the answer's, where few groups are loose, slopes led to 0, and halves of all doubles
    up again: 16 and 14 passes.
    """
    generator, n, m = np.random.default_rng(seed), 100_000, 100_000 // 6
    shares = 1.0 + generator.pareto(1.1, m)
    groups = np.sort(generator.choice(m, n, p=shares / shares.sum()))
    scales, weights = np.exp(generator.normal(0, 2, n)), np.exp(generator.standard_normal(n))
    capacity = 1e-4 * scales.sum()
    caps = np.bincount(groups, minlength=m) * np.exp(generator.standard_normal(m))
    caps *= 1.02 * capacity / caps.sum()
    result = solve_nefk(kind(scales), capacity, weights=weights, groups=groups, group_caps=caps, n_jobs=1)
    assert result.residual <= 1e-12
    assert result.n_passes <= 11


@pytest.mark.parametrize("seed", [1, 4])
def test_a_pass_takes_the_place_of_a_model_within_which_many_groups_leave_their_caps(seed, monkeypatch):
    """All hosts have the same cap, and these together are little more than the capacity."""
    generator, n = np.random.default_rng(seed), 100_000
    rates, weights = generator.lognormal(0, 1.5, n), generator.lognormal(0, 1, n)
    options = {"groups": generator.integers(-1, 100, n), "group_caps": np.full(100, 1.02 * 0.3 * n / 100)}
    result = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, **options)
    assert result.residual <= 1e-12
    monkeypatch.setattr(steps_module, "MOST_PASSING", 1.0)
    assert result.n_passes < solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, **options).n_passes
