"""Weighted freshness, ln rate ~ N(0, 1.5^2), ln weight ~ N(0, 1), capacity .3 n: time against a triad and rivals.

Run with `pytest benchmarks/nefk -s --benchmark-disable`; every figure is the least of several in one run, with the
triad (read two arrays, write one) and the cost of a random number beside it. Families are compared by the
processor time of one thread, which a busy machine hardly changes.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from nefk_timing import best, best_of_each, problem
from scipy import optimize, special

import knapsolve._core.nefk as core
from knapsolve import criteria, solve_nefk

SIZES = [10**4, 10**5, 10**6, 10**7]
THREADS = min(2, os.cpu_count() or 1)


def triad(a, b, out, threads):
    """A function that reads two arrays of n doubles and writes a third, on so many threads."""
    if threads == 1:
        return lambda: np.add(a, b, out=out)
    cuts = [slice(a.size * k // threads, a.size * (k + 1) // threads) for k in range(threads)]
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda cut: np.add(a[cut], b[cut], out=out[cut]), cuts))


def random_number():
    out, generator = np.empty(10**6), np.random.default_rng(1)
    return best(lambda: generator.random(out=out)) / out.size


def numpy_newton(rate, weight, capacity):
    """What a user would write: Newton for z by item that takes something, inside Brent's method for the price."""

    def amounts(price):
        active = price * rate < weight
        y = price * rate[active] / weight[active]
        z = np.sqrt(2 * y) + y
        for _ in range(60):
            e = np.exp(-z)
            step = (1 - (1 + z) * e - y) / np.maximum(z * e, 1e-300)
            z = np.clip(z - step, 0.5 * z, 2 * z + 1)
            if np.abs(step).max() < 1e-10:
                break
        x = np.zeros_like(rate)
        x[active] = rate[active] / z
        return x

    top = (weight / rate).max()
    price = optimize.brentq(
        lambda p: amounts(p).sum() - capacity, 1e-9 * top, top * (1 - 1e-9), xtol=1e-300, rtol=1e-13
    )
    return amounts(price)


@pytest.mark.parametrize("n", SIZES)
def test_ratio_to_a_triad(n):
    rate, weight, capacity = problem(n)
    lines = [f"n = {n:.0e}; a random number costs {random_number() * 1e9:.2f} ns"]
    out = np.empty(n)
    for jobs in range(1, THREADS + 1):
        run = partial(solve_nefk, criteria.Freshness(rate), capacity, weights=weight, n_jobs=jobs, out=out)
        ours, base, single = best_of_each([run, triad(rate, weight, out, jobs), triad(rate, weight, out, 1)])
        result = run()
        lines.append(
            f"{jobs} threads: {ours * 1e3:.2f} ms, {ours / base:.1f} triads of {base * 1e3:.3f} ms on as many "
            f"threads, {ours / single:.1f} of one thread; {result.n_passes} passes, residual {result.residual:.0e}"
        )
    print("\n" + "\n  ".join(lines))


def numpy_newton_in_newton(rate, weight, capacity):
    """The best that numpy does: each item's z started from the last price's, Newton with a bracket on the price."""
    limit, z = weight / rate, np.ones_like(rate)
    low, high, price = 0.0, limit.max(), 0.5 * np.median(limit)
    for _ in range(100):
        active = price < limit
        y, r = price / limit[active], rate[active]
        t = z[active]
        for _ in range(50):
            e = np.exp(-t)
            step = (1 - (1 + t) * e - y) / (t * e)
            t = np.clip(t - step, 0.5 * t, 2 * t + 1)
            if np.abs(step).max() < 1e-10:
                break
        z[active] = t
        gap = (r / t).sum() - capacity
        low, high = (price, high) if gap > 0 else (low, price)
        if abs(gap) <= 1e-12 * capacity or high - low <= 4e-16 * high:
            break
        slope = (r * price / limit[active] / (t**3 * np.exp(-t))).sum() / price
        price = price + gap / slope if low < price + gap / slope < high else 0.5 * (low + high)
    amounts = np.zeros_like(rate)
    amounts[active] = r / t
    return amounts


RIVALS = {
    "Newton in numpy inside Brent's method (what a user would write)": numpy_newton,
    "Newton in Newton, the best numpy we could write": numpy_newton_in_newton,
}


@pytest.mark.parametrize("n", [10**5, 10**6])
@pytest.mark.parametrize("name", RIVALS)
def test_ratio_to_numpy(n, name):
    rate, weight, capacity = problem(n)
    ours, alone = (
        best(lambda jobs=jobs: solve_nefk(criteria.Freshness(rate), capacity, weights=weight, n_jobs=jobs), 9)
        for jobs in (THREADS, 1)
    )
    start = time.perf_counter()
    amounts = RIVALS[name](rate, weight, capacity)
    theirs = time.perf_counter() - start
    same = np.abs(amounts - solve_nefk(criteria.Freshness(rate), capacity, weights=weight).amounts)
    print(
        f"\nn = {n:.0e}: {name} {theirs * 1e3:.0f} ms, ours {ours * 1e3:.2f} ms, "
        f"{theirs / ours:.0f} times; on one thread {alone * 1e3:.2f} ms, {theirs / alone:.0f} times; "
        f"largest difference {same.max():.0e}"
    )


