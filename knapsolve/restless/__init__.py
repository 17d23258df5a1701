"""Restless bandits: the Whittle index of ephemeral content and of any finite arm, and their policies."""

from knapsolve.restless.arm_policy import ArmIndexPolicy
from knapsolve.restless.arms import ArmIndex, arm_whittle_index
from knapsolve.restless.bound import RelaxedBound, relaxed_bound
from knapsolve.restless.crawling import simulate_ephemeral
from knapsolve.restless.index import inverse_whittle_index, whittle_index
from knapsolve.restless.policy import WhittlePolicy

__all__ = [
    "ArmIndex",
    "ArmIndexPolicy",
    "RelaxedBound",
    "WhittlePolicy",
    "arm_whittle_index",
    "inverse_whittle_index",
    "relaxed_bound",
    "simulate_ephemeral",
    "whittle_index",
]
