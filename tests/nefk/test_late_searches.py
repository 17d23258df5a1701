"""Searches of many items whose first steps do not lead to the answer, or need not be taken."""

import numpy as np
import pytest

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.sample_steps import SampleSteps
from knapsolve.nefk.search import new_searches, step


@pytest.mark.parametrize("n", [40_000, 60_000])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("share", [0.3, 0.01, 0.001])
@pytest.mark.parametrize(("over", "most"), [(None, 8), (1.02, 2), (1.1, 2), (2.0, 7)])
def test_late_steps_over_tens_of_thousands_of_items_narrow(over, most, share, kind, n):
    """Newton's steps alone take up to 40, and over upper bounds, which together are so many times the capacity, 38."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        upper = np.exp(generator.standard_normal(n))
        upper = None if over is None else upper * (over * share * n / upper.sum())
        one, two = (solve_nefk(kind(rates), share * n, weights=weights, upper=upper, n_jobs=jobs) for jobs in (1, 2))
        assert one.residual <= 3e-13 and one.n_passes <= most
        np.testing.assert_array_equal(one.amounts, two.amounts)


STARTING = [criteria.Freshness, criteria.Detection]


@pytest.mark.parametrize(
    ("kind", "share", "over", "seed", "most"),
    [
        (criteria.Detection, 1e-4, 1.02, 5, 5),
        (criteria.Detection, 1e-3, 4.0, 11, 4),
        (criteria.Freshness, 1e-2, 1.02, 9, 5),
    ],
)
def test_a_price_next_to_a_jump_of_the_sample_is_left(kind, share, over, seed, most):
    """Items have all that they may take just below where they start: halves from there take up to 11 passes, and models
    that do not reach back to it up to 6.
    """
    n, generator = 100_000, np.random.default_rng(seed)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    upper = np.exp(generator.standard_normal(n))
    upper *= over * share * n / upper.sum()
    result = solve_nefk(kind(rates), share * n, weights=weights, upper=upper, n_jobs=1)
    assert result.residual <= 1e-12
    assert result.n_passes <= most


@pytest.mark.parametrize("left", [0.02, 0.995])
def test_a_sample_begins_near_the_answer_where_bounds_hold_nearly_all(left):
    """By what is between the sums of bounds, which are known: those of a sample are off by more than that."""
    n, generator = 100_000, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    lower = generator.uniform(0.3, 0.9, n) * upper
    least, most = float(lower.sum()), float(upper.sum())
    capacity = most - left * (most - least)
    arrays = {"weights": weights, "lower": lower, "upper": upper, "groups": None, "group_caps": None}
    problem = check_problem(criteria.Freshness(rates), capacity, **arrays, equality=True, n_jobs=1)
    passes = problem.passes()
    search = new_searches(passes.shape, np.array([capacity]), 1e3, 1.0)[0]
    SampleSteps(problem, *passes.bounds()[:2]).begin(search)
    total = passes.respond(float(search[core.PRICE]))[0]
    assert total == pytest.approx(capacity, abs=0.5 * min(most - capacity, capacity - least))


def test_a_sample_leads_to_both_sides_of_a_jump():
    """All items start at 1: first a billionth below it, and if that is too low, next to it, not half as near."""
    n = 30_000
    upper = np.exp(np.random.default_rng(0).standard_normal(n))
    arrays = {"weights": None, "lower": 0.0, "upper": upper, "groups": None, "group_caps": None}
    problem = check_problem(criteria.Detection(np.full(n, 1.0)), 100.0, **arrays, equality=True, n_jobs=1)
    passes = problem.passes()
    search = new_searches(passes.shape, np.array([100.0]), 1.0, 0.5)[0]
    steps = SampleSteps(problem, *passes.bounds()[:2])
    prices = [1.0]
    for _ in range(2):
        search[core.PRICE] = prices[-1]
        total, slope = passes.respond(prices[-1])
        step(search, passes.shape, total, slope)
        assert steps.move(search, prices[-1], total)
        prices.append(float(search[core.PRICE]))
    assert prices[1] == pytest.approx(1.0 - 1e-9, abs=1e-15)
    assert 1.0 - 1e-15 < prices[2] < 1.0


def test_steps_by_a_sample_that_lacks_items_without_bounds_do_not_creep():
    """One item in a thousand has no bound, a few of these take most: by the sample alone, 14 passes."""
    n, generator = 100_000, np.random.default_rng(2)
    rates, weights = np.exp(2.0 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    upper = np.exp(generator.standard_normal(n))
    upper *= 1.1e-3 * n / upper.sum()
    upper[generator.random(n) < 1e-3] = np.inf
    result = solve_nefk(criteria.Freshness(rates), 1e-3 * n, weights=weights, upper=upper, n_jobs=1)
    assert result.residual <= 1e-12
    assert result.n_passes <= 8


@pytest.mark.parametrize("kind", STARTING)
def test_tens_of_thousands_of_items_take_few_passes_and_lose_no_digits(kind):
    """Newton's method alone takes 7 to 12; a model's total is taken once more until the amounts have all digits."""
    n = 30_000
    for seed in range(8):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        result = solve_nefk(kind(rates), 0.3 * n, weights=weights, n_jobs=1)
        assert result.residual <= 2e-14
        assert result.n_passes <= 7


@pytest.mark.parametrize(("near", "most"), [(1e-12, 40), (1e-6, 40), (1e-3, 14), (1e-2, 10)])
def test_nearly_alike_items_that_a_bound_just_lets_share_take_few_passes(near, most):
    """All reach their bounds within a thousandth of a price, or less: by halves from far below, 108, 75, 37, 22."""
    n = 100_000
    rates = 1.7 * (1.0 + near * np.random.default_rng(0).standard_normal(n))
    capacity = 0.01 * rates.sum()
    result = solve_nefk(criteria.Freshness(rates), capacity, weights=np.full(n, 0.8), upper=1.02 * capacity / n)
    assert result.residual <= 1e-12
    assert result.n_passes <= most


@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.Detection])
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.1, 0.2])
@pytest.mark.parametrize("alike", [False, True])
def test_bounded_items_that_start_together_take_few_passes(kind, share, alike):
    """More items than one compiled search takes, of few starts, which bounds hold: 55 passes without a look at ties."""
    n, generator = 200_000, np.random.default_rng(3)
    rates, starts = generator.choice([1.0, 2.0, 5.0], n), generator.choice([1.0, 3.0], n)
    weights = starts * rates if kind is criteria.Freshness else starts
    upper = 2.0 * share * (rates if alike else np.full(n, rates.mean()) * generator.uniform(0.2, 1.8, n))
    capacity = share * float(rates.sum())
    result = solve_nefk(kind(rates), capacity, weights=weights, upper=upper)
    assert result.residual <= 1e-12 and result.n_passes <= 18
    assert result.amounts.sum() == pytest.approx(capacity, rel=1e-13)


@pytest.mark.parametrize(("share", "tied"), [(0.3, 0.5), (0.3, 0.9), (1.0, 0.5), (0.1, 0.9)])
@pytest.mark.parametrize(("n_ties", "passes"), [(1, 9), (5, 11)])
def test_starts_of_some_bounded_items_that_the_price_is_far_from_cost_few_passes(share, tied, n_ties, passes):
    """Where searches went on from these, up to 12."""
    n, generator = 500_000, np.random.default_rng(0)
    starts = np.exp(generator.standard_normal(n))
    starts = np.where(generator.random(n) < tied, generator.integers(1, n_ties + 1, n).astype(float), starts)
    rates = np.exp(generator.standard_normal(n))
    upper = 3.0 * share * rates * generator.uniform(0.2, 1.8, n)
    result = solve_nefk(criteria.Freshness(rates), share * rates.sum(), weights=starts * rates, upper=upper)
    assert result.residual <= 1e-12
    assert result.n_passes <= passes


@pytest.mark.parametrize("seed", [2, 5, 13, 14, 18])
def test_one_cap_for_all_hosts_that_are_nearly_all_held_leads_few_passes_astray(seed):
    """Hosts by Pareto's law, some without items: the price is where T begins to fall, of which a sample told no more
    than how many of its hosts had items: up to 23.
    """
    n, hosts, generator = 200_000, 60_000, np.random.default_rng(seed)
    rates, weights = np.exp(generator.normal(0.0, 1.0, n)), generator.uniform(0.2, 5.0, n)
    shares = generator.pareto(1.1, hosts) + 1.0
    groups = generator.permutation(hosts)[generator.choice(hosts, n, p=shares / shares.sum())]
    caps = {"groups": groups, "group_caps": 1.02 * n / np.unique(groups).size}
    result = solve_nefk(criteria.Freshness(rates), float(n), weights=weights, **caps, out=np.empty(n))
    assert result.residual <= 1e-12
    assert result.n_passes <= 12


@pytest.mark.parametrize(
    ("size", "share", "over", "seed"),
    [(3, 3e-4, 2.0, 3), (5, 3e-4, 2.0, 2), (5, 1e-4, 2.0, 4), (5, 1e-4, 2.0, 1), (2, 3e-4, 2.0, 2)],
)
def test_a_first_price_just_above_the_answers_does_not_lead_far_below(size, share, over, seed):
    """Groups' slopes there tell nothing of what starts below: from 1e-17 of the price, 13 to 19 passes led back."""
    n, generator = 100_000, np.random.default_rng(seed)
    groups = np.unique(generator.integers(0, n // size, n), return_inverse=True)[1]
    hosts = groups.max() + 1
    rates = np.exp(generator.normal(0.0, 2.0, hosts))[groups]
    weights = generator.integers(1, 11, hosts).astype(float)[groups]
    odd = generator.random(n) < 0.1
    rates[odd] = np.exp(generator.normal(0.0, 2.0, odd.sum()))
    capacity = share * float(rates.sum())
    caps = {"groups": groups, "group_caps": over * capacity / hosts}
    result = solve_nefk(criteria.Freshness(rates), capacity, weights=weights, **caps, n_jobs=1, out=np.empty(n))
    assert result.residual <= 1e-12
    assert result.n_passes <= 10


@pytest.mark.parametrize(("seed", "kind", "over"), [(6, criteria.Freshness, 1.01), (10, criteria.Detection, 1.02)])
def test_hosts_of_which_most_have_no_items_take_few_passes_without_room(seed, kind, over):
    """No `out` is given, and tables of hosts take room: a first price that missed was forgotten, 29 and 18 passes."""
    n, hosts, generator = 1_000_000, 333_000, np.random.default_rng(seed)
    sizes = generator.pareto(1.1, hosts)
    groups = generator.choice(hosts, n, p=sizes / sizes.sum())
    rates = generator.gamma(0.5, 2.0, n) + 1e-6
    weights = generator.uniform(0.1, 10.0, n) if seed % 3 else generator.pareto(1.5, n) + 0.1
    capacity, items = 1e-4 * float(rates.sum()), np.bincount(groups, minlength=hosts)
    caps = items * (over * capacity / n) if seed == 6 else over * capacity / np.count_nonzero(items)
    result = solve_nefk(kind(rates), capacity, weights=weights, groups=groups, group_caps=caps, n_jobs=1)
    assert result.residual <= 1e-12
    assert result.n_passes <= 14
