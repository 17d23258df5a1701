"""Exceptions that knapsolve raises besides the built-in ones."""

__all__ = ["InfeasibleError"]


class InfeasibleError(ValueError):
    """No allocation meets the constraints; the message names the numbers that clash."""
