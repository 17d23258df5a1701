"""Online allocators: scikit-learn estimators whose `allocate` says how often to poll what."""

from knapsolve.learners.htraa import HTRAA, traa_stationary_distribution
from knapsolve.learners.lakg import LAKG
from knapsolve.learners.policies import EstimatorPolicy, OptimalPolicy, ProportionalPolicy, UniformPolicy

__all__ = [
    "HTRAA",
    "LAKG",
    "EstimatorPolicy",
    "OptimalPolicy",
    "ProportionalPolicy",
    "UniformPolicy",
    "traa_stationary_distribution",
]
