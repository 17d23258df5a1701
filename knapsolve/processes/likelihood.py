"""Hyperparameters of a grid process by marginal likelihood, from counts and sums alone.

Observations y of material i at grid points, n_k times each with sums s_k and squares adding up to q, have
    -2 ln p(y) = q / v - b' P^-1 b + N ln v + ln |P| + N ln 2 pi,  P = I + Phi' diag(n) Phi / v,  b = Phi' s / v
with noise variance v: the cost does not grow with their number.
Reference: Rasmussen and Williams (2006), equation 5.8 with the matrix inversion and determinant lemmas.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from knapsolve.processes.grid import kernel_features
from knapsolve.processes.posterior import posterior_sums

NOISE_BOUNDS = (1e-5, 1e2)


def log_likelihood(
    features: np.ndarray, counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, noise: float
) -> float:
    """Log marginal likelihood of all materials' observations, which are independent."""
    precision, information = posterior_sums(features, counts, sums, noise)
    factor = np.linalg.cholesky(precision)
    explained = np.linalg.solve(factor, information[..., None])
    n_seen = counts.sum()
    determinant = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum()
    fit = squares.sum() / noise - float((explained**2).sum())
    return float(-0.5 * (fit + determinant + n_seen * np.log(2 * np.pi * noise)))


def fit_hyperparameters(
    kernel: Any, noise: float, positions: np.ndarray, counts: np.ndarray, sums: np.ndarray, squares: np.ndarray
) -> tuple[Any, float]:
    """The kernel and noise variance of largest likelihood that a search from the given ones finds."""

    def objective(theta: np.ndarray) -> float:
        try:
            variance = float(np.exp(theta[-1]))
            features = kernel_features(kernel.clone_with_theta(theta[:-1]), positions, variance)
            return -log_likelihood(features, counts, sums, squares, variance)
        except (ValueError, np.linalg.LinAlgError):
            return 1e25

    seen = counts.sum(axis=1) > 0
    counts, sums, squares = counts[seen], sums[seen], squares[seen]
    bounds = np.vstack([np.reshape(kernel.bounds, (-1, 2)), np.log(NOISE_BOUNDS)])
    start = np.clip(np.append(kernel.theta, np.log(noise)), bounds[:, 0], bounds[:, 1])
    found = minimize(objective, start, method="L-BFGS-B", bounds=bounds)
    if not np.isfinite(found.fun) or found.fun >= 1e25:
        warnings.warn(f"no likelihood could be found for {kernel!r}: kept", ConvergenceWarning, stacklevel=2)
        return kernel, noise
    return kernel.clone_with_theta(found.x[:-1]), float(np.exp(found.x[-1]))
