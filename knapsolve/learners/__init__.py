"""Online allocators: scikit-learn estimators whose `allocate` says how often to poll what."""

from knapsolve.learners.adaptive import AdaptiveIntervalPolicy
from knapsolve.learners.estimator_policy import EstimatorPolicy
from knapsolve.learners.gpoks import GPOKS
from knapsolve.learners.htraa import HTRAA
from knapsolve.learners.lakg import LAKG
from knapsolve.learners.lspe_whittle import LSPEWhittle
from knapsolve.learners.plug_in_whittle import PlugInWhittle
from knapsolve.learners.policies import OptimalPolicy, ProportionalPolicy, UniformPolicy
from knapsolve.learners.rate_allocator import RateAllocator
from knapsolve.learners.renewal import RenewalIndexPolicy
from knapsolve.learners.robot_controller import RobotController
from knapsolve.learners.traa import traa_stationary_distribution
from knapsolve.learners.windowed import WindowedRatePolicy

__all__ = [
    "GPOKS",
    "HTRAA",
    "LAKG",
    "AdaptiveIntervalPolicy",
    "EstimatorPolicy",
    "LSPEWhittle",
    "OptimalPolicy",
    "PlugInWhittle",
    "ProportionalPolicy",
    "RateAllocator",
    "RenewalIndexPolicy",
    "RobotController",
    "UniformPolicy",
    "WindowedRatePolicy",
    "traa_stationary_distribution",
]
