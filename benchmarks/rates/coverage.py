"""How often intervals of pooled rates hold the rate: `python benchmarks/rates/coverage.py`.

Few items say little of the prior that they share; intervals must be none the narrower for it.
"""

from __future__ import annotations

import sys

import numpy as np

from knapsolve import ChangeRateEstimator

LEVELS = (0.5, 0.9, 0.95)
ITEMS = (1, 2, 5, 10, 30, 100, 256, 1000)
SETTINGS = ((5, 1.0), (20, 1.0), (10, 0.1), (10, 5.0), (10, 300.0))  # polls of an item, mean of the gaps between them
RATES = {  # of items, of mean 1
    "equal": lambda rng, n: np.ones(n),
    "Gamma, shape 4": lambda rng, n: rng.gamma(4.0, 1 / 4, n),
    "Gamma, shape 1": lambda rng, n: rng.gamma(1.0, 1.0, n),
    "lognormal, sigma 1": lambda rng, n: rng.lognormal(-0.5, 1.0, n),
}
INTERVALS = 1000  # of each cell, from 3 logs on


def coverage(draw, n: int, polls: int, gap: float) -> np.ndarray:
    """Share of intervals that hold the rate, by level; gaps are exponential."""
    covered = []
    for run in range(max(3, INTERVALS // n)):
        rng = np.random.default_rng([run, n, polls])
        rates, items, gaps = draw(rng, n), np.tile(np.arange(n), polls), rng.exponential(gap, n * polls)
        changed = rng.random(n * polls) < -np.expm1(-rates[items] * gaps)
        fitted = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed)
        ends = [fitted.rate_interval(level).T for level in LEVELS]
        covered.append([((low <= rates) & (rates <= high)).mean() for low, high in ends])
    return np.mean(covered, axis=0)


def main() -> None:
    print("rates".ljust(20), "polls", "  gap", "items", *(f"{level:.0%}".rjust(6) for level in LEVELS))
    for name, draw in RATES.items():
        for polls, gap in SETTINGS:
            for n in ITEMS:
                shares = (f"{share:.3f}".rjust(6) for share in coverage(draw, n, polls, gap))
                print(name.ljust(20), str(polls).rjust(5), f"{gap:g}".rjust(5), str(n).rjust(5), *shares, flush=True)


if __name__ == "__main__":
    sys.exit(main())
