"""Environments: what learners and policies are let loose on."""

from knapsolve.environments.ephemeral import EphemeralEnvironment

__all__ = ["EphemeralEnvironment"]
