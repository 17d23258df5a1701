"""GPOKS in plain numpy: the posterior by counts and sums, draws by rejection, the market by bisection."""

import numpy as np
from scipy.optimize import brentq
from sklearn.isotonic import isotonic_regression

from tests.learners.cases import poll_log


def posterior(features, counts, sums, noise):
    """Mean (m,) and factor (m, r): f = mean + factor z, z ~ N(0, I)."""
    precision = np.eye(len(features)) + (features * counts) @ features.T / noise
    lower = np.linalg.cholesky(precision)
    mean = np.linalg.solve(precision, features @ sums / noise) @ features
    return mean, np.linalg.solve(lower, features).T


def admissible(mean, factor, n_draws, rng, optimistic=True, monotone=True):
    """Draws of f that are nowhere below the mean and nowhere rising, and the share that is."""
    above = rng.standard_normal((n_draws, factor.shape[1])) @ factor.T
    good = np.ones(n_draws, dtype=bool)
    if optimistic:
        good &= (above >= 0).all(axis=1)
    if monotone:
        good &= (np.diff(above + mean, axis=1) <= 0).all(axis=1)
    return above[good] + mean, good.mean()


def amounts_at(price, grid, curves):
    """Where each decreasing curve falls to the price."""
    return np.array([np.interp(-price, -curve, grid) for curve in curves])


def market(grid, curves, capacity):
    """The price at which amounts fill the capacity, by bisection."""
    low, high = curves.min(), curves.max()
    price = brentq(lambda p: amounts_at(p, grid, curves).sum() - capacity, low, high, xtol=1e-15, rtol=1e-14)
    return amounts_at(price, grid, curves), price


def mean_learner(X, y, process, noise, n, capacity):
    """What draw="mean" has learnt from a log: counts, sums, curves and amounts."""
    counts, sums = np.zeros((n, process.amounts.size)), np.zeros((n, process.amounts.size))
    for (material, elapsed), v in zip(X.tolist(), y.tolist()):
        k = int(np.argmin(np.abs(process.positions - position(1 / elapsed, process))))
        counts[int(material), k] += 1
        sums[int(material), k] += v
    means = [posterior(process.features, c, s, noise)[0] for c, s in zip(counts, sums)]
    curves = np.array([isotonic_regression(mean, increasing=False) for mean in means])
    return counts, sums, curves, market(process.amounts, curves - 1e-8 * np.arange(curves.shape[1]), capacity)[0]


def position(amount, process):
    linear = np.isclose(process.amounts[1] - process.amounts[0], process.amounts[-1] - process.amounts[-2])
    return amount if linear else np.log10(amount)


def situation(process, amounts, polls, seed, rate):
    """Counts and sums of polls spread about some amounts of a material of this change rate."""
    rng = np.random.default_rng(seed)
    x = np.clip(amounts + 0.15 * rng.standard_normal(polls) / np.sqrt(1 + polls / 20), 0.01, 0.99)
    k = np.abs(process.positions[:, None] - x).argmin(axis=0)
    v = rng.random(polls) < -np.expm1(-rate / x)
    counts = np.bincount(k, minlength=process.positions.size).astype(float)
    return counts, np.bincount(k, weights=v, minlength=process.positions.size)


__all__ = ["admissible", "market", "mean_learner", "poll_log", "posterior", "situation"]
