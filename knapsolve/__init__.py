"""How often should each of many things be polled, when capacity is limited and what they do is unknown?"""

from knapsolve import criteria
from knapsolve.exceptions import InfeasibleError
from knapsolve.nefk import NEFKResult, solve_nefk

__version__ = "0.1.0"

__all__ = [
    "InfeasibleError",
    "NEFKResult",
    "__version__",
    "criteria",
    "solve_nefk",
]
