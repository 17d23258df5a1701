"""Value iteration exactly as the paper ran it, on its states (queue, active, event), with its stop rule."""

from __future__ import annotations

import numpy as np

from knapsolve.robots.problem import RobotProblem

STEP = 0.99999
THRESHOLD = 1e-5


def paper_value_iteration(problem: RobotProblem, max_iter: int = 100_000) -> tuple[float, np.ndarray, int]:
    """Relative value iteration from h = 0 until no h changes by more than 1e-5 of itself.

    This is how the paper's numbers arose, iteration counts included; `solve_robot_control` is what to use.

    Returns
    -------
    gain : float
        (T h)(1, 1, 1) of the last h: cost per unit time.
    bias : ndarray of shape (n_robots + 1, buffer + 1)
        Expected h after a decision, over the next event.
    n_iter : int
        Iterations made.

    References
    ----------
    Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", 1999, Proposition 4 and Section
    3.2.
    """
    n, k = problem.n_robots, problem.buffer
    nu = problem.load * n + 1.0
    r, q = np.arange(n + 1)[:, None], np.arange(k + 1)[None, :]
    depart, arrive = (
        np.broadcast_to((q > 0) / nu, (n + 1, k + 1)),
        np.broadcast_to(problem.load * r / nu, (n + 1, k + 1)),
    )
    cost = np.zeros((3, n + 1, k + 1)) + problem.weight * (q == 0)
    cost[1] += nu * (q == k)
    there = np.ones_like(cost, dtype=bool)
    there[0, :, 0] = there[1, 0] = there[2, 0, 0] = False
    h = np.zeros_like(cost)
    for done in range(1, max_iter + 1):  # noqa: B007 (read after the loop)
        after = np.einsum("srq,srq->rq", np.stack([depart, arrive, 1.0 - depart - arrive]), h)
        after[0, 0] = np.inf
        value = cost + _best(after)
        gain = value[1, 1, 1]
        change = STEP * (value - gain - h)
        change[~there] = 0.0
        moved = np.abs(change) > THRESHOLD * np.abs(h)
        moved[1, 1, 1] = False  # zero throughout
        h += change
        if not moved.any():
            break
    return float(gain * problem.service_rate), after, done


def _best(after: np.ndarray) -> np.ndarray:
    """Least of `after` over the actions, by event (3), active (N + 1) and queue (K + 1) before it."""
    better = np.minimum(after, np.vstack([after[1:], after[-1:]]))
    best = np.stack([after, after, after])
    best[0, :, 1:] = better[:, :-1]
    best[1, 1:, :-1], best[1, 1:, -1] = better[:-1, 1:], better[:-1, -1]
    return best
