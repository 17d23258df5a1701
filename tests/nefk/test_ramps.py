"""Where quadratic items, which take what ramps do of prices, take a target in all: breakpoint search."""

import math

import numpy as np
import pytest

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.problem import check_problem

SIZES = [1, 2, 3, 12, 13, 100, 3000]  # few are looked at one by one


def cross(weights, curvature, upper, target, lower=0.0, bracket=(-math.inf, math.inf), most=10**6):
    """What the kernel finds, and the total just above and just below a price in plain numpy."""
    problem = check_problem(criteria.Quadratic(curvature), 1.0, weights, lower, upper, None, None, True)
    n = problem.n
    columns = (np.broadcast_to(np.asarray(x, dtype=float), n) for x in (weights, curvature, lower, upper))
    w, d, low, high = columns

    def total(price, is_below=False):
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(w > price, np.inf, 0.0) if not is_below else np.where(w >= price, np.inf, 0.0)
            straight = np.where(d > 0.0, (1.0 - price / w) / d, at)
        return np.clip(straight, low, high).sum()

    return core.cross(problem.criterion._items_of(problem, None), n, target, *bracket, most), total


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("curvature", [0.0, 1e-6, 0.3, "each its own", "some"])
@pytest.mark.parametrize("share", [1e-3, 0.3, 0.99])
def test_the_target_is_between_the_ends(n, curvature, share):
    generator = np.random.default_rng(n)
    weights, upper = generator.lognormal(0, 1, n), generator.uniform(0.5, 1.5, n)
    lower = upper * generator.uniform(0.0, 0.3, n)
    if curvature == "each its own":
        curvature = generator.lognormal(0, 2, n)
    elif curvature == "some":
        curvature = np.where(np.arange(n) % 2, generator.lognormal(0, 2, n), 0.0)
    target = lower.sum() + share * (upper - lower).sum()
    (low, price, high), total = cross(weights, curvature, upper, target, lower)
    assert low <= price <= high
    assert total(low, True) >= target * (1.0 - 1e-9)  # a price's last bit may make that much
    assert total(high) <= target * (1.0 + 1e-9)
    assert total(price) <= target * (1.0 + 1e-9) and target * (1.0 - 1e-9) <= total(price, True)
    ends = np.concatenate([weights * (1.0 - curvature * lower), weights * (1.0 - curvature * upper)])
    assert not ((ends > low + 1e-12 * abs(low)) & (ends < high - 1e-12 * abs(high))).any()


@pytest.mark.parametrize("n", SIZES)
def test_ties_are_one_jump(n):
    for kinds in (1, 2, 5):
        weights = 1.0 + np.arange(n) % kinds
        for share in (0.01, 0.5, 0.999):
            (low, price, high), total = cross(weights, 0.0, 2.0, share * 2.0 * n)
            assert low == price == high
            assert total(price) < share * 2.0 * n <= total(price, True)


@pytest.mark.parametrize("order", ["rising", "falling", "organ pipes"])
@pytest.mark.parametrize("weights", [np.geomspace(1e-130, 1e130, 4001), 2.0 ** np.arange(-400, 400), np.arange(4000.0)])
def test_no_order_or_spread_of_weights_matters(weights, order):
    """Medians of three may cut off hardly anything; halving between doubles ends that."""
    n = weights.size
    if order == "falling":
        weights = weights[::-1]
    elif order == "organ pipes":
        weights = np.concatenate([weights[::2], weights[1::2][::-1]])
    for k in (1, n // 3, n - 1):
        (low, price, high), _ = cross(weights, 0.0, 1.0, k - 0.5)
        assert low == price == high == np.sort(weights)[n - k]


@pytest.mark.parametrize("n", [1, 2, 30, 1000, 20_000, 60_000])
@pytest.mark.parametrize("curvature", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0])
def test_few_passes_do_however_steep(n, curvature):
    """Newton's method halved brackets, in up to 60 passes."""
    for seed in range(4):
        generator = np.random.default_rng(seed)
        weights, upper = generator.lognormal(0, 1, n), generator.uniform(0.5, 1.5, n)
        curvatures = curvature * generator.lognormal(0, 1, n)
        for equality in (True, False):
            result = solve_nefk(
                criteria.Quadratic(curvatures), 0.3 * n, weights=weights, upper=upper, equality=equality
            )
            assert result.residual <= 1e-12
            assert result.n_passes <= 8
            if equality or result.price > 0.0:
                assert result.amounts.sum() == pytest.approx(0.3 * n, rel=1e-12)


def test_targets_out_of_reach_and_infinite_bounds_end():
    """What is met nowhere gives any prices, but soon; without bounds, none takes more than all."""
    for target in (-1.0, 0.0, 30.0, 1e300):
        (low, price, high), _ = cross(np.arange(1.0, 31.0), 0.0, 1.0, target)
        assert low <= price <= high
    (low, price, high), _ = cross([1.0, 2.0, 4.0], [0.0, 0.5, 0.25], math.inf, 5.0)
    assert low == price == high == 1.0
    (low, price, high), _ = cross([2.0, 4.0], [0.5, 0.25], math.inf, 3.0)
    assert low <= price <= high and price == pytest.approx(1.5)


@pytest.mark.parametrize("curvature", [0.0, 0.1])
def test_within_a_bracket_only_what_bends_there_is_copied(curvature):
    """The others are summed up; None where too many would be copied."""
    generator = np.random.default_rng(5)
    weights, upper = generator.lognormal(0, 1, 20_000), generator.uniform(0.5, 1.5, 20_000)
    whole, total = cross(weights, curvature, upper, 6000.0)
    around = whole[0] * 0.97, whole[2] * 1.03
    some, _ = cross(weights, curvature, upper, 6000.0, 0.0, around, 2000)
    assert some == pytest.approx(whole, rel=1e-12)
    assert total(some[2]) <= 6000.0 * (1.0 + 1e-9) and total(some[0], True) >= 6000.0 * (1.0 - 1e-9)
    assert cross(weights, curvature, upper, 6000.0, 0.0, around, 100)[0] is None
    assert cross(weights, curvature, upper, 6000.0, 0.0, most=2000)[0] is None


@pytest.mark.parametrize("n", [70_000, 300_000])
@pytest.mark.parametrize("bounds", ["none", "some", "uneven"])
def test_few_passes_do_for_many_items_of_which_a_sample_tells_nothing(n, bounds):
    """The largest weight takes all, or few items do: up to 24 passes without what is left in a bracket."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        weights, upper = generator.lognormal(0, 1, n), generator.pareto(0.7, n) if bounds == "uneven" else None
        if bounds == "some":
            upper = np.where(generator.random(n) < 0.3, np.inf, 1.0)
        for share in (0.3, 0.001):
            result = solve_nefk(criteria.Linear(), share * n, weights=weights, upper=upper)
            assert result.residual <= 1e-12
            assert result.n_passes <= 11
            assert result.amounts.sum() == pytest.approx(share * n, rel=1e-12)
