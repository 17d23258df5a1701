"""A Gaussian process on a grid of amounts, in as few features as its covariance needs.

The covariance K of m grid points is Phi Phi' with Phi = U sqrt(Lambda) over the eigenvalues above a tolerance: a
squared-exponential kernel of length 1 on 99 points needs 8. Curves are Phi w, w ~ N(0, I).
Reference: Rasmussen and Williams (2006), sections 2.1 and 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-13  # of the largest eigenvalue: what is left out is rounding
MOST_POINTS = 1024
MOST_SIGNAL = 1e12  # largest variance over the noise's: beyond it, rounding decides
LEAST_VARIANCE = 1e-12  # below it, what keeps curves from being flat is larger than they are


@dataclass(frozen=True)
class GridProcess:
    """`amounts` and `positions` (m,), `edges` between nearest amounts (m - 1,), `features` (r, m), `lift` (r,).

    `positions` is where the kernel sees the amounts, as shares of the capacity or their decimal logarithm; `lift`
    are the weights of a positive, strictly decreasing curve, zeros if there is none.
    """

    amounts: np.ndarray
    positions: np.ndarray
    edges: np.ndarray
    features: np.ndarray
    lift: np.ndarray


def default_kernel() -> Any:
    """The paper's kernel: squared-exponential, length 1, variance 1."""
    from sklearn.gaussian_process.kernels import RBF

    return RBF(1.0)


def make_grid_process(
    kernel: Any, n_points: int, scale: str, smallest: float, capacity: float, falling: bool, noise: float
) -> GridProcess:
    """The process with `kernel` on a "linear" or "log" grid between 0 (`smallest`) and the capacity.

    With `falling`, there must be a positive, strictly decreasing curve among its own.
    """
    if scale == "linear":
        shares = np.arange(1, n_points + 1) / (n_points + 1)
        positions, edges = shares, (np.arange(1, n_points) + 0.5) / (n_points + 1)
    else:
        positions = np.linspace(np.log10(smallest / capacity), 0.0, n_points)
        shares, edges = 10**positions, 10 ** (0.5 * (positions[1:] + positions[:-1]))
    features = kernel_features(kernel, positions, noise)
    lift = falling_weights(features)
    if falling:
        check_falls(kernel, lift)
    return GridProcess(shares * capacity, positions, edges * capacity, features, lift)


def check_falls(kernel: Any, lift: np.ndarray) -> None:
    """Raise if there is no positive, strictly decreasing curve."""
    if not lift.any():
        raise ValueError(
            f"kernel must have positive, decreasing curves among its own for such draws, got {kernel!r}: use "
            'draw="mean", or "thompson" with monotone=False'
        )


def kernel_features(kernel: Any, positions: np.ndarray, noise: float) -> np.ndarray:
    """Features (r, m) whose inner products are the kernel's covariances of the positions (m,)."""
    covariance = np.asarray(kernel(positions[:, None]), dtype=float)
    if covariance.shape != (positions.size, positions.size) or not np.isfinite(covariance).all():
        raise ValueError(f"kernel must give finite covariances of amounts, got {kernel!r}")
    largest = float(np.diagonal(covariance).max())
    if largest > MOST_SIGNAL * noise:
        raise ValueError(
            f"kernel must have variances of at most {MOST_SIGNAL:g} times the noise, got {largest:g} from {kernel!r} "
            f"with noise={noise:g}"
        )
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    kept = (values > TOLERANCE * values[-1]) & (values > 0)
    if kept.sum() < 2:
        raise ValueError(
            f"kernel must not be singular: {kernel!r} has a covariance of rank {kept.sum()} on the grid, and curves "
            "that differ need at least 2"
        )
    if largest < LEAST_VARIANCE:
        raise ValueError(f"kernel must have a variance of at least {LEAST_VARIANCE:g}, got {largest:g} from {kernel!r}")
    if values[0] < -1e-8 * values[-1]:
        raise ValueError(f"kernel must be positive semidefinite, got eigenvalue {values[0]:g} from {kernel!r}")
    features = vectors[:, kept] * np.sqrt(values[kept])
    return np.ascontiguousarray((features * _signs(features))[:, ::-1].T)


def _signs(features: np.ndarray) -> np.ndarray:
    """Factors that make the first of each column's largest entries positive: the solver's signs depend on the machine.

    On an even grid half the columns are odd, with two largest entries that rounding alone tells apart.
    """
    sizes = np.abs(features)
    first = (sizes >= 0.99 * sizes.max(axis=0)).argmax(axis=0)
    return np.sign(np.take_along_axis(features, first[None], axis=0))


def falling_weights(features: np.ndarray) -> np.ndarray:
    """Weights of the curve nearest to a line from 2 down to 1, (r,); zeros if it is not positive and falling."""
    lift = np.linalg.lstsq(features.T, np.linspace(2.0, 1.0, features.shape[1]), rcond=1e-6)[0]
    curve = features.T @ lift
    return lift if curve[-1] > 0.5 and (np.diff(curve) < 0).all() else np.zeros(lift.size)
