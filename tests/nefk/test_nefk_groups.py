"""Groups with caps: certificates of optimality, and linear programming and SLSQP beside."""

import math

import numpy as np
import pytest
from nefk_oracle import FAMILIES, random_parameters, slope, solve, value
from scipy import optimize

from knapsolve import InfeasibleError, criteria, solve_nefk
from knapsolve.nefk.group_passes import GroupPasses


def random_problem(family, n, n_groups, seed, with_bounds):
    generator = np.random.default_rng([seed, n])
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    groups = generator.integers(-1, n_groups, n)
    capacity = 0.4 * n
    low = generator.uniform(0, 0.1, n) if with_bounds else np.zeros(n)
    high = generator.uniform(0.6, 3.0, n) if with_bounds else np.full(n, np.inf)
    sizes = np.bincount(groups[groups >= 0], minlength=n_groups)
    floor = np.bincount(groups[groups >= 0], low[groups >= 0], n_groups)
    caps = floor + sizes * generator.uniform(0.0, 0.9, n_groups) + 1e-3
    roof = np.bincount(groups[groups >= 0], high[groups >= 0], n_groups)
    most = np.minimum(caps, roof).sum() + high[groups < 0].sum()
    capacity = min(capacity, 0.5 * (most + low.sum()))
    return p, w, groups, caps, low, high, capacity


def assert_certified(family, p, w, groups, caps, low, high, capacity, result, tolerance=1e-12):
    """Conditions that only an optimum meets: prices, complementarity, sums."""
    x, prices = result.amounts, result.group_prices
    assert result.residual <= tolerance
    assert abs(math.fsum(x) - capacity) <= tolerance * capacity
    assert (x >= low).all() and (x <= high).all() and (prices >= 0).all()
    own = result.price + np.where(groups >= 0, prices[np.maximum(groups, 0)], 0.0)
    tiny = 1e-300
    at = w * slope(family, p, np.maximum(x, tiny))
    scale = np.maximum(np.abs(own), w if family == "quadratic" else 0)
    off, inside = (at - own) / scale, (x > low) & (x < high)
    assert np.abs(off[inside]).max(initial=0) <= 5 * tolerance
    assert off[(x <= low) & (low < high)].max(initial=0) <= 5 * tolerance
    assert off[(x >= high) & (low < high)].min(initial=0) >= -5 * tolerance
    for g, cap in enumerate(caps):
        taken = math.fsum(x[groups == g])
        assert taken <= cap * (1 + tolerance)
        if prices[g] > 0:
            assert taken == pytest.approx(cap, rel=tolerance)


@pytest.mark.parametrize("with_bounds", [False, True])
@pytest.mark.parametrize(("n", "n_groups"), [(3, 1), (30, 4), (300, 40)])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_with_groups_meets_the_conditions_of_optimality(family, n, n_groups, with_bounds):
    for seed in range(3):
        problem = random_problem(family, n, n_groups, seed, with_bounds)
        p, w, groups, caps, low, high, capacity = problem
        result = solve(family, p, capacity, weights=w, lower=low, upper=high, groups=groups, group_caps=caps)
        assert_certified(family, *problem, result)


