"""Restless bandits: the Whittle index of ephemeral content and of any finite arm, and policies made of them."""

from knapsolve.restless.bound import RelaxedBound, relaxed_bound
from knapsolve.restless.index import inverse_whittle_index, whittle_index
from knapsolve.restless.policy import WhittlePolicy

__all__ = ["RelaxedBound", "WhittlePolicy", "inverse_whittle_index", "relaxed_bound", "whittle_index"]
