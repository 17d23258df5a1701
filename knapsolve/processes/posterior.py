"""What observations say of curves.

A curve is Phi' w with features Phi (r, m) and weights w ~ N(0, I). Observations, n_k at grid point k with sums s_k and
noise variance v, leave w ~ N(P^-1 b, P^-1), with precision P = I + Phi diag(n) Phi' / v and information b = Phi s / v.
Reference: Rasmussen and Williams (2006), section 2.1.
"""

from __future__ import annotations

import numpy as np

from knapsolve.processes.grid import GridProcess


def posterior_sums(
    features: np.ndarray, counts: np.ndarray, sums: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Precision (n, r, r) and information (n, r) of every material's weights."""
    precision = np.einsum("ak,ik,bk->iab", features, counts / noise, features, optimize=True)
    precision += np.eye(features.shape[0])
    return precision, sums @ features.T / noise


def posterior_at(
    process: GridProcess, counts: np.ndarray, sums: np.ndarray, noise: float, materials: np.ndarray, amounts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (k,) of the curves of `materials` (k,) at `amounts` (k,), linear between grid points.

    Counts and sums are (n, m); a material of n and more has the prior.
    """
    features = np.array([np.interp(amounts, process.amounts, row) for row in process.features])
    mean, variance = np.zeros(amounts.size), (features**2).sum(axis=0)
    for i in np.unique(materials[materials < counts.shape[0]]):
        precision, information = posterior_sums(process.features, counts[i : i + 1], sums[i : i + 1], noise)
        here = materials == i
        factor = np.linalg.cholesky(precision[0])
        white = np.linalg.solve(factor, features[:, here])
        mean[here] = np.linalg.solve(factor, information[0]) @ white
        variance[here] = (white**2).sum(axis=0)
    return mean, variance