@pytest.mark.parametrize("family", ["freshness", "logarithmic", "quadratic"])
def test_no_general_solver_finds_more_value(family):
    p, w, groups, caps, low, high, capacity = problem = random_problem(family, 8, 2, 7, True)
    result = solve(family, p, capacity, weights=w, lower=low, upper=high, groups=groups, group_caps=caps)
    assert_certified(family, *problem, result)
    membership = [(groups == g).astype(float) for g in range(2)]
    start = low + (capacity - low.sum()) * (high - low) / (high - low).sum()
    found = optimize.minimize(
        lambda x: -np.sum(w * value(family, p, x)),
        start,
        jac=lambda x: -w * slope(family, p, np.maximum(x, 1e-12)),
        bounds=list(zip(np.maximum(low, 1e-9), high)),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - capacity},
            *({"type": "ineq", "fun": lambda x, m=m, c=c: c - m @ x} for m, c in zip(membership, caps)),
        ],
    )
    assert result.value == pytest.approx(np.sum(w * value(family, p, result.amounts)), rel=1e-13)
    assert -found.fun <= result.value * (1 + 1e-9)
    assert -found.fun == pytest.approx(result.value, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_linear_with_bounds_and_groups_equals_linear_programming(seed):
    generator = np.random.default_rng(seed)
    n, n_groups = 40, 6
    w, high = generator.integers(1, 8, n).astype(float), generator.uniform(0.2, 2.0, n)
    low = 0.3 * high * generator.random(n)
    groups = generator.integers(-1, n_groups, n)
    caps = np.array([1.2 * low[groups == g].sum() + 0.2 for g in range(n_groups)])
    capacity = 0.5 * (low.sum() + min(high.sum(), high[groups < 0].sum() + caps.sum()))
    result = solve_nefk(criteria.Linear(), capacity, weights=w, lower=low, upper=high, groups=groups, group_caps=caps)
    membership = np.array([(groups == g).astype(float) for g in range(n_groups)])
    exact = optimize.linprog(
        -w,
        A_ub=membership,
        b_ub=caps,
        A_eq=np.ones((1, n)),
        b_eq=[capacity],
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    assert result.value == pytest.approx(-exact.fun, rel=1e-12)
    assert result.residual <= 1e-12


def test_loose_caps_change_nothing_and_have_no_price():
    p, w = random_parameters("freshness", 50, np.random.default_rng(1)), np.ones(50)
    groups = np.arange(50) % 5
    free = solve("freshness", p, 20.0, weights=w)
    result = solve("freshness", p, 20.0, weights=w, groups=groups, group_caps=np.full(5, 21.0))
    np.testing.assert_allclose(result.amounts, free.amounts, rtol=1e-13)
    np.testing.assert_array_equal(result.group_prices, 0)


def test_a_group_without_cap_is_no_group():
    free = solve("freshness", [1.0, 2.0, 3.0], 2.0)
    result = solve("freshness", [1.0, 2.0, 3.0], 2.0, groups=[0, 0, 1], group_caps=[np.inf, np.inf])
    np.testing.assert_allclose(result.amounts, free.amounts, rtol=1e-14)


def test_group_price_is_the_worth_of_its_cap():
    def solved(cap):
        return solve("logarithmic", [1.0, 2.0, 1.0], 6.0, weights=[2.0, 3.0, 1.0], groups=[0, 0, -1], group_caps=[cap])

    step = 1e-5
    difference = (solved(2.0 + step).value - solved(2.0 - step).value) / (2 * step)
    assert solved(2.0).group_prices[0] == pytest.approx(difference, rel=1e-8)


def test_a_group_with_no_room_gets_nothing_and_its_price_is_its_best_slope():
    result = solve("logarithmic", [1.0, 2.0, 1.0], 6.0, groups=[0, 0, -1], group_caps=[0.0])
    np.testing.assert_allclose(result.amounts, [0, 0, 6], rtol=1e-15)
    assert result.price + result.group_prices[0] == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_a_group_held_to_its_lower_bounds_is_priced_at_its_best_slope_there(seed):
    generator = np.random.default_rng(seed)
    rates, lower = np.exp(2 * generator.standard_normal(6)), generator.uniform(0, 0.5, 6)
    caps = [lower[:3].sum(), 5.0]
    result = solve("freshness", rates, lower.sum() + 2, lower=lower, groups=[0, 0, 0, -1, -1, 1], group_caps=caps)
    np.testing.assert_allclose(result.amounts[:3], lower[:3], rtol=1e-14)
    best = criteria.Freshness(rates).derivative(lower)[:3].max()
    assert result.price + result.group_prices[0] == pytest.approx(max(best, result.price), rel=1e-13)


def test_at_most_leaves_what_no_cap_admits():
    result = solve("freshness", [1.0, 2.0, 3.0], 9.0, groups=[0, 0, 1], group_caps=[1.0, 2.0], equality=False)
    assert result.price == 0.0
    assert math.fsum(result.amounts) == pytest.approx(3.0, rel=1e-13)
    assert (result.group_prices > 0).all()
    assert result.residual <= 1e-12


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({"lower": [1.0, 0.5, 0.0], "groups": [0, 0, -1], "group_caps": [1.0]}, ["1.5", "1.0", "group 0"]),
        ({"groups": [0, 0, 0], "group_caps": [1.0]}, ["1.0", "2.0"]),
        ({"upper": [0.1, 0.2, 0.3]}, ["0.6", "2.0"]),
        ({"lower": [1.0, 1.0, 1.0]}, ["3.0", "2.0"]),
        ({"lower": [0.5, 0.0, 0.0], "upper": 0.25}, ["0.5", "0.25", "position 0"]),
    ],
)
def test_infeasible_problems_name_the_numbers_that_clash(options, numbers):
    with pytest.raises(InfeasibleError) as error:
        solve("freshness", [1.0, 2.0, 3.0], 2.0, **options)
    assert all(number in str(error.value) for number in numbers)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["freshness", "harmonic"])
