"""How many robots should be active now? The average-cost optimal policy, with certified bounds."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from knapsolve._validation import check_choice, check_integer, check_real
from knapsolve.robots.problem import RobotProblem, first_policy, prolong_policy
from knapsolve.robots.result import RobotControl

STEP = 0.99999  # the paper's tau: any less only slows the iteration, and 1 could meet a periodic chain
COARSE_EVALUATIONS = 4  # a coarse grid serves only as a start
ATTEMPTS, EVALUATIONS = 16, 15
POLISHING = 96  # sweeps that may bring bounds closer where a bias is large: substitution rounds more than a sweep does
ROUNDING = 1e-12  # of the largest bias
BLURS = (0.0, 1e-15, 1e-14, 1e-13)  # of the largest bias: preferences below are taken for rounding where all else fails


def solve_robot_control(
    n_robots: int,
    buffer: int,
    arrival_rate: float,
    starvation_weight: float,
    service_rate: float = 1.0,
    *,
    tol: float = 1e-9,
    max_iter: int = 1_000_000,
    method: str = "auto",
) -> RobotControl:
    r"""Least average cost of a server that robots feed, and the policy that attains it.

    Up to N robots each bring a page to a queue of K places after an exponential time; one server takes an
    exponential time a page. The cost per unit time is gamma while the queue is empty, and one for each page
    that finds it full. After each arrival the robot that came may be sent out again, after each departure one
    more may be activated.

    Parameters
    ----------
    n_robots : int
        Number of robots N, at least 1.
    buffer : int
        Places K in the queue with the one in service, at least 2.
    arrival_rate : float
        Pages per unit time that one active robot brings, lam > 0.
    starvation_weight : float
        Cost gamma > 0 per unit time with an empty queue; a lost page costs 1.
    service_rate : float, default 1.0
        Pages per unit time that the server finishes, mu > 0.
    tol : float, default 1e-9
        Largest ``upper - lower`` to accept, in units of the service rate.
    max_iter : int, default 1_000_000
        Largest number of sweeps (value iteration) or evaluations (policy iteration).
    method : {"auto", "policy-iteration", "relative-value-iteration"}
        Policy iteration evaluates by substitution and starts from coarser problems; value iteration is the
        paper's. "auto" is policy iteration.

    Returns
    -------
    RobotControl
        The gain (cost per unit time), its certified bounds, the bias and the policy.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`; they hold nevertheless.

    References
    ----------
    J. Talim, Z. Liu, P. Nain and E. G. Coffman, "Controlling robots of Web search engines", 1999, Section 3,
    equations (18) to (24) with their misprints mended; Proposition 4.

    Examples
    --------
    >>> from knapsolve import solve_robot_control
    >>> control = solve_robot_control(16, 5, arrival_rate=0.1, starvation_weight=1.4)
    >>> round(control.gain, 5), control.n_min, control.n_max
    (0.25924, 4, 15)
    """
    problem = RobotProblem.checked(n_robots, buffer, arrival_rate, starvation_weight, service_rate)
    tol = check_real("tol", tol, low=0.0, low_open=True)
    max_iter = check_integer("max_iter", max_iter, low=1)
    method = check_choice("method", method, {"auto", "policy-iteration", "relative-value-iteration"})
    iterate = iterate_values if method == "relative-value-iteration" else iterate_policy
    control = iterate(problem, tol, max_iter)
    warn_of_gap(control, tol, stacklevel=3)
    return control


def iterate_policy(problem: RobotProblem, tol: float, max_iter: int) -> RobotControl:
    """Policy iteration from a coarser problem; value iteration helps where it sticks, and at the end.

    Stops where no action would gain more than half the tolerance; where rounding decides between actions (at large
    weights), gains below its noise count as none.
    """
    start = coarse_start(problem)
    action, blur = start.copy(), 0
    solver, bias = problem.solver(), np.empty(problem.shape)
    done, gain, best = 0, np.inf, Attempt()
    for attempt in range(ATTEMPTS):
        limit = min(max_iter - done, EVALUATIONS)
        evaluations, solved, gain = solver.iterate_policy(action, bias, tol, limit, 0.5 * tol, BLURS[blur])
        done += evaluations
        if np.isfinite(gain):
            bias -= bias[1, 1]
            best.offer(gain, solver.bounds(bias), bias)
        if solved or done >= max_iter or best.is_exhausted():
            break
        if blur + 1 < len(BLURS) and (not np.isfinite(gain) or best.failures):
            blur += 1  # where rounding decides, a switching curve is ragged and has too many unknowns, or comes back
            action[...] = start
        elif attempt % 4 == 3:  # policies come back or cannot be evaluated
            if not np.isfinite(gain):
                bias[...] = 0.0
                bias[0, 0] = np.inf
            solver.iterate_values(bias, STEP, tol, 500, 500, scratch(bias))
            solver.improve(bias, action)
    if best.bias is None or not (solved or done >= max_iter or best.is_exhausted()):
        return iterate_values(problem, tol, max_iter, best.bias)
    if done < max_iter and not best.bounds[1] - best.bounds[0] <= tol:
        bias[...] = best.bias
        done += solver.iterate_values(bias, STEP, tol, min(POLISHING, max_iter - done), 16, scratch(bias))[0]
        bias -= bias[1, 1]
        best.offer(best.gain, solver.bounds(bias), bias)
    return finish(problem, best.gain, best.bounds, best.bias, done)


class Attempt:
    """The best of several biases: the one with the closest bounds."""

    gain = np.inf
    bounds = (-np.inf, np.inf)
    bias: np.ndarray | None = None
    failures = 0

    def offer(self, gain: float, bounds: tuple[float, float], bias: np.ndarray) -> None:
        """Keep this one if its bounds are closer."""
        self.failures += 1
        if self.bias is None or bounds[1] - bounds[0] < 0.9 * (self.bounds[1] - self.bounds[0]):
            self.gain, self.bounds, self.bias, self.failures = gain, bounds, bias.copy(), 0

    def is_exhausted(self) -> bool:
        """Whether the bounds came no closer, and are as close as the rounding of so large a bias lets any be."""
        if self.bias is None or self.failures < 2:
            return False
        largest = float(np.abs(self.bias[np.isfinite(self.bias)]).max())
        return self.bounds[1] - self.bounds[0] <= ROUNDING * largest


def coarse_start(problem: RobotProblem) -> np.ndarray:
    """A policy to start from: the switching curves of ever coarser problems, from the coarsest up."""
    coarser = problem.coarser()
    if coarser is None:
        return first_policy(problem.shape)
    action = coarse_start(coarser)
    solver, bias = coarser.solver(), np.empty(coarser.shape)
    solver.iterate_policy(action, bias, 1e-9, COARSE_EVALUATIONS, 0.0)
    return prolong_policy(action, problem.shape)


def iterate_values(problem: RobotProblem, tol: float, max_iter: int, start: np.ndarray | None = None) -> RobotControl:
    """Relative value iteration, from zero or from `start` (N + 1, K + 1)."""
    bias = np.zeros(problem.shape) if start is None else start.copy()
    bias[0, 0] = np.inf
    every = 16 if bias.size < 1000 else 64
    solver = problem.solver()
    sweeps, _, _ = solver.iterate_values(bias, STEP, tol, max_iter, every, scratch(bias))
    bias -= bias[1, 1]
    bounds = solver.bounds(bias)
    return finish(problem, 0.5 * sum(bounds), bounds, bias, sweeps)


def scratch(bias: np.ndarray) -> np.ndarray:
    """Room for value iteration: another bias, and two lines more."""
    return np.empty((bias.shape[0] + 2, bias.shape[1]))


def finish(
    problem: RobotProblem, gain: float, bounds: tuple[float, float], bias: np.ndarray, n_iter: int
) -> RobotControl:
    """Put the time unit back and order the bounds about the gain."""
    rate = problem.service_rate
    lower, upper = max(bounds[0], 0.0) * rate, bounds[1] * rate
    return RobotControl(min(max(gain * rate, lower), upper), lower, upper, bias.T, n_iter, problem)


def warn_of_gap(control: RobotControl, tol: float, stacklevel: int) -> None:
    """Warn, `stacklevel` calls up, of bounds that are too far apart."""
    gap, tol = control.upper - control.lower, tol * control.problem.service_rate
    if not gap <= tol:
        warnings.warn(
            f"the control problem is solved to upper - lower = {gap:.3g} > tol * service_rate = {tol:.3g}: "
            f"the least average cost is in [{control.lower!r}, {control.upper!r}]",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
