"""The control problem of the robots: its parameters, checked once, and its form for the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve._core.robot_control import RobotSolver
from knapsolve._validation import check_integer, check_real

MOST_STATES = 100_000_000


@dataclass(frozen=True)
class RobotProblem:
    """N robots of rate lam, a buffer of K pages, one server of rate mu, and the cost of starving it.

    The kernels count time in mean service times: only lam / mu and gamma / mu matter to them, and the
    gain is mu times theirs.
    """

    n_robots: int
    buffer: int
    arrival_rate: float
    starvation_weight: float
    service_rate: float = 1.0

    @classmethod
    def checked(
        cls, n_robots: Any, buffer: Any, arrival_rate: Any, starvation_weight: Any, service_rate: Any
    ) -> RobotProblem:
        """The problem these parameters describe, or an error that names the wrong one."""
        problem = cls(
            check_integer("n_robots", n_robots, low=1),
            check_integer("buffer", buffer, low=2),
            check_real("arrival_rate", arrival_rate, low=1e-200, high=1e200),
            check_real("starvation_weight", starvation_weight, low=1e-300, high=1e300),
            check_real("service_rate", service_rate, low=1e-200, high=1e200),
        )
        if (problem.n_robots + 1) * (problem.buffer + 1) > MOST_STATES:
            raise ValueError(
                f"n_robots and buffer must make at most {MOST_STATES} states, got {n_robots!r} and {buffer!r}"
            )
        check_real("arrival_rate / service_rate", problem.load, low=1e-12, high=1e12)
        check_real("starvation_weight / service_rate", problem.weight, low=1e-100, high=1e100)
        return problem

    @property
    def load(self) -> float:
        """Load that one active robot offers, lam / mu."""
        return self.arrival_rate / self.service_rate

    @property
    def weight(self) -> float:
        """Cost of a mean service time of starvation, gamma / mu."""
        return self.starvation_weight / self.service_rate

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of an array over the states as the kernels keep it, (N + 1, K + 1)."""
        return self.n_robots + 1, self.buffer + 1

    def solver(self) -> RobotSolver:
        """A compiled solver of the average cost, in units of the service rate."""
        return RobotSolver(self.n_robots, self.buffer, self.load, self.weight, self.load)

    def counter(self) -> RobotSolver:
        """A compiled solver whose cost is the number of active robots."""
        return RobotSolver(self.n_robots, self.buffer, self.load, 0.0, 0.0, 1.0)

    def coarser(self) -> RobotProblem | None:
        """The problem with half the robots and half the buffer at the same total rate, unless too small."""
        n, k = self.n_robots // 2, self.buffer // 2
        if self.n_robots * self.buffer <= 400 or n < 4 or k < 2:
            return None
        return RobotProblem(n, k, self.arrival_rate * self.n_robots / n, self.starvation_weight, self.service_rate)


def curve_policy(heights: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The actions (N + 1, K + 1) that activate in the leftmost `heights[b]` states of each level b < N."""
    action = np.zeros(shape, dtype=np.uint8)
    action[:-1] = np.arange(shape[1]) < np.rint(heights)[:, None]
    action[0, 0] = 1
    return action


def first_policy(shape: tuple[int, int]) -> np.ndarray:
    """A straight switching curve: fewer robots are added the more are active and the fuller the queue."""
    n = shape[0] - 1
    return curve_policy(shape[1] * (1.0 - (np.arange(n) + 0.5) / n), shape)


def prolong_policy(coarse: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The switching curve of a coarse policy, stretched linearly to a finer grid of states."""
    n, n_coarse = shape[0] - 1, coarse.shape[0] - 1
    heights = coarse[:-1].sum(axis=1, dtype=np.float64) * (shape[1] / coarse.shape[1])
    middle = (np.arange(n) + 0.5) * (n_coarse / n) - 0.5
    return curve_policy(np.interp(middle, np.arange(n_coarse), heights), shape)