def test_two_hundred_thousand_items_in_twenty_thousand_groups(family):
    problem = random_problem(family, 200_000, 20_000, 1, True)
    p, w, groups, caps, low, high, capacity = problem
    one, two = (
        solve(family, p, capacity, weights=w, lower=low, upper=high, groups=groups, group_caps=caps, n_jobs=j)
        for j in (1, 2)
    )
    np.testing.assert_array_equal(one.amounts, two.amounts)
    taken = np.bincount(groups[groups >= 0], one.amounts[groups >= 0], len(caps))
    assert (taken <= caps * (1 + 1e-12)).all()
    assert one.residual <= 1e-12


@pytest.mark.parametrize("n", [20, 30, 600, 20_000])
@pytest.mark.parametrize("upper", [None, "column"])
def test_a_cap_below_the_capacity_is_infeasible_where_upper_bounds_are_infinite(n, upper):
    upper = None if upper is None else np.full(n, np.inf)
    options = {"lower": np.full(n, 1e-6), "upper": upper, "groups": np.zeros(n, dtype=int), "group_caps": [2.0]}
    with pytest.raises(InfeasibleError, match="less than the capacity"):
        solve_nefk(criteria.Logarithmic(np.ones(n)), 5.0, **options)


def test_newtons_method_leaves_out_what_caps_hold(monkeypatch):
    """Six tenths of the capacity are fixed by caps: taken to follow the price, they lead it far astray."""
    generator = np.random.default_rng(0)
    n, n_groups, prices = 10_000, 2000, []
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    free = solve("freshness", rates, 0.3 * n, weights=weights).amounts
    groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
    caps = np.bincount(groups + 1, free, n_groups + 1)[1:] * generator.uniform(0.3, 0.9, n_groups) + 1e-9
    respond = GroupPasses.respond

    def listen(self, price, **how):
        prices.append(price)
        return respond(self, price, **how)

    monkeypatch.setattr(GroupPasses, "respond", listen)
    result = solve("freshness", rates, 0.3 * n, weights=weights, groups=groups, group_caps=caps)
    assert (result.group_prices > 0).mean() > 0.95
    assert min(prices) > 0.5 * result.price
    assert len(prices) <= 4
    assert result.n_passes <= 11  # a wrong second derivative in the search of own prices takes more


@pytest.mark.parametrize("seed", range(8))
def test_of_few_items_in_groups_one_model_of_the_total_is_made(seed):
    generator, n, n_groups = np.random.default_rng(seed), 10_000, 2_000
    rates, weights = np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n))
    free = solve("freshness", rates, 0.3 * n, weights=weights).amounts
    groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
    shares = np.where(generator.random(n_groups) < 0.5, generator.uniform(0.3, 0.9, n_groups), 50.0)
    caps = np.bincount(groups + 1, free, n_groups + 1)[1:] * shares + 1e-9
    result = solve("freshness", rates, 0.3 * n, weights=weights, groups=groups, group_caps=caps)
    assert 0.4 < (result.group_prices > 0).mean() < 0.6
    assert result.n_passes <= 5  # narrower, some first models miss the answer: up to 15


