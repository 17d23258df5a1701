"""Solves that leave out the items that bounds hold."""

import math

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk
from knapsolve.nefk.held_items import solve_beside_held
from knapsolve.nefk.passes import Prices
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.single import new_search

STARTING = [criteria.Freshness, criteria.Detection]
BOUNDED = [*STARTING, criteria.PoissonFreshness, criteria.Logarithmic, criteria.Exponential]


@pytest.mark.parametrize("n", [30_000, 200_000])
@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize("share", [0.3, 0.01])
@pytest.mark.parametrize(("over", "most"), [(1.001, 2), (1.02, 2), (1.1, 2), (2.0, 7)])
def test_upper_bounds_that_allow_little_more_than_the_capacity_take_few_passes(over, most, share, kind, n):
    """Slopes there tell nothing: Newton's steps and halves take up to 40 passes."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        upper = np.exp(generator.standard_normal(n))
        upper *= over * share * n / upper.sum()
        result = solve_nefk(kind(rates), share * n, weights=weights, upper=upper, lower=0.1 * upper, n_jobs=1)
        assert result.residual <= 1e-12
        assert result.n_passes <= most


@pytest.mark.parametrize("n", [30_000, 200_000])
@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize("with_upper", [False, True])
@pytest.mark.parametrize(("over", "most"), [(1.000001, 2), (1.001, 2), (1.02, 2)])
def test_lower_bounds_that_leave_little_of_the_capacity_take_few_passes(over, most, with_upper, kind, n):
    """The same from the other side, where it took up to 20."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(generator.normal(-1.0, 1.5, n)), np.exp(generator.standard_normal(n))
        lower = 1.0 / generator.choice([1.0, 7.0, 30.0], n)
        bounds = {"lower": lower, "upper": 2.0 * lower + generator.random(n) if with_upper else None}
        result = solve_nefk(kind(rates), over * float(lower.sum()), weights=weights, **bounds, n_jobs=1)
        assert result.residual <= 1e-12
        assert result.n_passes <= most


@pytest.mark.parametrize(
    ("kind", "share", "seed"),
    [(criteria.Logarithmic, 3.0, 22), (criteria.Logarithmic, 0.01, 22), (criteria.Freshness, 0.01, 5)],
)
def test_a_sample_without_its_share_of_the_bounds_costs_a_pass(kind, share, seed):
    """Few bounds are most of their sum: by a sample that lacks them, a price may lie on the wrong side (the second)."""
    n, generator = 100_000, np.random.default_rng(seed)
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    upper = generator.pareto(1.1, n) + 1e-3
    upper *= 1.1 * share * n / upper.sum()
    result = solve_nefk(kind(rates), share * n, weights=weights, upper=upper, n_jobs=1)
    assert result.residual <= 1e-12
    assert result.n_passes <= 3


@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize("less", [0.0, 1e-13, -1e-13])
def test_a_capacity_that_all_take_under_their_bounds_needs_no_price(kind, less):
    """But for rounding, which a sample that leads does not see: it led from price 0 to amounts that are off."""
    n = 30_000
    for seed in range(5):
        generator = np.random.default_rng(seed)
        upper, weights = np.exp(generator.standard_normal((2, n)))
        capacity = float(upper.sum()) * (1.0 - less)
        criterion = kind(generator.uniform(0.2, 0.8, n))
        result = solve_nefk(criterion, capacity, weights=weights, upper=upper, equality=False)
        assert result.residual <= 1e-12 and result.price == 0.0
        np.testing.assert_array_equal(result.amounts, upper)


@pytest.mark.parametrize("capacity", [1e-120, 1e-30, 1e30, 1e99])
def test_bounded_amounts_of_any_size_are_found(capacity):
    n, generator = 30_000, np.random.default_rng(5)
    upper = np.exp(generator.standard_normal(n))
    upper *= capacity * 1.02 / upper.sum()
    upper[generator.integers(0, n, 2)] = np.inf
    weights = 10.0 ** generator.uniform(-20.0, 20.0, n)
    result = solve_nefk(criteria.Detection(generator.uniform(0.2, 0.8, n)), capacity, weights=weights, upper=upper)
    assert result.residual <= 1e-12


