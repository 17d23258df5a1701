"""Groups of items with bounds take the ways of those without: what bounds hide on them is found."""

import math

import numpy as np
import pytest
from test_nefk_memory import peak_of, warm_up

import knapsolve._core.nefk as core
import knapsolve.nefk.reduced as reduced_module
import knapsolve.nefk.solver as solver_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.criterion import Indexed, pick
from knapsolve.nefk.group_passes import GroupPasses
from knapsolve.nefk.layouts import Tiled, lay_out, list_items
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem, odd_stride
from knapsolve.nefk.result import Place

N = 90_000


def bounded(n, size, seed=3, dtype=np.float64, kind=criteria.Freshness, most=3.0):
    """A problem of groups of some size, half of whose caps bind, with bounds that hold a part of the items."""
    generator = np.random.default_rng(seed)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    bounds = {"lower": generator.uniform(0.0, 0.05, n).astype(dtype), "upper": generator.uniform(1.0, most, n)}
    groups, n_groups = generator.integers(-1, n // size, n), n // size
    options = {"weights": weights.astype(dtype)} | bounds
    free = solve_nefk(kind(rates), 0.3 * n, **options).amounts
    taken, least = (np.bincount(groups + 1, x, n_groups + 1)[1:] for x in (free, bounds["lower"]))
    caps = np.where(generator.random(n_groups) < 0.5, 0.6, 5.0) * taken
    options |= {"groups": groups, "group_caps": np.maximum(caps, 1.05 * least) + 1e-9}
    return kind(rates.astype(dtype)), 0.3 * n, options


def checked(criterion, capacity, options):
    names = ("weights", "lower", "upper", "groups", "group_caps")
    return check_problem(criterion, capacity, *(options[name] for name in names), True)


@pytest.fixture
def misjudged(monkeypatch):
    """How many groups each settling pass finds not to be as they were taken."""
    counts, settle = [], GroupPasses.settle

    def counted(self, *arguments):
        settled, wrong = settle(self, *arguments)
        counts.append(wrong)
        return settled, wrong

    monkeypatch.setattr(GroupPasses, "settle", counted)
    return counts


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize(("upper", "mu", "evaluations"), [(None, 0.1, 0.3), (3.0, 0.1, 3.5)])
def test_own_prices_of_most_groups_need_few_evaluations_beside_the_answers(kind, upper, mu, evaluations):
    """Single precision looks at bounds, and amounts follow the last step as if there were none."""
    n, size, generator = 10_000, 5, np.random.default_rng(5)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    low, groups = generator.uniform(0.0, 0.002, n), np.arange(n) // size
    high = generator.uniform(1.0, upper, n) if upper else np.inf

    def passes_of(caps):
        return GroupPasses(check_problem(kind(rates), 1.0, weights, low, high, groups, caps, True), 1)

    taken, least = passes_of(np.ones(n // size)).respond(mu)[0][1:], low.reshape(-1, size).sum(axis=1)
    caps = np.maximum(taken * generator.uniform(0.3, 0.9, n // size), 0.5 * (taken + least))
    own, amounts, passes = np.append(np.nan, np.full(n // size, mu)), np.empty(n), passes_of(caps)
    (found,) = passes._tiles.settle(passes.runs.places, core.TileSpace(), mu, mu, 0.0, mu, own, amounts, None)
    assert max(found[4:6]) <= 1e-12
    cut = (amounts <= low) | (amounts >= high)
    assert 0.05 < cut.mean() < 0.9
    assert found[6] <= evaluations


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("gives_out", "listed"), [(True, 0), (False, 2)])
def test_passes_over_copies_are_those_over_a_list(gives_out, listed, single):
    """Room that the caller gives is for copies of all columns; else bounds are read through a list."""
    criterion, capacity, options = bounded(N, 300, dtype=np.float32 if single else np.float64)
    if gives_out:
        options["lower"] = 0.01  # room for one column more
    problem = checked(criterion, capacity, options)
    starts = np.zeros(len(problem.caps) + 3, dtype=np.uint32)
    starts[2:] = np.bincount(problem.groups + 1, minlength=len(problem.caps) + 1).cumsum()
    tiled = lay_out(problem, [(None, starts)], Place(N, np.empty(N) if gives_out else None, 8 * gives_out))
    assert isinstance(tiled, Tiled)
    assert sum(isinstance(x, Indexed) for x in (tiled.problem.lower, tiled.problem.upper)) == (0 if single else listed)
    answers = []
    for layout in (list_items(problem), tiled):
        passes, place = GroupPasses(problem, 1, layout), Place(N, None)
        sums, marks = passes.respond(0.4), np.zeros(len(problem.caps) + 1, np.int8)
        bounds = passes.bounds_by_group()
        _, opened, terms = passes.expand(0.4, 1e-3, 1e-7, marks, N)
        own = np.where(sums[0] > np.append(np.inf, problem.caps), 0.4, np.nan)
        settled, wrong = passes.settle(Prices(0.4, 0.4), own, 0.4, place)
        layout.deliver(place)
        sums_of_all = [settled.total, settled.value]  # added up in another order
        answers.append((sums[0], bounds[0], bounds[1], marks, len(opened), terms, own, wrong, place()[0], sums_of_all))
    *found, sums_of_all = zip(*answers)
    for a, b in found:
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(*sums_of_all, rtol=1e-15)


def test_a_listed_columns_slices_are_views_and_its_entries_copies():
    values, place = np.arange(10.0) ** 2, np.array([3, 1, 9, 0], dtype=np.uint32)
    column = Indexed(values, place)
    np.testing.assert_array_equal(column, [9.0, 1.0, 81.0, 0.0])
    part = pick(column, slice(1, 3))
    assert part.values is values
    assert np.shares_memory(part.place, place)
    np.testing.assert_array_equal(part, [1.0, 81.0])
    np.testing.assert_array_equal(pick(column, np.array([2, 0])), [81.0, 9.0])


def test_upper_bounds_do_not_hide_that_items_start_next_to_the_price(misjudged):
    """Fast items take all that they may up to where they start: by slopes alone, their groups seem to be capped."""
    n, generator = 200_000, np.random.default_rng(2)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    first = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, upper=2.0).price
    fast = np.arange(0, n, 100)
    rates[fast] = 500.0  # they jump to more than the upper bound
    weights[fast] = rates[fast] * first * np.exp(generator.uniform(-0.2, 0.2, fast.size))
    groups = np.arange(n) // 2
    base = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights, upper=2.0).amounts
    few = np.where(generator.random(n // 2) < 0.5, 0.6, 5.0)
    caps = few * base.reshape(-1, 2).sum(axis=1) + 1e-9
    options = {"weights": weights, "upper": 2.0, "groups": generator.permutation(n // 2)[groups]}
    order = np.argsort(options["groups"][::2])
    result = solve_nefk(criteria.Freshness(rates), 0.3 * n, **options, group_caps=caps[order])
    assert result.residual <= 1e-12
    assert misjudged == [0]


def test_groups_whose_fall_bounds_hide_are_not_taken_to_stay_above_their_caps(misjudged):
    """Where bounds hold most of a group's items, its slope is far less than what it falls by."""
    n, n_groups, generator = 200_000, 100_000, np.random.default_rng(4)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    options = {"weights": weights, "upper": generator.uniform(1.0, 3.0, n), "lower": generator.uniform(0.0, 0.05, n)}
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, **options).amounts
    groups = generator.integers(0, n_groups, n)
    share = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), 50.0)
    taken, least = (np.bincount(groups, x, n_groups) for x in (free, options["lower"]))
    options |= {"groups": groups, "group_caps": np.maximum(share * taken, 1.05 * least) + 1e-9}
    result = solve_nefk(criteria.Freshness(rates), 0.3 * n, **options)
    assert max(result.residual, result.budget_residual) <= 1e-12
    assert misjudged == [0]


@pytest.mark.parametrize("bounds", ["column", "number"])
def test_caps_that_are_loose_are_left_out(bounds, monkeypatch):
    """As without bounds, and the answer is that of all caps."""
    criterion, capacity, options = bounded(N, 10)
    if bounds == "number":
        options |= {"lower": 0.0, "upper": 2.0}
    kept, reduce = [], reduced_module.reduce

    def counted(*arguments):
        found = reduce(*arguments)
        kept.append(found.kept.mean())
        return found

    monkeypatch.setattr(reduced_module, "reduce", counted)
    reduced = solve_nefk(criterion, capacity, **options)
    assert 0.3 < kept[0] < 0.7
    monkeypatch.setattr(solver_module, "solve_reduced", lambda *arguments: None)
    whole = solve_nefk(criterion, capacity, **options)
    assert max(reduced.residual, reduced.budget_residual, whole.residual) <= 1e-12
    assert reduced.price == pytest.approx(whole.price, rel=1e-12)
    np.testing.assert_allclose(reduced.amounts, whole.amounts, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("price", [1e-30, 0.05, 0.5])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
def test_rough_amounts_are_cut_to_bounds_like_exact_ones(kind, price):
    criterion, capacity, options = bounded(5000, 10, kind=kind)
    options["upper"][::3] = np.inf
    items = checked(criterion, capacity, options).passes().items
    rough, exact = np.empty((2, 5000)), np.empty((2, 5000))
    core.respond_each(items, price, 0, 5000, True, rough)
    core.respond_each(items, price, 0, 5000, False, exact)
    np.testing.assert_allclose(rough[0], exact[0], rtol=core.ROUGH)
    assert (rough[0] >= options["lower"]).all()
    assert (rough[0] <= options["upper"]).all()
    inside = (rough[0] > 1.001 * options["lower"]) & (rough[0] < 0.999 * options["upper"])
    np.testing.assert_allclose(rough[1][inside], exact[1][inside], rtol=core.ROUGH)


@pytest.mark.parametrize("n_groups", [1000, 100_000, 330_000, 500_000])
@pytest.mark.parametrize("gives_out", [False, True])
def test_memory_beyond_the_input_stays_below_three_arrays(n_groups, gives_out):
    n = 1_000_000
    criterion, capacity, options = bounded(n, n // n_groups)
    warm_up()
    out = {"out": np.empty(n)} if gives_out else {}
    assert peak_of(criterion, capacity, **options, **out, n_jobs=1) <= 3 * 8 * n


@pytest.mark.parametrize("period", [2, 3, 5, 6, 7, 9, 12, 24])
def test_samples_of_columns_of_a_short_period_have_each_value_alike_often(period):
    n = 200_000
    criterion = criteria.Freshness(1.0 + np.arange(n) % period)
    problem = check_problem(criterion, 1.0, None, 0.0, None, None, None, True)
    for size in (2048, 4096, 6000, 8192):
        part = problem.sample(size)
        counts = np.unique(part.criterion._parameter, return_counts=True)[1]
        assert counts.size == period
        assert counts.max() <= counts.min() + 1
        assert size * 0.99 <= part.n <= size * 1.7
    assert [odd_stride(every) for every in (1, 2, 10, 11, 12, 30, 31, 36, 210)] == [1, 2, 10, 11, 11, 29, 31, 31, 209]


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_that_just_fit_are_summed_exactly_enough(side, in_order):
    """Plain sums of a hundred thousand terms are off by more than the difference of sums that counts as none."""
    n = 300_000
    groups = np.sort(np.arange(n) % 2) if in_order else np.arange(n) % 2
    rates = np.exp(np.random.default_rng(0).standard_normal(n))
    bound, caps, capacity = np.full(n, 0.1), [1e6, 1e6], 0.3 * n
    bound[0] = 0.2
    if side == "lower":
        caps[0] = math.fsum(bound[groups == 0])
    else:
        capacity = math.fsum(bound)
    result = solve_nefk(criteria.Freshness(rates), capacity, groups=groups, group_caps=caps, **{side: bound})
    assert max(result.residual, result.budget_residual) <= 1e-12


def test_memory_stays_below_three_arrays_where_many_items_come_near_their_bounds():
    """Those are in models, with both of their bounds, and beside them those of groups whose caps are left out."""
    n, n_groups, generator = 1_000_000, 400, np.random.default_rng(4)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups = generator.integers(0, n_groups, n)
    free = solve_nefk(criteria.Freshness(rates), 0.3 * n, weights=weights).amounts
    taken = np.bincount(groups, free, n_groups)
    caps = np.where(generator.random(n_groups) < 0.9, generator.uniform(0.5, 0.95, n_groups), 5.0) * taken
    near = generator.random(n)
    upper = np.where(near < 0.11, free * generator.uniform(0.999, 1.001, n), 3.0 * free + 1.0)
    lower = np.where(near > 0.95, free * generator.uniform(0.999, 1.001, n), np.where(near > 0.5, 0.2 * free, 0.0))
    caps = np.maximum(caps, 1.05 * np.bincount(groups, lower, n_groups))
    capacity = 0.9 * np.minimum(caps, taken).sum()
    warm_up()
    del free
    bounds = {"lower": lower, "upper": upper}
    options = {"weights": weights, "groups": groups, "group_caps": caps, "n_jobs": 1, **bounds}
    assert peak_of(criteria.Freshness(rates), capacity, **options) <= 3 * 8 * n


def quadratics(n, size, curvature, levels):
    """Quadratics in groups with upper bounds that differ, most of whose caps bind."""
    generator = np.random.default_rng(1)
    weights = np.exp(generator.standard_normal(n))
    weights = np.ceil(weights / levels) * levels if levels else weights
    groups, upper = generator.integers(0, n // size, n), generator.uniform(1.0, 3.0, n)
    sizes = np.bincount(groups, upper, n // size)
    caps = sizes * generator.uniform(0.2, 0.8, n // size) + 1e-9
    return (
        criteria.Quadratic(np.full(n, curvature)),
        0.6 * caps.sum(),
        {
            "weights": weights,
            "upper": upper,
            "groups": groups,
            "group_caps": caps,
        },
    )


@pytest.mark.parametrize(
    ("curvature", "levels", "passes"), [(1.0, 0, 8), (1e-3, 0, 20), (1e-9, 0, 25), (1e-3, 0.25, 18)]
)
def test_few_passes_do_for_quadratics(curvature, levels, passes):
    """Most of them are evaluations for own prices: six of Newton's, then as many as bisect ten to sixty breaks."""
    criterion, capacity, options = quadratics(100_000, 30, curvature, levels)
    result = solve_nefk(criterion, capacity, **options)
    assert max(result.residual, result.budget_residual) <= 1e-12
    assert result.n_passes <= passes


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("size", [1.5, 20, 300])
def test_what_bounds_hold_is_left_where_the_next_items_start(kind, size):
    """Items alike but for their bounds, which hold all up to just below where they start: steps that halve took 6 to 22
    passes.
    """
    generator, n = np.random.default_rng(4), 70_000
    hosts = int(n / size)
    groups, capacity = generator.integers(0, hosts, n), 140.0
    upper = generator.uniform(0.5, 3.0, n) * capacity / n
    caps = 0.4 * np.bincount(groups, upper, hosts) * generator.uniform(0.5, 1.5, hosts) + 1e-12
    options = {"weights": np.full(n, 3.0), "upper": upper, "groups": groups, "group_caps": caps, "equality": False}
    result = solve_nefk(kind(np.full(n, 2.0)), capacity, n_jobs=1, **options)
    taken = np.bincount(groups, result.amounts, hosts)
    assert result.residual <= 1e-12 and result.n_passes <= 7
    assert (taken <= caps * (1.0 + 1e-12)).all() and (result.amounts <= upper).all()