def problem_with_capacity_over(family, n, n_groups, bounded):
    """Every group has items, of which some are worth nothing; the caps come to half of the capacity."""
    generator = np.random.default_rng(n_groups)
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    w[generator.random(n) < 0.01] = 0.0
    groups = generator.permutation(np.arange(n) % n_groups)
    caps = np.exp(generator.standard_normal(n_groups))
    caps *= 0.5 * n / caps.sum()
    high = np.exp(generator.standard_normal(n)) if bounded else np.full(n, np.inf)
    return p, w, groups, caps, high


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize(("n", "n_groups"), [(300, 40), (70_000, 30), (70_000, 700), (70_000, 7000), (70_000, 30_000)])
@pytest.mark.parametrize("family", ["detection", "freshness", "poisson", "harmonic", "logarithmic", "power"])
def test_caps_that_leave_capacity_over_bind_by_themselves(family, n, n_groups, bounded):
    p, w, groups, caps, high = problem_with_capacity_over(family, n, n_groups, bounded)
    options = {"weights": w, "upper": high, "groups": groups, "group_caps": caps, "equality": False}
    result = solve(family, p, float(n), **options)
    x, own = result.amounts, result.group_prices[groups]
    assert result.price == 0.0
    assert result.residual <= 1e-12
    assert result.n_passes <= 12
    assert (x[w == 0.0] == 0.0).all()
    taken, inside = np.bincount(groups, x), (x > 0.0) & (x < high)
    roof = np.bincount(groups, np.where(w > 0.0, high, 0.0), n_groups)
    binds = result.group_prices > 0.0
    np.testing.assert_array_equal(binds, roof > caps)
    np.testing.assert_allclose(taken[binds], caps[binds], rtol=2e-12)
    np.testing.assert_allclose(taken[~binds], roof[~binds], rtol=1e-13)
    np.testing.assert_allclose((w * slope(family, p, np.maximum(x, 1e-300)))[inside], own[inside], rtol=1e-10)
    np.testing.assert_array_equal(x, solve(family, p, float(n), n_jobs=2, **options).amounts)


@pytest.mark.parametrize("family", ["detection", "freshness", "harmonic"])
@pytest.mark.parametrize(("n_groups", "passes"), [(30, 10), (700, 7), (7000, 9)])
def test_a_few_items_without_a_cap_take_what_caps_leave(family, n_groups, passes):
    """The budget's price is then far below the groups' own prices, and tells nothing of them."""
    p, w, groups, caps, _ = problem_with_capacity_over(family, 70_000, n_groups, False)
    groups[-2:], w[-2:] = -1, 1.0
    capacity = 1.01 * caps.sum()
    result = solve(family, p, capacity, weights=w, groups=groups, group_caps=caps)
    assert result.residual <= 1e-12
    assert result.n_passes <= passes + 2 * (family == "harmonic")
    assert math.fsum(result.amounts) == pytest.approx(capacity, rel=1e-12)
    np.testing.assert_allclose(np.bincount(groups[:-2], result.amounts[:-2]), caps, rtol=2e-12)
    own = result.price + np.append(result.group_prices, 0.0)[groups]
    inside = result.amounts > 0.0
    np.testing.assert_allclose(
        (w * slope(family, p, np.maximum(result.amounts, 1e-300)))[inside], own[inside], rtol=1e-9
    )


def test_a_capacity_of_all_caps_but_for_rounding_is_left_over_in_any_order_of_the_items():
    n, n_groups, generator = 100_000, 1000, np.random.default_rng(2)
    groups, caps = generator.permutation(n) % n_groups, np.exp(generator.standard_normal(n_groups))
    rates, order = np.exp(generator.standard_normal(n)), np.argsort(groups, kind="stable")
    for p, which in ((rates, groups), (rates[order], groups[order])):
        for off in (-1e-14, 0.0, 1e-14):
            capacity = (1.0 + off) * math.fsum(caps)
            result = solve("freshness", p, capacity, groups=which, group_caps=caps, equality=False)
            assert result.price == 0.0
            assert result.residual <= 1e-12


@pytest.mark.parametrize("n", [6, 3000, 100_000])
def test_values_of_groups_that_may_take_nothing_count(n):
    """Harmonic items without a poll are worth less than any number, freshness items that never change all they can."""
    generator = np.random.default_rng(0)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    groups, caps = generator.integers(0, n // 3, n), generator.uniform(0.1, 1.0, n // 3)
    caps[::2] = 0.0
    options = {"weights": weights, "groups": groups, "group_caps": caps, "equality": False}
    assert solve_nefk(criteria.Harmonic(rates), 0.7 * caps.sum(), **options).value == -np.inf
    criterion = criteria.Freshness(np.where(np.arange(n) % 3 == 0, 0.0, rates))
    result = solve_nefk(criterion, 0.7 * caps.sum(), **options)
    assert result.value == pytest.approx(weights @ criterion.value(result.amounts), rel=1e-12)