@pytest.mark.parametrize("kind", STARTING)
@pytest.mark.parametrize("over", [1.0 + 1e-12, 1.0 + 1e-6, 1.001])
def test_bounds_of_any_size_that_sum_to_the_capacity_take_few_passes(kind, over):
    """Of eighteen orders of magnitude, few of which are much: halves took up to 75."""
    n = 30_000
    for seed in range(6):
        generator = np.random.default_rng(seed)
        weights, upper = np.exp(generator.standard_normal(n)), 10.0 ** generator.uniform(-9.0, 9.0, n)
        upper *= over * 0.3 * n / upper.sum()
        result = solve_nefk(kind(1.3), 0.3 * n, weights=weights, upper=upper, n_jobs=1)
        assert result.residual <= 1e-12
        assert result.n_passes <= 2


@pytest.mark.parametrize("n", [3, 5000, 40_000, 100_000])
@pytest.mark.parametrize("kind", [criteria.Freshness, criteria.PoissonFreshness, criteria.Exponential])
def test_upper_bounds_below_the_capacity_are_the_answer_at_price_zero(kind, n):
    """No price needs to be searched: up to 22 passes."""
    generator = np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    capacity = 1.25 * float(upper.sum())
    result = solve_nefk(kind(rates), capacity, weights=weights, upper=upper, equality=False)
    np.testing.assert_array_equal(result.amounts, upper)
    assert result.price == 0.0 and result.residual <= 1e-12 and result.n_passes == 1


@pytest.mark.parametrize("at_lower", [False, True])
@pytest.mark.parametrize("kind", BOUNDED)
def test_items_that_bounds_do_not_hold_are_listed(kind, at_lower):
    n, generator = 70_001, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    lower = np.where(generator.random(n) < 0.5, 0.2 * upper, 0.0)
    arrays = {"weights": weights, "lower": lower, "upper": upper, "groups": None, "group_caps": None}
    problem = check_problem(kind(rates), 1.0, **arrays, equality=True)
    amounts = np.empty(n)
    for jobs in (1, 2):
        passes = problem.passes(jobs)
        passes.settle(Prices(0.3, 0.3), amounts)
        listed, total, held = passes.list_free(0.3, at_lower)
        is_free = amounts > lower if at_lower else amounts < upper
        np.testing.assert_array_equal(listed, np.flatnonzero(is_free))
        assert total == pytest.approx(math.fsum(amounts), rel=1e-15)
        assert held == pytest.approx(math.fsum(amounts[~is_free]), rel=1e-15)
    bound = lower if at_lower else upper  # at prices farther on, all others are still there
    passes.settle(Prices(*2 * (0.5 if at_lower else 0.1,)), amounts)
    np.testing.assert_array_equal(np.delete(amounts, listed), np.delete(bound, listed))


@pytest.mark.parametrize("kind", [*STARTING, criteria.PoissonFreshness, criteria.Logarithmic, criteria.Exponential])
@pytest.mark.parametrize("share", [1e-4, 1e-3])
def test_few_items_that_start_take_two_passes(kind, share):
    """Where Newton's method creeps, up to twelve."""
    for seed in range(4):
        n, generator = 250_000, np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        one, two = (solve_nefk(kind(rates), share * n, weights=weights, n_jobs=jobs) for jobs in (1, 2))
        assert one.residual <= 1e-12
        assert one.n_passes <= (2 if kind in STARTING or share < 1e-3 else 4)
        np.testing.assert_array_equal(one.amounts, two.amounts)


