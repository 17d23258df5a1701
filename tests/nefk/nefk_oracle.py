"""Readable twins of the knapsack: criteria in numpy and in arbitrary precision, and a checker of answers."""

import math

import mpmath as mp
import numpy as np
from scipy import special

from knapsolve import criteria, solve_nefk
from knapsolve.nefk.group_totals import GroupTotals
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.sampled_items import sampled_groups_of

FAMILIES = {
    "detection": criteria.Detection,
    "freshness": criteria.Freshness,
    "poisson": criteria.PoissonFreshness,
    "harmonic": criteria.Harmonic,
    "logarithmic": criteria.Logarithmic,
    "exponential": criteria.Exponential,
    "quadratic": criteria.Quadratic,
    "power": criteria.Power,
}


def slope(family, p, x):
    """f'(x) by textbook formulae; the incomplete gamma function is scipy's."""
    with np.errstate(all="ignore"):
        match family:
            case "detection":
                return special.gammainc(2, p / x)
            case "freshness":
                return special.gammainc(2, p / x) / p
            case "poisson":
                return p / (x + p) ** 2
            case "harmonic":
                return p / (x * (x + p))
            case "logarithmic":
                return 1 / (p + x)
            case "exponential":
                return p * np.exp(-p * x)
            case "quadratic":
                return 1 - p * x
            case "power":
                return x ** (p - 1)
    raise AssertionError(family)


def value(family, p, x):
    """f(x) by textbook formulae."""
    match family:
        case "detection":
            return x * -np.expm1(-p / x)
        case "freshness":
            return x / p * -np.expm1(-p / x)
        case "poisson":
            return x / (x + p)
        case "harmonic":
            return np.log(x / (x + p))
        case "logarithmic":
            return np.log1p(x / p)
        case "exponential":
            return -np.expm1(-p * x)
        case "quadratic":
            return x - p * x**2 / 2
        case "power":
            return x**p / p
    raise AssertionError(family)


def exact_gamma2_inverse(y):
    """z with 1 - (1 + z) exp(-z) = y, by Newton on z - log(1 + z) = -log(1 - y)."""
    target = -mp.log1p(-y)
    z = mp.sqrt(2 * target) if target < 1 else target + mp.log1p(target)
    for _ in range(200):
        if z < mp.mpf(10) ** -8:
            excess = sum((-1) ** k * z**k / k for k in range(2, 12)) - target
        else:
            excess = z - mp.log1p(z) - target
        move = excess * (1 + z) / z
        z -= move
        if abs(move) < mp.mpf(10) ** (-mp.mp.dps + 8) * z:
            return z
    raise AssertionError(f"no convergence at {y}")


def exact_amount(family, p, price):
    """x with f'(x) = price in arbitrary precision, 0 where the price is too high."""
    p = mp.mpf(p)
    match family:
        case "detection":
            return mp.mpf(0) if price >= 1 else p / exact_gamma2_inverse(price)
        case "freshness":
            return mp.mpf(0) if price * p >= 1 else p / exact_gamma2_inverse(price * p)
        case "poisson":
            return max(mp.sqrt(p / price) - p, mp.mpf(0))
        case "harmonic":
            return (mp.sqrt(p * p + 4 * p / price) - p) / 2
        case "logarithmic":
            return max(1 / price - p, mp.mpf(0))
        case "exponential":
            return max(mp.log(p / price) / p, mp.mpf(0))
        case "quadratic":
            return max((1 - price) / p, mp.mpf(0))
        case "power":
            return price ** (1 / (p - 1))
    raise AssertionError(family)


def exact_amounts(family, p, w, low, high, price):
    """Amounts of all items at one price in arbitrary precision, cut to their bounds."""
    return [
        min(max(exact_amount(family, pi, price / mp.mpf(wi)), mp.mpf(li)), mp.mpf(ui))
        for pi, wi, li, ui in zip(p, w, low, high)
    ]


