"""Upper bounds that hold much of the capacity, with groups, too: time over that without bounds.

Run with `pytest benchmarks/nefk -s --benchmark-disable -k bounds_speed`; processor time of one thread, least of several
in turns.
"""

import math
import time
from functools import partial
from itertools import product

import numpy as np
import pytest
from nefk_timing import best_of_each, problem

from knapsolve import criteria, solve_nefk
from knapsolve.nefk import single


@pytest.mark.parametrize("n", [50_000, 10**6])
@pytest.mark.parametrize("kind", ["Freshness", "Detection", "PoissonFreshness", "Logarithmic", "Exponential"])
def test_upper_bounds_beside_none(n, kind):
    """Bounds (lognormal) that sum to so many times the capacity, which is so large a share of n; four draws of each."""
    print()
    for share, over in product((0.3, 0.01), (1.02, 1.1, 1.3, 2.0, 10.0)):
        ratios, passes, millis, residual = [], [], [], 0.0
        for seed in range(4):
            rate, weight, _ = problem(n, seed)
            upper = np.exp(np.random.default_rng(seed + 100).standard_normal(n))
            upper *= over * share * n / upper.sum()
            solve = partial(
                solve_nefk, getattr(criteria, kind)(rate), share * n, weights=weight, n_jobs=1, out=np.empty(n)
            )
            seconds = best_of_each([solve, partial(solve, upper=upper)], 7, time.process_time)
            result = solve(upper=upper)
            ratios.append(seconds[1] / seconds[0])
            passes.append(result.n_passes)
            millis.append(seconds[1] * 1e3)
            residual = max(residual, result.residual)
        print(
            f"n = {n:.0e}, {kind}, capacity {share} n, bounds {over} times that: {np.mean(millis):.2f} ms, "
            f"{np.mean(ratios):.2f} +- {np.std(ratios, ddof=1) / 2.0:.2f}, at most {max(ratios):.2f} of none; "
            f"{np.mean(passes):.3g} passes, at most {max(passes)}, residual {residual:.0e}"
        )


@pytest.mark.parametrize("n", [50_000, 10**6])
def test_held_items_beside_passes_over_all(n, monkeypatch):
    """Few items start, or upper bounds sum to 1.02 times the capacity; beside searches by passes over all items."""
    print()
    for kind, share, over in product(
        ("Freshness", "Detection", "Logarithmic"), (0.3, 0.03, 0.01, 1e-3, 1e-4), (math.inf, 1.02)
    ):
        seconds, passes = [], []
        for seed in range(4):
            rate, weight, _ = problem(n, seed)
            upper = np.exp(np.random.default_rng(seed + 100).standard_normal(n))
            bounds = None if over == math.inf else upper * (over * share * n / upper.sum())
            solve = partial(
                solve_nefk, getattr(criteria, kind)(rate), share * n, weights=weight, upper=bounds, n_jobs=1, out=upper
            )

            def over_all(solve=solve):
                with monkeypatch.context() as patch:
                    patch.setattr(single, "solve_beside_held", lambda *_: None)
                    return solve()

            seconds.append(best_of_each([solve, over_all], 7, time.process_time))
            passes.append((solve().n_passes, over_all().n_passes))
        mine, plain = np.mean(seconds, axis=0) * 1e3
        few, many = np.max(passes, axis=0)
        print(
            f"n = {n:.0e}, {kind}, capacity {share:g} n, bounds {over} times that: {mine:.2f} ms, {mine / plain:.2f} "
            f"of passes over all; at most {few} passes, {many} over all"
        )


@pytest.mark.parametrize("n", [200_000, 10**6])
def test_bounds_and_caps_that_hold_beside_none(n):
    """Capacity is a share of the upper bounds; beside the same without groups and bounds, and with bounds alone."""
    print()
    for per_host, share, seed in product((2, 10, 50), (0.9, 0.98, 0.999), range(2)):
        rate, weight, _ = problem(n, seed)
        generator = np.random.default_rng(seed + 100)
        upper, hosts = np.exp(generator.standard_normal(n)), n // per_host
        groups = generator.integers(0, hosts, n)
        caps = np.bincount(groups, upper, hosts) * np.minimum(1.0, share * generator.uniform(1.0, 2.0, hosts))
        caps[caps == 0.0] = 1.0  # without items
        none = partial(
            solve_nefk, criteria.Freshness(rate), share * upper.sum(), weights=weight, n_jobs=1, out=np.empty(n)
        )
        bounded = partial(none, upper=upper)
        all_held = partial(bounded, groups=groups, group_caps=caps)
        seconds = best_of_each([none, bounded, all_held], 5, time.process_time)
        result = all_held()
        print(
            f"n = {n:.0e}, {per_host} items a host, {share} of the bounds: {seconds[2] * 1e3:.1f} ms, "
            f"{seconds[2] / seconds[0]:.2f} of none, {seconds[2] / seconds[1]:.2f} of bounds alone; "
            f"{result.n_passes} passes, residual {result.residual:.0e}"
        )
