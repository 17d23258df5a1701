"""Service times of the indexing engine, as the embedded chain of the M/G/1/K queue needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammainc
from scipy.stats import nbinom

from knapsolve._validation import check_real

PANEL_NODES = 20
MOST_NODES = 1_000_000


@dataclass(frozen=True)
class ErlangMixture:
    """A service time that is Erlang(stages[i], mean[i] / stages[i]) with probability weights[i].

    A stage count of infinity is a constant time.
    """

    stages: tuple[float, ...]
    means: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean service time."""
        return float(np.dot(self.weights, self.means))

    def overflow(self, rate: float, size: int) -> np.ndarray:
        """P(more than k arrivals during one service) for k < size: a negative binomial tail for each part."""
        k = np.arange(size)
        total = np.zeros(size)
        for stages, mean, weight in zip(self.stages, self.means, self.weights, strict=True):
            if np.isinf(stages):
                total += weight * gammainc(k + 1.0, rate * mean)
            else:
                total += weight * nbinom.sf(k, stages, stages / (stages + rate * mean))
        return total


@dataclass(frozen=True, eq=False)
class QuadratureService:
    """A service time on nodes: a discrete one as it is, a continuous one by quadrature between quantiles."""

    nodes: np.ndarray
    weights: np.ndarray
    mean: float

    def overflow(self, rate: float, size: int) -> np.ndarray:
        """P(more than k arrivals during one service) for k < size."""
        total = np.zeros(size)
        for first in range(0, size, 256):
            k = np.arange(first, min(first + 256, size))
            total[k] = gammainc(k[:, None] + 1.0, rate * self.nodes) @ self.weights
        return total


def from_moments(mean: float, squared_variation: float) -> ErlangMixture:
    """The usual two-moment fit: constant, two Erlangs with one stage mean, or two balanced exponentials.

    References
    ----------
    H. C. Tijms, "A First Course in Stochastic Models", 2003, Appendix B.
    """
    c2 = squared_variation
    if c2 < 1e-9:  # more stages than can be told from a constant
        return ErlangMixture((np.inf,), (mean,), (1.0,))
    if c2 == 1.0:
        return ErlangMixture((1.0,), (mean,), (1.0,))
    if c2 > 1.0:
        p = 0.5 * (1.0 + np.sqrt((c2 - 1.0) / (c2 + 1.0)))
        return ErlangMixture((1.0, 1.0), (0.5 * mean / p, 0.5 * mean / (1.0 - p)), (p, 1.0 - p))
    k = np.floor(1.0 / c2) + 1.0  # 1 / k <= c2 <= 1 / (k - 1)
    p = (k * c2 - np.sqrt(max(k * (1.0 + c2) - k * k * c2, 0.0))) / (1.0 + c2)
    stage = mean / (k - p)
    return ErlangMixture((k - 1.0, k), ((k - 1.0) * stage, k * stage), (p, 1.0 - p))


def from_distribution(service: Any) -> QuadratureService:
    """Nodes and weights of a frozen scipy.stats distribution of positive times."""
    low, high = service.support()
    if not low >= 0.0:
        raise ValueError(f"service must be a distribution of non-negative times, got support [{low}, {high}]")
    mean = float(service.mean())
    if not 0.0 < mean < np.inf:
        raise ValueError(f"service must have a positive finite mean, got {mean!r}")
    if hasattr(service, "pmf"):
        last = min(high, float(service.isf(1e-14)))
        if not last - low < MOST_NODES:
            raise ValueError(f"service must take fewer than {MOST_NODES} values, got them up to {last}")
        nodes = np.arange(low, last + 1.0)
        weights = service.pmf(nodes)
    else:
        tail = np.geomspace(1e-16, 0.02, 30)
        edges = np.concatenate([service.ppf(tail), service.ppf(np.linspace(0.04, 0.96, 24)), service.isf(tail[::-1])])
        edges = np.unique(np.concatenate([[low], edges[np.isfinite(edges)], [high] if np.isfinite(high) else []]))
        points, shares = np.polynomial.legendre.leggauss(PANEL_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        nodes = (0.5 * (edges[:-1] + edges[1:])[:, None] + half * points).ravel()
        density = service.pdf(nodes)  # infinite where a node rounds to a pole at the end of the support
        weights = (half * shares).ravel() * np.where(np.isfinite(density), density, 0.0)
    mass = float(weights.sum())
    if not abs(mass - 1.0) < 1e-6:
        raise ValueError(f"service must have a density that integrates to 1, got {mass!r} by quadrature")
    return QuadratureService(nodes, weights / mass, mean)


def check_service(service: Any) -> ErlangMixture | QuadratureService:
    """The service time that (mean, squared coefficient of variation) or a frozen distribution describes."""
    if hasattr(service, "support") and hasattr(service, "isf"):
        return from_distribution(service)
    if not isinstance(service, (tuple, list)) or len(service) != 2:
        raise TypeError(
            "service must be (mean, squared coefficient of variation) or a frozen scipy.stats distribution, "
            f"got {service!r}"
        )
    mean = check_real("service[0]", service[0], low=0.0, low_open=True)
    return from_moments(mean, check_real("service[1]", service[1], low=0.0, high=1e6))
