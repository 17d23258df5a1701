"""Items of few classes, in groups with caps: T jumps, or nearly, where a class starts to take something."""

import numpy as np
import pytest
from test_alike_items import KINDS

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_starts import StartSteps
from knapsolve.nefk.jumps import ends_of_ties
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.search import FAR, new_searches, step

N = 70_000
CLASSES = [1.0, 2.0, 5.0], [1.0, 3.0]  # rates, weights


def problem_of(kind, size, share, over, seed=1):
    """Rates, capacity and options of items of classes by chance in even hosts of one cap."""
    generator, m = np.random.default_rng(seed), N // size
    groups = generator.permutation(np.arange(N) % m)
    rates, weights = (generator.choice(some, N) for some in CLASSES)
    capacity = share * float(rates.sum())
    options = {"weights": weights, "groups": groups, "group_caps": over * capacity / m, "equality": over > 1.0}
    return rates, capacity, options


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 30, 700])
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.1, 0.3])
@pytest.mark.parametrize("over", [0.8, 1.02, 2.0, 10.0])
def test_few_passes(kind, size, share, over):
    """Up to 57 where steps halve towards a start."""
    rates, capacity, options = problem_of(kind, size, share, over)
    result = solve_nefk(kind(rates), capacity, **options)
    assert result.residual <= 1e-12 and result.n_passes <= 20
    key = np.ravel_multi_index((options["groups"], rates.astype(int), options["weights"].astype(int)), (N, 6, 4))
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    np.testing.assert_allclose(result.amounts, result.amounts[first][which], rtol=1e-11)  # those of a class take alike
    taken = np.bincount(options["groups"], result.amounts)
    assert (taken <= options["group_caps"] * (1.0 + 1e-12)).all()
    np.testing.assert_allclose(taken[result.group_prices > 0.0], options["group_caps"], rtol=1e-12)


@pytest.mark.parametrize(("kind", "most"), [(criteria.Freshness, 5.5), (criteria.Detection, 6.9)])
@pytest.mark.parametrize("size", [2, 3, 30, 700])
def test_few_passes_in_the_mean(kind, most, size):
    """Where both sides of a jump are no end, .8 more and up; without a sample's price by ties, up to 1 more."""
    problems = [problem_of(kind, size, share, over) for share in (1e-4, 0.01, 0.1, 0.3) for over in (1.02, 2.0, 10.0)]
    passes = [solve_nefk(kind(rates), capacity, **options).n_passes for rates, capacity, options in problems]
    assert np.mean(passes) <= most


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_jump_at_a_start_is_shared(kind, seed):
    """The capacity is within what a class takes just below the price at which it starts: that is the price."""
    rates, _, options = problem_of(kind, 5, 0.01, 1.02, seed)
    starts = options["weights"] / (rates if kind is criteria.Freshness else 1.0)
    result = solve_nefk(kind(rates), 1e-4 * rates.sum(), **options)
    assert result.residual <= 1e-12 and result.n_passes <= 12
    assert np.abs(result.price / np.unique(starts) - 1.0).min() <= 1e-14


