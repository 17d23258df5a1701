"""Recorded changes replayed to several policies at the same number of polls."""

from knapsolve.replay.comparison import measure_polls, replay
from knapsolve.replay.policies import POLICIES
from knapsolve.replay.result import Estimate, PolicyReplay, ReplayResult
from knapsolve.replay.trace_replay import TraceReplay

__all__ = ["POLICIES", "Estimate", "PolicyReplay", "ReplayResult", "TraceReplay", "measure_polls", "replay"]
