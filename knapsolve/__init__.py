"""How often should each of many things be polled, when capacity is limited and what they do is unknown?"""

from knapsolve.exceptions import InfeasibleError
from knapsolve.robots import RobotControl, solve_robot_control

__version__ = "0.1.0"

__all__ = ["InfeasibleError", "RobotControl", "__version__", "solve_robot_control"]