def test_any_number_of_threads_gives_the_same():
    rates, capacity, options = problem_of(criteria.Freshness, 3, 0.01, 1.02)
    one, two = (solve_nefk(criteria.Freshness(rates), capacity, **options, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.amounts, two.amounts)
    assert one.price == two.price


@pytest.mark.parametrize("shape", [core.DETECTION, core.FRESHNESS])
def test_a_step_that_slopes_tell_nothing_of_leads_to_where_all_start(shape):
    """Not to the middle of all doubles, 1e150 or so."""
    search = new_searches(shape, np.array([1.0]), 3.0, 0.5)[0]
    step(search, shape, 2.0, 0.0)
    assert search[core.PRICE] == 3.0 and search[core.HIGH] == FAR and search[core.LOW] == 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", [2, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_starts_a_double_or_two_apart(kind, levels, seed):
    generator = np.random.default_rng(seed)
    starts, rates = 1.0 + 2.0**-52 * generator.integers(0, levels, N), np.exp(generator.standard_normal(N))
    weights = starts * rates if kind is criteria.Freshness else starts
    capacity = 10.0 ** generator.uniform(-5.0, -1.0) * rates.sum()
    options = {"weights": weights, "groups": generator.integers(0, N // 5, N), "equality": False}
    for over in (1.05, 10.0):
        result = solve_nefk(kind(rates), capacity, **options, group_caps=over * capacity / (N // 5))
        assert result.residual <= 1e-12 and result.n_passes <= 60


def test_starts_close_to_each_other_are_one_cluster():
    starts = np.array([0.5, 1.0, 1.0 + 2e-16, 1.0 + 1e-12, 2.0])
    np.testing.assert_array_equal(ends_of_ties(starts), [[0.5, 0.5], [1.0, 1.0 + 1e-12], [2.0, 2.0]])
    assert ends_of_ties(starts[:0]).shape == (0, 2)
    np.testing.assert_array_equal(ends_of_ties(starts[:1]), [[0.5, 0.5]])


def many_classes(kind, share, over):
    """Passes for items of sixty rates and weights, in hosts by rank."""
    generator, n, hosts, classes = np.random.default_rng(6), 110_000, 65, 60
    rank = 1.0 / np.arange(1, hosts + 1)
    groups = generator.choice(hosts, n, p=rank / rank.sum())
    values = np.exp(generator.normal(0.0, [[1.0], [0.1]], (2, classes)))
    rates, weights = (some[generator.integers(0, classes, n)] for some in values)
    capacity = share * float(rates.sum())
    caps = np.bincount(groups, minlength=hosts) * generator.uniform(0.5, 2.0, hosts)
    options = {"weights": weights, "groups": groups, "group_caps": caps * (over * capacity / caps.sum())}
    result = solve_nefk(kind(rates), capacity, **options)
    assert result.residual <= 1e-12
    return result.n_passes


@pytest.mark.parametrize(("kind", "most"), [(criteria.Freshness, 9.0), (criteria.Detection, 13.5)])
def test_few_passes_for_many_classes(kind, most):
    """Without a look at the ends of brackets, and at how many items start there, 14.7 and 15."""
    passes = [many_classes(kind, share, over) for share in (1e-3, 0.01, 0.1) for over in (1.001, 1.02)]
    assert np.mean(passes) <= most


@pytest.mark.parametrize(("kind", "most"), [(criteria.Freshness, 24), (criteria.Detection, 15)])
@pytest.mark.parametrize("share", [1e-4, 3e-4])
def test_totals_that_bounds_make_steps(kind, most, share):
    """Late in the search, all starts within the bracket are looked up: else up to 27 and 18."""
    generator, n, hosts, classes = np.random.default_rng(7), 97_000, 134, 20
    values = np.exp(generator.normal(0.0, [[0.3], [0.1]], (2, classes)))
    rates, weights = (some[generator.integers(0, classes, n)] for some in values)
    capacity = share * float(rates.sum())
    upper, caps = generator.uniform(1.0, 6.0, n) * capacity / n, generator.uniform(0.5, 1.5, hosts)
    options = {"weights": weights, "upper": upper, "groups": np.arange(n) % hosts, "equality": False}
    result = solve_nefk(kind(rates), capacity, **options, group_caps=caps * (1.02 * capacity / caps.sum()))
    assert result.residual <= 1e-12 and result.n_passes <= most


def test_a_late_search_looks_up_where_all_items_start():
    """Between the ends of its bracket, and the next one; not if these are many."""
    generator, n = np.random.default_rng(3), 10_000
    starts = generator.permutation(np.repeat(np.linspace(1.0, 2.0, 101), 100)[:n])
    problem = check_problem(criteria.Detection(np.ones(n)), 1.0, starts, 0.0, np.inf, None, None, True)
    search = new_searches(core.DETECTION, np.array([1.0]), 2.0, 1.5)[0]
    search[core.LOW], search[core.HIGH] = 1.395, 1.435
    steps = StartSteps(problem)
    np.testing.assert_allclose(steps._all_within(search), [1.4, 1.41, 1.42, 1.43, 1.44])
    several = 1.4 + 1e-6 * np.arange(n)
    problem = check_problem(criteria.Detection(np.ones(n)), 1.0, several, 0.0, np.inf, None, None, True)
    assert StartSteps(problem)._all_within(search) is None


def test_few_passes_where_many_of_a_large_groups_items_start_at_once():
    """4.8 in the mean; where one item's law is all that is known there, and idle items count, 5.6."""
    passes = []
    for kind in (criteria.Freshness, criteria.Detection):
        for size in (150, 400, 1000):
            for seed in range(5):
                generator, n, hosts = np.random.default_rng(seed), 70_000, 70_000 // size
                values = np.exp(generator.normal(0.0, 2.0, 5)), generator.integers(1, 11, 5).astype(float)
                which = generator.integers(0, 5, n)
                rates, weights = (some[which] for some in values)
                groups = generator.permutation(np.arange(n) % hosts)
                capacity, caps = 0.02 * float(rates.sum()), np.exp(generator.normal(size=hosts))
                options = {"weights": weights, "groups": groups, "group_caps": caps * (0.8 * capacity / caps.sum())}
                passes.append(solve_nefk(kind(rates), capacity, **options, equality=False, n_jobs=1).n_passes)
    assert np.mean(passes) <= 5.0
