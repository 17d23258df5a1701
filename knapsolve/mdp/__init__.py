"""Finite Markov decision processes: least average or discounted cost, always with certified bounds."""

from knapsolve.mdp.average import solve_average_cost
from knapsolve.mdp.discounted import solve_discounted_cost
from knapsolve.mdp.result import DiscountedResult, MDPResult

__all__ = ["DiscountedResult", "MDPResult", "solve_average_cost", "solve_discounted_cost"]
