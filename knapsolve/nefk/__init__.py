"""The deterministic nonlinear fractional knapsack: criteria, solver, and the same beyond one machine."""

from knapsolve.nefk.result import NEFKResult
from knapsolve.nefk.solver import solve_nefk

__all__ = ["NEFKResult", "solve_nefk"]
