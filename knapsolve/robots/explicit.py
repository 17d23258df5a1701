"""The control problem written out as the paper's Markov decision process, for any solver of such models."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from knapsolve.robots.problem import RobotProblem

DEPARTURE, ARRIVAL, FICTITIOUS = 0, 1, 2


def explicit_model(
    n_robots: int, buffer: int, arrival_rate: float, starvation_weight: float, service_rate: float = 1.0
) -> tuple[list[csr_matrix], np.ndarray, np.ndarray]:
    """Matrices and costs of the paper's states (queue, active, event), equations (18) to (21) corrected.

    Parameters
    ----------
    n_robots, buffer, arrival_rate, starvation_weight, service_rate
        As for `solve_robot_control`.

    Returns
    -------
    transitions : list of two csr_matrix of shape (n_states, n_states)
        For action 0, and for action 1 (one robot more). Rows of actions not allowed are empty.
    cost : ndarray of shape (n_states, 2)
        Cost a step; infinite where the action is not allowed. One step takes 1 / (arrival_rate * n_robots +
        service_rate) time units, and the average cost a step is the cost per unit time.
    states : ndarray of shape (n_states, 3)
        Queue and active robots just before the event, and the event: 0 departure, 1 arrival, 2 neither.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    References
    ----------
    Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", 1999, Section 3.1.

    Examples
    --------
    >>> from knapsolve.robots import explicit_model
    >>> transitions, cost, states = explicit_model(16, 5, 0.1, 1.4)
    >>> transitions[0].shape, cost.shape
    ((282, 282), (282, 2))
    """
    problem = RobotProblem.checked(n_robots, buffer, arrival_rate, starvation_weight, service_rate)
    n, k, lam, mu = problem.n_robots, problem.buffer, problem.arrival_rate, problem.service_rate
    rate = lam * n + mu
    q, r, s = (a.ravel() for a in np.meshgrid(np.arange(k + 1), np.arange(n + 1), np.arange(3), indexing="ij"))
    there = ~(((s == DEPARTURE) & (q == 0)) | ((s == ARRIVAL) & (r == 0)) | ((s == FICTITIOUS) & (q + r == 0)))
    states = np.column_stack([q, r, s])[there]
    number = np.full((k + 1, n + 1, 3), -1)
    number[tuple(states.T)] = np.arange(len(states))
    q, r, s = states.T
    allowed = np.column_stack([~((s == DEPARTURE) & (q == 1) & (r == 0)), s != FICTITIOUS])
    base = starvation_weight * (q == 0) + rate * ((q == k) & (s == ARRIVAL))
    transitions = []
    for a in (0, 1):
        here = np.flatnonzero(allowed[:, a])
        x = np.select([s == DEPARTURE, s == ARRIVAL], [q - 1, np.minimum(q + 1, k)], q)[here]
        b = np.select([s == DEPARTURE, s == ARRIVAL], [np.minimum(r + a, n), r + a - 1], r)[here]
        chances = np.array([mu * (x > 0), lam * b, rate - mu * (x > 0) - lam * b]) / rate
        event, entry = np.nonzero(chances > 0)
        matrix = csr_matrix(
            (chances[event, entry], (here[entry], number[x[entry], b[entry], event])), (len(states),) * 2
        )
        transitions.append(matrix)
    return transitions, np.where(allowed, base[:, None], np.inf), states
