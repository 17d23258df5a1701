"""Linear and nearly linear items, whose totals jump: the greedy answer, in few passes."""

import math

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk
from knapsolve.nefk.jumps import beside_tie
from knapsolve.nefk.problem import check_problem

N = 100_000


def greedy(weights, upper, capacity, groups, caps):
    """The largest value of linear items: in order of their weights, as much as bounds, caps and capacity allow."""
    left, order = np.append(caps, np.inf), np.argsort(-weights, kind="stable")
    value = 0.0
    for w, most, g in zip(weights[order].tolist(), upper[order].tolist(), groups[order].tolist()):
        x = min(most, left[g], capacity)
        left[g] -= x
        capacity -= x
        value += w * x
        if capacity <= 0.0:
            break
    return value


def instance(kind, size, tight, seed=3):
    """Weights of several kinds, upper bounds, groups of some size, and caps of which some bind."""
    generator = np.random.default_rng(seed)
    weights, upper = generator.lognormal(0, 1, N), generator.uniform(0.5, 1.5, N)
    if kind == "levels":
        weights = generator.integers(1, 101, N).astype(float)
    if kind == "few levels":
        weights = generator.integers(1, 4, N).astype(float)
    if kind == "one level":
        weights = np.ones(N)
    n_groups = N // size
    groups = np.where(generator.random(N) < 0.02, -1, generator.integers(0, n_groups, N))
    free = solve_nefk(criteria.Linear(), 0.3 * N, weights=weights, upper=upper).amounts
    taken = np.bincount(groups[groups >= 0], free[groups >= 0], n_groups)
    caps = np.where(generator.random(n_groups) < tight, generator.uniform(0.3, 0.9, n_groups), 50.0) * taken + 1e-3
    capacity = 0.3 * N if tight < 1.0 else caps.sum() + 0.5 * upper[groups < 0].sum()
    return weights, upper, groups, caps, capacity


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.3, 0.99])
@pytest.mark.parametrize("kind", ["all differ", "levels", "few levels", "one level"])
def test_few_passes_find_the_greedy_answer(kind, share, equality):
    """Brackets were halved, in up to 88 passes."""
    weights, upper, *_ = instance(kind, 2, 0.0)
    capacity = share * upper.sum()
    result = solve_nefk(criteria.Linear(), capacity, weights=weights, upper=upper, equality=equality)
    none = np.full(N, -1)
    assert result.residual <= 1e-12
    assert result.n_passes <= 7
    assert result.value == pytest.approx(greedy(weights, upper, capacity, none, np.empty(0)), rel=1e-12)


@pytest.mark.parametrize("curvature", [1e-3, 1e-6, 1e-9, 1e-13, "half of them"])
def test_few_passes_do_for_nearly_linear_items(curvature):
    weights, upper, *_ = instance("all differ", 2, 0.0)
    if curvature == "half of them":
        curvature = np.where(np.arange(N) % 2, 0.0, upper[::-1])
    result = solve_nefk(criteria.Quadratic(curvature), 0.3 * N, weights=weights, upper=upper)
    assert result.residual <= 1e-12
    assert result.n_passes <= 4


@pytest.mark.parametrize("levels", [1, 3, 10, 100])
@pytest.mark.parametrize("curvature", [0.0, 1e-6, 1e-3])
def test_few_passes_do_where_the_capacity_lies_between_levels(curvature, levels):
    """Which level is the last that is served, a sample may not say."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        upper, weights = generator.uniform(0.5, 1.5, N), np.ceil(levels * generator.random(N))
        result = solve_nefk(criteria.Quadratic(curvature), 0.3 * N, weights=weights, upper=upper)
        assert result.residual <= 1e-12
        assert result.n_passes <= 7


@pytest.mark.parametrize("spread", [0.5, 6.0])
def test_capacity_that_is_left_over_has_no_price(spread):
    """A sample does not say otherwise, be it by chance or as one item, which is in all of them, takes nearly all."""
    generator = np.random.default_rng(0)
    curvature, weights = np.sort(generator.lognormal(0, spread, N)), generator.exponential(1.0, N)
    criterion, free = criteria.Quadratic(curvature), (1.0 / curvature).sum()
    for more in (1.0 + 1e-6, 1.0 - 1e-6):
        result = solve_nefk(criterion, more * free, weights=weights, equality=False)
        assert result.residual <= 1e-12
        assert result.amounts.sum() == pytest.approx(min(more, 1.0) * free, rel=1e-12)
        assert (result.price == 0.0) == (more > 1.0)


@pytest.mark.parametrize("tight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("size", [2, 3, 30, 1000, 20_000])
@pytest.mark.parametrize("kind", ["all differ", "levels", "few levels", "one level"])
def test_groups_take_what_is_greedy_under_their_caps(kind, size, tight):
    """Own prices of groups were found by halving, in a hundred evaluations of each item."""
    weights, upper, groups, caps, capacity = instance(kind, size, tight)
    result = solve_nefk(
        criteria.Linear(), capacity, weights=weights, upper=upper, groups=groups, group_caps=caps, n_jobs=1
    )
    assert result.residual <= 1e-12
    assert result.n_passes <= 30
    assert result.value == pytest.approx(greedy(weights, upper, capacity, groups, caps), rel=1e-12)


@pytest.mark.parametrize("curvature", [1e-3, 1e-7, 1e-11])
@pytest.mark.parametrize("size", [2, 30, 1000])
def test_few_passes_do_for_groups_of_nearly_linear_items(size, curvature):
    weights, upper, groups, caps, capacity = instance("all differ", size, 0.5)
    curvatures = np.where(np.arange(N) % 3, curvature, 0.0)
    result = solve_nefk(
        criteria.Quadratic(curvatures), capacity, weights=weights, upper=upper, groups=groups, group_caps=caps
    )
    assert result.residual <= 1e-12
    assert result.n_passes <= 30


@pytest.mark.parametrize("size", [3, 30, 1000])
def test_threads_change_no_bit_of_linear_items(size):
    weights, upper, groups, caps, capacity = instance("levels", size, 0.5)
    options = {"weights": weights, "upper": upper, "groups": groups, "group_caps": caps}
    one, two = (solve_nefk(criteria.Linear(), capacity, n_jobs=jobs, **options) for jobs in (1, 2))
    np.testing.assert_array_equal(one.amounts, two.amounts)
    assert one.price == two.price


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99999])
@pytest.mark.parametrize("curvature", [0.0, 1e-9, 1e-2])
def test_weights_of_many_powers_do_not_reach_down_to_price_0(curvature, share):
    """Brackets down to 0 lost all items whose weights rounding hides beside it: amounts were off by a ninth."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        weights, upper = 10.0 ** generator.uniform(-139, 139, N), 10.0 ** generator.uniform(-6, 3, N)
        capacity = share * upper.sum()
        result = solve_nefk(criteria.Quadratic(curvature / upper.max()), capacity, weights=weights, upper=upper)
        assert result.residual <= 1e-12
        assert result.amounts.sum() == pytest.approx(capacity, rel=1e-12)


