"""Linear and nearly linear items beside sorting, and in groups beside none.

    python -m pytest benchmarks/nefk/test_linear_speed.py -s --benchmark-disable
"""

import time
from functools import partial

import numpy as np
import pytest
from nefk_timing import best

from knapsolve import criteria, solve_nefk


def linear_items(n, seed=1):
    """Weights, upper bounds, and a capacity that serves three tenths of the items or so."""
    generator = np.random.default_rng(seed)
    return generator.lognormal(0, 1, n), generator.uniform(0.5, 1.5, n), 0.3 * n


def serve(order, upper, left):
    """Amounts of items served in an order, as much as is left."""
    amounts = np.empty(order.size)
    before = np.cumsum(upper[order]) - upper[order]
    amounts[order] = np.clip(left - before, 0.0, upper[order])
    return amounts


def serve_by_weight(weights, upper, capacity):
    return serve(np.argsort(-weights), upper, capacity)


def by_sorting(weights, upper, capacity, groups, caps):
    """The same answer in numpy: by weight within each group, then by weight over all."""
    order = np.lexsort((-weights, groups))
    first = np.searchsorted(groups[order], np.arange(caps.size))
    taken = np.cumsum(upper[order]) - upper[order]
    left, bounds = np.append(caps, np.inf)[groups[order]], np.empty(order.size)
    start = np.append(taken, taken[-1])[first]
    bounds[order] = np.clip(left - (taken - np.append(start, 0.0)[groups[order]]), 0.0, upper[order])
    return serve_by_weight(weights, bounds, capacity)


@pytest.mark.parametrize("curvature", [0.0, 1e-9, 1e-3])
def test_linear_items_beside_sorting(curvature):
    """The rival sorts, and is for linear items alone."""
    print()
    for n in (10**3, 10**4, 6 * 10**4, 10**5, 10**6):
        weights, upper, capacity = linear_items(n)
        run = partial(
            solve_nefk, criteria.Quadratic(curvature), capacity, weights=weights, upper=upper, equality=True, n_jobs=1
        )
        ours, theirs = best(run, 9), best(partial(serve_by_weight, weights, upper, capacity), 9)
        result = run()
        assert result.residual <= 1e-12
        if not curvature:
            value = float(weights @ serve_by_weight(weights, upper, capacity))
            assert result.value == pytest.approx(value, rel=1e-12)
        print(
            f"curvature {curvature:g}, n = {n:.0e}: {ours / n * 1e9:6.1f} ns an item, {result.n_passes} passes; "
            f"sorting in numpy {theirs / n * 1e9:6.1f} ns"
        )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("n_groups", [1000, 10_000, 100_000, 500_000])
def test_groups_of_linear_items_beside_none(n_groups, seed):
    """Caps that bind nowhere, for half of the groups, and everywhere; processor time of one thread."""
    n = 10**6
    weights, upper, capacity = linear_items(n, seed)
    generator = np.random.default_rng([seed, n_groups])
    groups = np.where(generator.random(n) < 0.02, -1, generator.integers(0, n_groups, n))
    options = {"weights": weights, "upper": upper, "n_jobs": 1}
    plain = partial(solve_nefk, criteria.Linear(), capacity, **options)
    free = np.bincount(groups + 1, plain().amounts, n_groups + 1)[1:] + 1e-9
    few, said = generator.uniform(0.3, 0.9, n_groups), []
    half = np.where(generator.random(n_groups) < 0.5, few, 50.0)
    for what, shares in (("loose", 1.0 + few), ("half tight", half), ("tight", few)):
        caps = shares * free
        run = partial(plain, groups=groups, group_caps=caps, equality=False)
        alone, together = np.inf, np.inf
        for _ in range(4):
            alone = min(alone, best(plain, 1, time.process_time))
            together = min(together, best(run, 1, time.process_time))
        result = run()
        sorting = best(lambda caps=caps: by_sorting(weights, upper, capacity, groups, caps), 1, time.process_time)
        value = float(weights @ by_sorting(weights, upper, capacity, groups, caps))
        assert result.value == pytest.approx(value, rel=1e-10)
        said.append(f"{what} {together / alone:.1f} ({result.n_passes}; sorting {sorting / alone:.0f})")
    what = f"{n_groups} groups, seed {seed}: times none (passes; numpy)"
    print(f"\n{what}, plain {alone / n * 1e9:.0f} ns: " + ", ".join(said))
