"""Censored maximum likelihood: a poll only tells whether there was any change since the one before."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

PRIOR_CHANGES = 0.5  # weight of the pooled rate in each material's estimate, in changes
MAX_STEPS = 100
TOLERANCE = 1e-9  # relative; a step that is still larger at the last one is worth a warning


def censored_rates(materials: np.ndarray, elapsed: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """Change rate of each material, smoothed towards the pooled rate.

    Solves, for each material, ``sum_changed e / (exp(L e) - 1) + a / L = sum_unchanged e + a / P`` with the
    pooled rate P and ``a = PRIOR_CHANGES``. P solves the same equation over all polls, with ``a`` times the
    mean elapsed time in place of ``a / P``. Times are scaled by a power of two first: results do not depend on
    their unit, and sums do not overflow.

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

    Raises
    ------
    ValueError
        If the rates are too large or too small for a float, as the elapsed times are in their unit.

    References
    ----------
    Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003.
    """
    longest = float(elapsed.max(initial=0.0))
    if longest <= 0:
        return np.ones(n)
    exponent = int(np.frexp(longest)[1])
    elapsed = np.ldexp(elapsed, -exponent)
    total = float(elapsed.sum())
    nowhere = np.zeros(elapsed.size, dtype=np.intp)
    pooled = _solve(
        nowhere, elapsed, changed, 1, PRIOR_CHANGES, np.array([PRIOR_CHANGES * total / elapsed.size])
    )
    prior_time = np.full(n, PRIOR_CHANGES / pooled[0])
    with np.errstate(over="ignore", under="ignore"):
        rates = np.ldexp(_solve(materials, elapsed, changed, n, PRIOR_CHANGES, prior_time), -exponent)
    if not (np.isfinite(rates) & (rates > 0)).all():
        raise ValueError(
            f"elapsed makes change rates that no float can hold (its largest value is {longest:g}): "
            f"give it in another unit of time"
        )
    return rates


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
            return rate
    if not (abs(change) <= TOLERANCE * rate).all():
        warnings.warn(
            f"change rates have not converged after {MAX_STEPS} steps", ConvergenceWarning, stacklevel=4
        )
    return rate
