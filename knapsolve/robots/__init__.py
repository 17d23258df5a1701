"""Robots that feed a server: how many to deploy, and how many to have active now."""

from knapsolve.robots.control import solve_robot_control
from knapsolve.robots.explicit import explicit_model
from knapsolve.robots.general import mg1k_cost, mg1k_optimal_robots
from knapsolve.robots.result import RobotControl
from knapsolve.robots.static import mm1k_cost, optimal_load, optimal_robots

__all__ = [
    "RobotControl",
    "explicit_model",
    "mg1k_cost",
    "mg1k_optimal_robots",
    "mm1k_cost",
    "optimal_load",
    "optimal_robots",
    "solve_robot_control",
]
