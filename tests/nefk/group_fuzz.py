"""Adversarial random problems with groups. As a script: `python tests/nefk/group_fuzz.py FIRST SECONDS`."""

import sys
import time

import numpy as np
from nefk_oracle import FAMILIES

from knapsolve import InfeasibleError, solve_nefk

NAMES = list(FAMILIES)
SIZES, PER_GROUP = (1, 2, 3, 5, 8, 20, 60, 300), (1, 2, 5)
MANY_SIZES, MANY_PER_GROUP = (500, 2000, 5000), (5, 150, 700, 2000)


def problem(seed, sizes=SIZES, per_group=PER_GROUP):
    """A criterion, a capacity and options: ties, rounded numbers, caps of 0, infinite ones, capacities at the edges."""
    generator = np.random.default_rng([77, seed])
    family = NAMES[generator.integers(len(NAMES))]
    n, spread = int(generator.choice(sizes)), generator.choice([0.0, 0.5, 2.0, 5.0])
    powers = family == "power"
    p = generator.uniform(0.02, 0.98, n) if powers else np.exp(spread * generator.standard_normal(n))
    w = np.exp(generator.choice([0.0, 1.0, 3.0]) * generator.standard_normal(n))
    if generator.random() < 0.3:
        w, p = np.round(4 * w) / 4 + 0.25, p if powers else np.round(2 * p) / 2 + 0.5
    n_groups = int(generator.integers(1, max(2, n // int(generator.choice(per_group))) + 1))
    groups, scale = generator.integers(-1, n_groups, n), 10 ** generator.uniform(-3, 3)
    low, high = np.zeros(n), np.full(n, np.inf)
    if generator.random() < 0.5:
        low = scale * generator.uniform(0, 0.2, n) * (generator.random(n) < 0.5)
    if generator.random() < 0.5:
        high = low + scale * np.exp(generator.standard_normal(n)) * (generator.random(n) < 0.95)
    inside = groups >= 0
    floor, roof, size = (np.bincount(groups[inside], x[inside], n_groups) for x in (low, high, np.ones(n)))
    caps = floor + scale * size * np.exp(2 * generator.standard_normal(n_groups)) * (generator.random(n_groups) < 0.9)
    caps = np.where(generator.random(n_groups) < 0.05, np.inf, caps)
    most = np.minimum(caps, roof).sum() + high[~inside].sum()
    share = generator.choice([1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0])
    room = most - low.sum() if np.isfinite(most) else scale * n * 10 ** generator.uniform(-2, 2)
    options = {"weights": w, "lower": low, "upper": high, "groups": groups, "group_caps": caps}
    return FAMILIES[family](p), low.sum() + share * room, options, bool(generator.random() < 0.8), share


def residual(seed, even=False, sizes=SIZES, per_group=PER_GROUP):
    """Residual of one problem; 0 where rounding makes an edge infeasible. `even`: bounds that all items share."""
    criterion, capacity, options, equality, share = problem(seed, sizes, per_group)
    if even:
        upper = float(np.median(options["upper"]))
        options |= {"lower": 0.0, "upper": upper if seed % 2 == 0 and np.isfinite(upper) else None}
    try:
        return solve_nefk(criterion, capacity, equality=equality, **options).residual
    except InfeasibleError:
        if share < 0.99 and not even:
            raise
        return 0.0


if __name__ == "__main__":
    seed, stop, bad = int(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
    first = seed
    while time.monotonic() < stop:
        found = residual(seed)
        if not found <= 1e-12:
            bad += 1
            print(seed, *problem(seed)[:2], found)
        seed += 1
    print(f"{seed - first} problems from {first}, {bad} with a residual above 1e-12")
