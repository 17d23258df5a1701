"""What a learner is let loose on."""

from knapsolve.environments.ephemeral import EphemeralEnvironment
from knapsolve.environments.rates import BernoulliEnvironment, PollingEnvironment
from knapsolve.environments.trace import TraceEnvironment
from knapsolve.environments.zipf import zipf_unchanged

__all__ = [
    "BernoulliEnvironment",
    "EphemeralEnvironment",
    "PollingEnvironment",
    "TraceEnvironment",
    "zipf_unchanged",
]
