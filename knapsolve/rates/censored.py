"""Censored maximum likelihood: a poll only tells whether there was any change since the one before."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from knapsolve._core.censored import Grouped

PRIOR_CHANGES = 0.5  # weight of the pooled rate in each material's estimate, in changes
MAX_STEPS = 100
TOLERANCE = 1e-9  # relative; a step that is still larger at the last one is worth a warning


def censored_rates(
    materials: np.ndarray, elapsed: np.ndarray, changed: np.ndarray, n: int, prior: float = PRIOR_CHANGES
) -> np.ndarray:
    """Change rate of each material, smoothed towards the pooled rate.

    Solves, for each material, ``sum_changed e / (exp(L e) - 1) + a / L = sum_unchanged e + a / P`` with the
    pooled rate P and a the `prior`. P solves the same equation over all polls, with ``a`` times the
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
    prior : float, default=0.5
        Weight of the pooled rate in each material's, in changes.

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
    exponent = scale_of(elapsed)
    if exponent is None:
        return np.ones(n)
    scaled = np.ldexp(elapsed, -exponent)
    everything = Grouped(1, np.zeros(elapsed.size, dtype=np.int32), scaled, changed)
    pooled = solved(everything, prior, prior * float(scaled.mean()))[0]
    items = Grouped(n, np.ascontiguousarray(materials, dtype=np.int32), scaled, changed)
    rates = solved(items, prior, prior / pooled[0])[0]
    return unscaled(rates, exponent, elapsed)


def scale_of(elapsed: np.ndarray) -> int | None:
    """The power of two by which times (n,) are divided; None where no time passes."""
    longest = float(elapsed.max(initial=0.0))
    return int(np.frexp(longest)[1]) if longest > 0 else None


def unscaled(rates: np.ndarray, exponent: int, elapsed: np.ndarray) -> np.ndarray:
    """Rates in the unit of the log, or ValueError if no float can hold them."""
    with np.errstate(over="ignore", under="ignore"):
        rates = np.ldexp(rates, -exponent)
    if not (np.isfinite(rates) & (rates > 0)).all():
        raise ValueError(
            f"elapsed makes change rates that no float can hold (its largest value is {elapsed.max():g}): "
            f"give it in another unit of time"
        )
    return rates


def solved(items: Grouped, prior_changes: float, prior_time: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates and curvatures (n,), with a warning if they have not converged."""
    rates, curvatures, step = items.rates(prior_changes, prior_time, MAX_STEPS)
    if not step <= TOLERANCE:
        warnings.warn(f"change rates have not converged after {MAX_STEPS} steps", ConvergenceWarning, stacklevel=5)
    return rates, curvatures
