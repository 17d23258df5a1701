"""Online allocators: scikit-learn estimators whose `allocate` says how often to poll what."""

from knapsolve.learners.gpoks import GPOKS
from knapsolve.learners.htraa import HTRAA, traa_stationary_distribution
from knapsolve.learners.lakg import LAKG
from knapsolve.learners.lspe_whittle import LSPEWhittle
from knapsolve.learners.plug_in_whittle import PlugInWhittle
from knapsolve.learners.policies import EstimatorPolicy, OptimalPolicy, ProportionalPolicy, UniformPolicy
from knapsolve.learners.robot_controller import RobotController

__all__ = [
    "GPOKS",
    "HTRAA",
    "LAKG",
    "EstimatorPolicy",
    "LSPEWhittle",
    "OptimalPolicy",
    "PlugInWhittle",
    "ProportionalPolicy",
    "RobotController",
    "UniformPolicy",
    "traa_stationary_distribution",
]
