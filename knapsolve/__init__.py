"""How often should each of many things be polled, when capacity is limited and what they do is unknown?"""

from knapsolve import _startup, criteria, datasets, environments, mdp
from knapsolve.exceptions import InfeasibleError
from knapsolve.learners import (
    GPOKS,
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EstimatorPolicy,
    LSPEWhittle,
    OptimalPolicy,
    PlugInWhittle,
    ProportionalPolicy,
    RateAllocator,
    RenewalIndexPolicy,
    RobotController,
    UniformPolicy,
    traa_stationary_distribution,
)
from knapsolve.nefk import NEFKResult, solve_nefk
from knapsolve.rates import ChangeRateEstimator
from knapsolve.restless import WhittlePolicy, whittle_index
from knapsolve.robots import RobotControl, mm1k_cost, optimal_load, optimal_robots, solve_robot_control
from knapsolve.schedulers import EDFScheduler, RandomScheduler
from knapsolve.simulation import History, simulate

__version__ = "0.1.0"

__all__ = [
    "GPOKS",
    "HTRAA",
    "LAKG",
    "AdaptiveIntervalPolicy",
    "ChangeRateEstimator",
    "EDFScheduler",
    "EstimatorPolicy",
    "History",
    "InfeasibleError",
    "LSPEWhittle",
    "NEFKResult",
    "OptimalPolicy",
    "PlugInWhittle",
    "ProportionalPolicy",
    "RandomScheduler",
    "RateAllocator",
    "RenewalIndexPolicy",
    "RobotControl",
    "RobotController",
    "UniformPolicy",
    "WhittlePolicy",
    "__version__",
    "criteria",
    "datasets",
    "environments",
    "mdp",
    "mm1k_cost",
    "optimal_load",
    "optimal_robots",
    "simulate",
    "solve_nefk",
    "solve_robot_control",
    "traa_stationary_distribution",
    "whittle_index",
]

_startup.end()
