"""How often intervals of pooled rates hold the rate: `python benchmarks/rates/coverage.py`.

Few items say little of the prior that they share; intervals must be none the narrower for it.
"""

from __future__ import annotations

import sys

import numpy as np

from knapsolve import ChangeRateEstimator

LEVELS = (0.5, 0.9, 0.95)
ITEMS = (1, 2, 5, 10, 30, 100, 256, 1000)
# polls of an item, mean of the gaps between them
SETTINGS = ((1, 1.0), (5, 1.0), (20, 1.0), (10, 0.1), (10, 5.0), (10, 300.0))
RATES = {  # of items, of mean 1
    "equal": lambda rng, n: np.ones(n),
    "Gamma, shape 4": lambda rng, n: rng.gamma(4.0, 1 / 4, n),
    "Gamma, shape 1": lambda rng, n: rng.gamma(1.0, 1.0, n),
    "lognormal, sigma 1": lambda rng, n: rng.lognormal(-0.5, 1.0, n),
    "half .1, half 1.9": lambda rng, n: rng.choice([0.1, 1.9], n),
}
INTERVALS = 500  # of each cell, from 3 logs on


def coverage(draw, n: int, polls: int, gap: float) -> np.ndarray:
    """Share of intervals that hold the rate, by level: of items polled, and of others; gaps are exponential."""
    covered = []
    for run in range(max(3, INTERVALS // n)):
        rng = np.random.default_rng([run, n, polls])
        rates, items, gaps = draw(rng, n), np.tile(np.arange(n), polls), rng.exponential(gap, n * polls)
        changed = rng.random(n * polls) < -np.expm1(-rates[items] * gaps)
        X = np.column_stack([np.append(items, n), np.append(gaps, 0.0)])  # of the last item nothing is told
        fitted = ChangeRateEstimator().fit(X, np.append(changed, 0))
        ends, others = [fitted.rate_interval(level) for level in LEVELS], draw(rng, n)
        known = [((each[:-1, 0] <= rates) & (rates <= each[:-1, 1])).mean() for each in ends]
        covered.append(known + [((each[-1, 0] <= others) & (others <= each[-1, 1])).mean() for each in ends])
    return np.mean(covered, axis=0)


def main() -> None:
    levels = [f"{level:.0%}".rjust(6) for level in LEVELS]
    print("rates".ljust(20), "polls", "  gap", "items", *levels, " not polled", *levels)
    for name, draw in RATES.items():
        for polls, gap in SETTINGS:
            for n in ITEMS:
                shares = [f"{share:.3f}".rjust(6) for share in coverage(draw, n, polls, gap)]
                cell = name.ljust(20), str(polls).rjust(5), f"{gap:g}".rjust(5), str(n).rjust(5)
                print(*cell, *shares[:3], " " * 11, *shares[3:], flush=True)


if __name__ == "__main__":
    sys.exit(main())
