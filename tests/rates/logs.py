"""Simulated poll logs with known rates."""

import numpy as np


def poisson_log(n_polls, rates, seed=0):
    """Polls of random items after exponential gaps: X (n, 2), y, and the number and age of changes behind y."""
    rng = np.random.default_rng(seed)
    items = rng.integers(0, rates.size, n_polls)
    items[: min(rates.size, n_polls)] = np.arange(min(rates.size, n_polls))
    gaps = rng.exponential(1.0, n_polls)
    counts = rng.poisson(rates[items] * gaps)
    ages = np.where(counts > 0, gaps * (1 - rng.random(n_polls) ** (1 / np.maximum(counts, 1))), np.nan)
    return np.column_stack([items, gaps]), (counts > 0).astype(int), counts, ages


def gamma_rates(n, seed=0, shape=1.0):
    return np.random.default_rng([seed, n]).gamma(shape, 1 / shape, n)
