"""Censored maximum likelihood: a poll only tells whether there was any change since the one before."""

from __future__ import annotations

import numpy as np

PRIOR_CHANGES = 0.5  # weight of the pooled rate in each material's estimate, in changes
MAX_STEPS = 100


def censored_rates(materials: np.ndarray, elapsed: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """Change rate of each material, smoothed towards the pooled rate.

    Solves, for each material, ``sum_changed e / (exp(L e) - 1) + a / L = sum_unchanged e + a / P`` with the
    pooled rate P (the same equation over all polls, a tenth of it as safe prior) and ``a = PRIOR_CHANGES``.

    Parameters
    ----------
    materials : ndarray of shape (n_polls,), intp
        Material of each poll, 0..n-1.
    elapsed : ndarray of shape (n_polls,)
        Time since that material's previous poll.
    changed : ndarray of shape (n_polls,), int8
        1 where a change was found.
    n : int
        Number of materials.

    Returns
    -------
    rates : ndarray of shape (n,)
        Changes per unit of time, positive and finite; the pooled rate for a material without polls.

    References
    ----------
    Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003.
    """
    total = float(elapsed.sum())
    if total <= 0:
        return np.ones(n)
    nowhere = np.zeros(elapsed.size, dtype=np.intp)
    pooled = _solve(
        nowhere, elapsed, changed, 1, PRIOR_CHANGES, np.array([PRIOR_CHANGES * total / elapsed.size])
    )
    return _solve(materials, elapsed, changed, n, PRIOR_CHANGES, np.full(n, PRIOR_CHANGES / pooled[0]))


def _solve(
    materials: np.ndarray,
    elapsed: np.ndarray,
    changed: np.ndarray,
    n: int,
    prior_changes: float,
    prior_time: np.ndarray,
) -> np.ndarray:
    """Newton on h(L) = sum_changed u/(exp(u)-1) + a - L (T + b), u = L e, T the unchanged time.

    h is convex and decreasing, so that Newton from L = 0 rises to the root without passing it.
    """
    hit = changed.astype(bool)
    who, gap = materials[hit], elapsed[hit]
    quiet = np.bincount(materials[~hit], weights=elapsed[~hit], minlength=n) + prior_time
    rate = np.zeros(n)
    for _ in range(MAX_STEPS):
        u = rate[who] * gap
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            term = np.where(u < 1e-8, 1 - u / 2, u / np.expm1(u))
            slope = np.where(u < 1e-4, -0.5 + u / 6, (term * (1 - u) - term * term) / u)  # d term / d u
        term, slope = np.nan_to_num(term), np.nan_to_num(slope)
        value = np.bincount(who, weights=term, minlength=n) + prior_changes - rate * quiet
        change = value / (quiet - np.bincount(who, weights=slope * gap, minlength=n))
        rate = rate + change
        if (change <= 1e-13 * rate).all():
            break
    return rate
