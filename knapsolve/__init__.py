"""How often should each of many things be polled, when capacity is limited and what they do is unknown?"""

from knapsolve import datasets, environments
from knapsolve.exceptions import InfeasibleError
from knapsolve.learners import (
    HTRAA,
    LAKG,
    EstimatorPolicy,
    LSPEWhittle,
    OptimalPolicy,
    PlugInWhittle,
    ProportionalPolicy,
    UniformPolicy,
    traa_stationary_distribution,
)
from knapsolve.restless import WhittlePolicy, whittle_index
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
    "LSPEWhittle",
    "OptimalPolicy",
    "PlugInWhittle",
    "ProportionalPolicy",
    "RandomScheduler",
    "UniformPolicy",
    "WhittlePolicy",
    "__version__",
    "datasets",
    "environments",
    "simulate",
    "traa_stationary_distribution",
    "whittle_index",
]
