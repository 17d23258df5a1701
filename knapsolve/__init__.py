"""How often should each of many things be polled, when capacity is limited and what they do is unknown?"""

from knapsolve import criteria, datasets, environments
from knapsolve.exceptions import InfeasibleError
from knapsolve.learners import (
    HTRAA,
    LAKG,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    UniformPolicy,
    traa_stationary_distribution,
)
from knapsolve.nefk import NEFKResult, solve_nefk
from knapsolve.schedulers import EDFScheduler, RandomScheduler
from knapsolve.simulation import History, simulate

__version__ = "0.1.0"

__all__ = [
    "HTRAA",
    "LAKG",
    "EDFScheduler",
    "EstimatorPolicy",
    "History",
    "InfeasibleError",
    "NEFKResult",
    "OptimalPolicy",
    "ProportionalPolicy",
    "RandomScheduler",
    "UniformPolicy",
    "__version__",
    "criteria",
    "datasets",
    "environments",
    "simulate",
    "solve_nefk",
    "traa_stationary_distribution",
]