@pytest.mark.parametrize("shape", ["alike", "few levels", "sorted"])
def test_items_that_leave_their_bounds_together_are_found(shape):
    """There is no price at which few have."""
    n, generator = 20_000, np.random.default_rng(3)
    levels = {"alike": 1, "few levels": 3, "sorted": n}[shape]
    weights = np.sort(1.0 + generator.integers(0, levels, n) / levels)
    for capacity in (0.01 * n, 0.9 * n, 0.999 * n):
        result = solve_nefk(criteria.Freshness(0.7), capacity, weights=weights, upper=1.0)
        assert result.residual <= 1e-12
        assert result.n_passes <= 12


def test_items_that_cannot_move_are_no_sign():
    """Nine in ten have equal bounds, where their slopes are the least."""
    n, generator = 30_000, np.random.default_rng(2)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    is_fixed = generator.random(n) < 0.9
    weights[is_fixed] *= 1e-3
    lower = np.where(is_fixed, upper, 0.0)
    capacity = upper.sum() - 0.02 * upper[~is_fixed].sum()
    result = solve_nefk(criteria.PoissonFreshness(rates), capacity, weights=weights, lower=lower, upper=upper)
    assert result.residual <= 1e-12
    assert result.n_passes == 2


@pytest.mark.parametrize("factor", [0.5, 0.999, 1.001, 1e9])
def test_a_price_that_is_not_the_answers_is_not_taken(factor):
    n, generator = 30_000, np.random.default_rng(0)
    rates, weights, upper = np.exp(generator.standard_normal((3, n)))
    arrays = {"weights": weights, "lower": None, "upper": upper, "groups": None, "group_caps": None}
    problem = check_problem(criteria.Freshness(rates), upper.sum() / 1.02, **arrays, equality=True)
    answer = solve_nefk(problem.criterion, problem.capacity, weights=weights, upper=upper)
    for at in (answer.price, factor * answer.price):
        passes, amounts = problem.passes(), np.empty(n)
        found = solve_beside_held(
            problem, passes, new_search(problem, passes), lambda _, at=at: Prices(at, at), amounts, None, 1
        )
        assert (found is not None) == (at == answer.price)


@pytest.mark.parametrize("kind", [criteria.PoissonFreshness, criteria.Logarithmic])
def test_tiny_bounded_amounts_take_few_passes(kind):
    """All that items may take, they take just below where they start: Newton's method takes up to 57, a series 20."""
    n, generator = 30_637, np.random.default_rng(4)
    weights, upper = np.exp(generator.standard_normal(n)), generator.choice([0.1, 1.0, 5.0], n)
    upper *= 1.5e-10 / upper.sum()
    result = solve_nefk(kind(2.0), 1e-10, weights=weights, upper=upper)
    assert result.residual <= 1e-12
    assert result.n_passes <= 9


@pytest.mark.parametrize("n", [9000, 50_000, 70_000])
@pytest.mark.parametrize(
    ("criterion", "most"), [(criteria.Linear(), 5), (criteria.Detection(2.0), 12), (criteria.Quadratic(1e-9), 12)]
)
def test_ties_are_no_sign_of_few_free_items(n, criterion, most):
    """All leave their bounds at one price, or nearly: beside that, halves of a bracket took 60 passes."""
    upper = np.random.default_rng(0).lognormal(0.0, 1.0, n)
    for share in (0.01, 0.3, 0.9, 0.999):
        result = solve_nefk(criterion, share * upper.sum(), weights=np.full(n, 3.0), upper=upper)
        assert result.residual <= 1e-12
        assert result.n_passes <= most


@pytest.mark.parametrize("kind", STARTING)
@pytest.mark.parametrize("over", [1.3, 3.0])
@pytest.mark.parametrize(("n", "most"), [(10_000, 40), (20_000, 10)])
def test_some_bounded_items_that_start_take_few_passes(n, most, kind, over):
    """Where bounds hold many, but not most: passes until the total is met, up to 42 of the larger one."""
    share = 1e-4
    for seed in range(6):
        generator = np.random.default_rng(seed)
        rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
        upper = np.exp(generator.standard_normal(n))
        upper *= over * share * n / upper.sum()
        result = solve_nefk(kind(rates), share * n, weights=weights, upper=upper)
        assert result.residual <= 1e-12
        assert result.n_passes <= most
