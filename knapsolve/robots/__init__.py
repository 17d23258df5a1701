"""Robots that feed a server: how many to deploy, and how many to have active now."""

from knapsolve.robots.control import solve_robot_control
from knapsolve.robots.result import RobotControl

__all__ = ["RobotControl", "solve_robot_control"]
