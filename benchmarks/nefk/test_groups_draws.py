"""Groups beside the same problem without, over problems by chance: how much more they take, and how often.

Run with `pytest benchmarks/nefk/test_groups_draws.py -s --benchmark-disable`; processor time of one thread.
"""

import time
from functools import partial

import numpy as np
import pytest
from nefk_timing import best_of_each

from knapsolve import criteria, solve_nefk

DRAWS, REPEATS = 100, 3
FAMILIES = {
    "freshness, detection": [criteria.Freshness, criteria.Freshness, criteria.Detection],
    "others": [
        *(criteria.PoissonFreshness, criteria.Harmonic, criteria.Logarithmic),
        lambda scales: criteria.Exponential(1.0 / scales),
    ],
}
KINDS = ["all alike", "but for 1%", "but for 10%", "of few classes", "in proportion", "all different"]


def draw(kind, family, seed):
    """A criterion, capacity, weights, groups, caps and equality: hosts even or not, of two to a thousand pages in the
    mean, capacities of .0001 to 10 times the rates, one cap for all, by size or by chance, .8 to 20 times that in all.
    """
    generator = np.random.default_rng(seed)
    n = int(np.exp(generator.uniform(np.log(70_000), np.log(200_000))))
    hosts = n // int(generator.choice([2, 3, 5, 10, 30, 100, 1000]))
    size = generator.choice(["even", "1 / k", "Pareto"])
    shares = {"even": np.ones(hosts), "1 / k": 1.0 / np.arange(1.0, hosts + 1)}
    shares = shares.get(size, 1.0 + generator.pareto(1.1, hosts))
    groups = np.unique(generator.choice(hosts, n, p=shares / shares.sum()), return_inverse=True)[1]
    if generator.random() < 0.5:
        groups = np.sort(groups)
    hosts = groups.max() + 1
    rate, weight = np.exp(generator.normal(0.0, 2.0, hosts)), generator.integers(1, 11, hosts).astype(float)
    rates, weights = rate[groups], weight[groups]
    if kind.startswith("but for"):
        odd = generator.random(n) < (0.01 if kind == "but for 1%" else 0.1)
        rates[odd] = np.exp(generator.normal(0.0, 2.0, odd.sum()))
    elif kind == "of few classes":
        which = generator.integers(generator.integers(1, 8), size=n)
        rates, weights = np.exp(generator.normal(0.0, 2.0, 8))[which], generator.integers(1, 11, 8)[which].astype(float)
    elif kind == "all different":
        rates, weights = np.exp(generator.normal(0.0, 2.0, n)), np.exp(generator.standard_normal(n))
    elif kind == "in proportion":
        rates = np.exp(generator.normal(0.0, 1.5, n))
        weights = rates * rate[groups]
    criterion = generator.choice(FAMILIES[family])(rates)
    capacity = 10.0 ** generator.uniform(-4.0, 1.0) * rates.sum()
    over = generator.choice([0.8, 0.95, 1.02, 1.1, 1.5, 2.0, 5.0, 20.0])
    sizes = np.bincount(groups).astype(float)
    caps = [np.ones(hosts), sizes, sizes * np.exp(generator.standard_normal(hosts))][generator.integers(3)]
    return criterion, capacity, weights, groups, caps * (over * capacity / caps.sum()), bool(over >= 1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_of_hosts_beside_none(family, kind):
    """Rates and weights within a host: all alike, but for some, of few classes, in proportion to each other."""
    ratios, passes = [], []
    for seed in range(DRAWS):
        criterion, capacity, weights, groups, caps, equality = draw(kind, family, seed)
        alone = partial(solve_nefk, criterion, capacity, weights=weights, n_jobs=1)
        capped = partial(alone, groups=groups, group_caps=caps, equality=equality)
        base, seconds = best_of_each([alone, capped], REPEATS, time.process_time)
        result = capped()
        assert result.residual <= 1e-12
        ratios.append(seconds / base)
        passes.append(result.n_passes)
    quantiles = ", ".join(f"{np.quantile(ratios, q):.2f}" for q in (0.5, 0.9, 0.99, 1.0))
    most = f"at most {max(passes)} passes"
    print(f"\n{family}, {kind}: {quantiles} times none in half, 90%, 99% and all of {DRAWS} draws; {most}")