def test_numpy_newton_bisected_by_the_incomplete_gamma_function_agrees():
    rate, weight, capacity = problem(1000)
    x = numpy_newton(rate, weight, capacity)
    inside = x > 0
    price = weight[inside] / rate[inside] * special.gammainc(2, rate[inside] / x[inside])
    assert np.ptp(price) < 1e-8


@pytest.mark.parametrize("n", [10**3, 10**4])
def test_ratio_to_cvxpy_with_clarabel(n):
    cvxpy = pytest.importorskip("cvxpy")
    rate, weight, capacity = problem(n)
    x, t = cvxpy.Variable(n), cvxpy.Variable(n)  # x exp(-rate / x) as an exponential cone
    value = cvxpy.sum(cvxpy.multiply(weight / rate, x - t))
    cone = cvxpy.constraints.ExpCone(-rate, x, t)
    task = cvxpy.Problem(cvxpy.Maximize(value), [cone, cvxpy.sum(x) == capacity, x >= 0])
    start = time.perf_counter()
    try:
        task.solve(solver="CLARABEL")
        said = f"value {task.value:.10g}"
    except cvxpy.SolverError as error:
        said = f"SolverError: {str(error)[:60]}"
    theirs = time.perf_counter() - start
    ours = solve_nefk(criteria.Freshness(rate), capacity, weights=weight)
    mine = best(lambda: solve_nefk(criteria.Freshness(rate), capacity, weights=weight))
    print(
        f"\nn = {n:.0e}: cvxpy {theirs:.2f} s ({said}), ours {mine * 1e3:.2f} ms (value {ours.value:.10g}), "
        f"{theirs / mine:.0f} times"
    )


def test_every_family_and_bounds_beside_freshness():
    n = 10**6
    rate, weight, capacity = problem(n)
    generator = np.random.default_rng(2)
    amount = generator.uniform(0.5, 1.5, n)
    kinds = {
        "freshness": (criteria.Freshness(rate), {"weights": weight}),
        "detection, equal weights": (criteria.Detection(rate), {}),
        "detection, weighted": (criteria.Detection(rate), {"weights": weight}),
        "harmonic": (criteria.Harmonic(rate), {"weights": weight}),
        "poisson": (criteria.PoissonFreshness(rate), {"weights": weight}),
        "logarithmic": (criteria.Logarithmic(rate), {"weights": weight}),
        "exponential": (criteria.Exponential(rate), {"weights": weight}),
        "quadratic": (criteria.Quadratic(rate), {"weights": weight}),
        "quadratic, nearly linear": (criteria.Quadratic(1e-6), {"weights": weight, "upper": amount}),
        "linear": (criteria.Linear(), {"weights": weight, "upper": amount}),
        "linear, ten weights": (criteria.Linear(), {"weights": np.ceil(10.0 * generator.random(n)), "upper": amount}),
        "nearly, a hundred weights": (
            criteria.Quadratic(1e-6),
            {"weights": np.ceil(100.0 * generator.random(n)), "upper": amount},
        ),
        "power": (criteria.Power(generator.uniform(0.1, 0.9, n)), {"weights": weight}),
        "bounds": (
            criteria.Freshness(rate),
            {
                "weights": weight,
                "lower": generator.uniform(0, 0.1, n),
                "upper": generator.uniform(0.3, 2.0, n),
            },
        ),
    }
    print()
    base = None
    for name, (criterion, options) in kinds.items():
        run = partial(solve_nefk, criterion, capacity, n_jobs=1, **options)
        seconds = best(run, 7, time.process_time)
        base = base or seconds
        result = run()
        print(
            f"{name:26s} {seconds * 1e3:8.1f} ms, {seconds / base:5.2f} of freshness; {result.n_passes} passes, "
            f"residual {result.residual:.0e}"
        )


def test_instruction_sets():
    """A million items, and the passes over items that a cache holds."""
    rate, weight, capacity = problem(10**6)
    print()
    for level, name in enumerate(("portable", "AVX2", "AVX-512")):
        if core.use_level(level) == level:
            seconds = best(lambda: solve_nefk(criteria.Freshness(rate), capacity, weights=weight), 3)
            each = ", ".join(f"{what} {ns:.2f}" for what, ns in passes_in_a_cache(32768).items())
            print(f"{name:10s} {seconds * 1e3:.1f} ms; ns an item: {each}")
    core.use_level(2)


def passes_in_a_cache(n):
    """Nanoseconds an item of each kind of pass, on one thread."""
    rate, weight, _ = problem(n)
    items = core.Items(core.FRESHNESS, *map(core.Column, (rate, weight, 0.0, np.inf)), 1e250)
    price, amounts, rough = 0.85, np.empty(n), np.empty(n, np.intp)
    kinds = {
        "amounts and slopes": lambda: core.respond(items, core.Column(price), 0, n),
        "series": lambda: core.expand(items, price, 3e-3, 1e-8, 0, n, rough),
        "amounts and checks": lambda: core.settle(items, price, price, 0.0, 0, n, amounts, None, None),
    }
    return {what: best(call, 100) / n * 1e9 for what, call in kinds.items()}
