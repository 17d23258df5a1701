"""Event-by-event simulation of the queue that the robots feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve._core.robot_simulation import simulate_events
from knapsolve._validation import check_integer, resolve_random_state
from knapsolve.robots.problem import RobotProblem


@dataclass(frozen=True)
class RobotSimulation:
    """What a simulated queue cost.

    Parameters
    ----------
    gain, standard_error : float
        Average cost per unit time, and its standard error from batch means.
    starvation : float
        Fraction of time with an empty queue.
    loss_rate : float
        Pages lost per unit time.
    n_mean, queue_mean : float
        Mean number of active robots and of pages in the queue, over time.
    time : float
        Simulated time.

    Examples
    --------
    >>> from knapsolve import solve_robot_control
    >>> solve_robot_control(8, 4, 0.2, 1.0).simulate(1000, random_state=1).time > 0
    True
    """

    gain: float
    standard_error: float
    starvation: float
    loss_rate: float
    n_mean: float
    queue_mean: float
    time: float


def simulate_control(
    problem: RobotProblem, action: np.ndarray, n_events: Any, n_batches: Any, random_state: Any
) -> RobotSimulation:
    """Simulate the policy `action` (n_robots + 1, buffer + 1); see `RobotControl.simulate`."""
    n_batches = check_integer("n_batches", n_batches, low=2)
    n_events = check_integer("n_events", n_events, low=n_batches)
    generator = resolve_random_state(random_state)
    state = np.array([0, 1], dtype=np.intp)
    simulate_events(action, problem.load, n_events // 10, state, generator)
    edges = np.linspace(0, n_events, n_batches + 1).astype(int)
    sums = np.array([simulate_events(action, problem.load, size, state, generator) for size in np.diff(edges)])
    time, empty, lost, active, queue = sums.T
    costs = problem.weight * empty + lost
    total, rate = time.sum(), problem.service_rate
    gain = costs.sum() / total
    spread = np.sqrt(((costs - gain * time) ** 2).sum() / (n_batches - 1) * n_batches) / total
    return RobotSimulation(
        float(gain * rate), float(spread * rate), float(empty.sum() / total), float(lost.sum() / total * rate),
        float(active.sum() / total), float(queue.sum() / total), float(total / rate),
    )  # fmt: skip
