"""Pictures of a solved control problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from knapsolve.robots.result import RobotControl


def switching_curves(policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For departures and arrivals, and each number of robots, the longest queue at which one is activated.

    policy (2, buffer + 1, n_robots + 1); two arrays (n_robots + 1,), -1 where none is activated at any queue.
    """
    queue = np.arange(policy.shape[1])[:, None]
    departure, arrival = (np.where(actions == 1, queue, -1).max(axis=0) for actions in policy)
    return departure, arrival


def draw_switching_curves(control: RobotControl, ax: Axes | None = None) -> Axes:
    """Draw both switching curves and the range of robots that the policy uses; see `RobotControl.plot`."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1]
    problem = control.problem
    active = np.arange(problem.n_robots + 1)
    ax.axvspan(control.n_min, control.n_max, color="0.93", zorder=0, label="robots active in the long run")
    looks: tuple[dict[str, Any], ...] = (
        {"color": "C0", "label": "after a departure"},
        {"color": "C1", "linestyle": "--", "label": "after an arrival"},
    )
    for first, curve, look in zip((0, 1), switching_curves(control.policy), looks, strict=True):
        seen = active[first:][curve[first:] >= 0]  # no arrival comes while no robot is active
        style = {"where": "mid"} if problem.n_robots > 60 else {"where": "mid", "marker": "o", "markersize": 4}
        ax.step(seen, curve[seen], **style, **look)
    ax.set(xlim=(-0.5, problem.n_robots + 0.5), ylim=(-0.5, problem.buffer + 0.5))
    ax.set(xlabel="active robots before the event", ylabel="longest queue at which one is activated")
    ax.set_title(
        f"N = {problem.n_robots}, K = {problem.buffer}, $\\lambda$ = {problem.arrival_rate:g}, "
        f"$\\mu$ = {problem.service_rate:g}, $\\gamma$ = {problem.starvation_weight:g}: "
        f"cost {control.gain:.5f}"
    )
    ax.legend(loc="best")
    return ax