@pytest.mark.parametrize("lowest", [0.0, 1.0])
def test_few_passes_do_where_only_the_least_weight_is_not_served(lowest):
    generator = np.random.default_rng(0)
    weights, upper = np.maximum(generator.integers(0, 4, N), lowest), generator.uniform(0.5, 1.5, N)
    for share in (0.85, 0.99999):
        result = solve_nefk(criteria.Linear(), share * upper.sum(), weights=weights, upper=upper)
        assert result.residual <= 1e-12
        assert result.n_passes <= 7


def test_ties_are_the_weights_that_many_have_nearest_first():
    weights = np.append(np.repeat([1.0, 2.0, 3.0], [50, 100, 50]), np.linspace(1.4, 1.6, 100))
    upper = np.linspace(0.5, 2.0, weights.size)

    def found(low, price, high, curvature=0.0):
        columns = criteria.Quadratic(curvature), 1.0, weights, 0.0, upper, None, None, True
        return beside_tie(check_problem(*columns), low, price, high)

    assert found(0.5, 1.2, 3.5)[:2] == [1.0, math.nextafter(1.0, 0.0)]
    assert found(0.5, 1.2, 3.5)[::3] == [1.0, 2.0, 3.0]
    assert found(1.2, 1.3, 3.5)[0] == 2.0
    assert found(1.2, 1.3, 1.9) == []
    assert found(1.2, 1.3, 3.5, 1e-3)[2] == pytest.approx(2.0 * (1.0 - 1e-3 * upper[weights == 2.0].max()), rel=1e-15)


@pytest.mark.parametrize("criterion", [criteria.Linear(), criteria.Quadratic(np.array([0.0, 0.0, 1.0, 0.0, 0.0]))])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_items_without_an_end_leave_others_of_a_tie_exactly_nothing(criterion, kind):
    """Whether by bounds or by caps, above lower bounds, and at capacities far from 1."""
    ends = {"upper": [np.inf, 1.0, 1.0, np.inf, 1.0]}, {"groups": [0, -1, 1, -1, 1], "group_caps": [np.inf, 8.0]}
    for capacity in (1e-60 if kind == np.float64 else 1e-30, 20.0, 1e30):
        for given, shares in zip(ends, ([0.5, 0, 0, 0.5, 0], [1 / 3, 1 / 3, 0, 1 / 3, 0])):
            low = 0.01 * capacity * np.array([1.0, 0.0, 0.0, 1.0, 0.0])
            out = np.empty(5, kind)
            result = solve_nefk(criterion, capacity, weights=np.ones(5), lower=low, out=out, **given)
            expected = low + np.array(shares) * (capacity - low.sum())
            np.testing.assert_allclose(result.amounts, expected, rtol=1e-6 if kind == np.float32 else 1e-12)
            np.testing.assert_array_equal(result.at_lower, np.array(shares) == 0.0)


def test_small_shares_of_a_tie_without_such_items_are_kept():
    result = solve_nefk(criteria.Linear(), 1e-90, upper=[1.0, 2.0, 1.0], weights=np.ones(3))
    np.testing.assert_allclose(result.amounts, [2.5e-91, 5e-91, 2.5e-91], rtol=1e-14)


@pytest.mark.parametrize(("groups", "size"), [(1, 4), (50, 4), (1, 400), (1, 20_000)])
def test_items_without_an_end_leave_others_of_their_group_exactly_nothing(groups, size):
    """Of groups in rows, by themselves and larger than a tile, whose caps are tight."""
    n = groups * size
    group, upper = np.arange(n) % groups, np.where(np.arange(n) // groups % 2, 1.0, np.inf)
    given = {"upper": upper, "groups": group, "group_caps": 0.5 * size, "equality": False}
    result = solve_nefk(criteria.Linear(), 5.0 * n, **given)
    np.testing.assert_allclose(result.amounts, np.where(upper == 1.0, 0.0, 1.0), rtol=1e-12)
    np.testing.assert_array_equal(result.at_lower, upper == 1.0)
    assert max(result.residual, result.budget_residual) <= 1e-12