def exact_solution(family, p, w, low, high, capacity, near):
    """Amounts and price by bisection in arbitrary precision, in a bracket about `near` that is checked to hold it."""
    target = mp.mpf(capacity)
    width = mp.mpf(10) ** -9 * (abs(mp.mpf(near)) + (max(map(mp.mpf, w)) if family == "quadratic" else 0))
    below, above = mp.mpf(near) - width, mp.mpf(near) + width
    assert sum(exact_amounts(family, p, w, low, high, below)) >= target
    assert sum(exact_amounts(family, p, w, low, high, above)) <= target
    while above - below > mp.mpf(10) ** (-mp.mp.dps + 12) * (abs(above) + width):
        middle = (below + above) / 2
        if sum(exact_amounts(family, p, w, low, high, middle)) >= target:
            below = middle
        else:
            above = middle
    return exact_amounts(family, p, w, low, high, above), above


def assert_optimal(family, p, result, capacity, weights=1.0, lower=0.0, upper=np.inf, tolerance=1e-12):
    """The conditions of optimality, recomputed here by the textbook formulae, and the result's own word for them."""
    x = result.amounts
    p, w, low, high = (np.broadcast_to(np.asarray(a, float), x.shape) for a in (p, weights, lower, upper))
    assert result.residual <= tolerance
    assert abs(math.fsum(x) - capacity) <= tolerance * capacity
    assert (x >= low).all() and (x <= high).all()
    with np.errstate(all="ignore"):
        at = w * slope(family, p, x)
    scale = np.maximum(abs(result.price), w if family == "quadratic" else 0.0 * w)
    inside, bottom, top = (x > low) & (x < high), (x <= low) & (low < high), (x >= high) & (low < high)
    off = (at - result.price) / scale
    inside &= x > 1e-300  # a power's amount that no double can hold stays on their floor
    assert np.all(np.abs(off[inside]) <= 5 * tolerance)
    at_zero = bottom & (x == 0)
    if at_zero.any():
        limit = {
            "detection": p**0,
            "freshness": 1 / p,
            "poisson": 1 / p,
            "logarithmic": 1 / p,
            "exponential": p,
            "quadratic": p**0,
        }[family]  # the other families have an infinite slope at 0
        assert np.all((w * limit)[at_zero] <= result.price + tolerance * scale[at_zero])
    assert np.all(off[bottom & (x > 0)] <= 5 * tolerance)
    assert np.all(off[top] >= -5 * tolerance)
    np.testing.assert_array_equal(result.at_lower, x <= low)
    np.testing.assert_array_equal(result.at_upper, (x >= high) & (x > low))


def random_parameters(family, n, generator, spread=1.5):
    """Parameters (n,) that suit the family."""
    if family == "power":
        return generator.uniform(0.05, 0.95, n)
    return np.exp(spread * generator.standard_normal(n))


def solve(family, p, capacity, **options):
    return solve_nefk(FAMILIES[family](p), capacity, **options)


def totals_of(family, p, options, n_jobs=1, capacity=None):
    """What groups take, and a sample of them, of a problem that gives out 0.3 an item unless a capacity is given."""
    upper = np.inf if options["upper"] is None else options["upper"]
    arguments = options["weights"], 0.0, upper, options["groups"], options["group_caps"]
    problem = check_problem(FAMILIES[family](p), capacity or 0.3 * len(p), *arguments, True)
    return GroupTotals(problem, problem.passes().items, n_jobs, sampled_groups_of(len(p)))


def grouped(family, n_groups, seed, tightness, upper=None, n=70_000):
    """Parameters and options of a problem whose caps are `tightness` times what groups take without them."""
    generator = np.random.default_rng(seed)
    p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
    free = solve(family, p, 0.3 * n, weights=w, upper=upper).amounts
    groups = generator.integers(-1, n_groups, n)
    taken = np.bincount(groups + 1, free, n_groups + 1)[1:]
    caps = taken * generator.choice(tightness, n_groups) + 1e-9
    return p, {"weights": w, "upper": upper, "groups": groups, "group_caps": caps}
