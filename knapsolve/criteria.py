"""What a poll is worth: the criteria that the deterministic knapsack maximises."""

from knapsolve.nefk.criteria import (
    Detection,
    Exponential,
    Freshness,
    Harmonic,
    Linear,
    Logarithmic,
    PoissonFreshness,
    Power,
    Quadratic,
)
from knapsolve.nefk.from_derivative import FromDerivative
from knapsolve.nefk.tabulated import Tabulated

__all__ = [
    "Detection",
    "Exponential",
    "Freshness",
    "FromDerivative",
    "Harmonic",
    "Linear",
    "Logarithmic",
    "PoissonFreshness",
    "Power",
    "Quadratic",
    "Tabulated",
]
