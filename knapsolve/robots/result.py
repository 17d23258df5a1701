"""A solved control problem: what it costs, what to do, and how many robots that keeps active."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from knapsolve.mdp.evaluate import evaluate_class
from knapsolve.mdp.structure import recurrent_classes
from knapsolve.robots.problem import RobotProblem
from knapsolve.robots.simulate import RobotSimulation, simulate_control

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RobotControl:
    """Optimal control of the robots, as `solve_robot_control` returns it.

    Parameters
    ----------
    gain : float
        Average cost per unit time of the optimal policy.
    lower, upper : float
        Certified bounds of the least average cost per unit time, `lower <= gain <= upper`.
    bias : ndarray of shape (buffer + 1, n_robots + 1)
        Relative cost of being in (queue, active) just after a decision, zero at (1, 1): the solution g of
        ``gain + g = T g`` for the chain uniformised at rate ``arrival_rate * n_robots + service_rate``, in
        units of its steps. (0, 0) is excluded from the problem and holds infinity.
    n_iter : int
        Sweeps (value iteration) or policy evaluations at the finest grid (policy iteration).
    problem : RobotProblem
        The parameters.

    References
    ----------
    Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", 1999, equation (24).

    Examples
    --------
    >>> from knapsolve import solve_robot_control
    >>> control = solve_robot_control(4, 3, arrival_rate=0.5, starvation_weight=2.0)
    >>> control.lower <= control.gain <= control.upper
    True
    >>> control.policy.shape
    (2, 4, 5)
    """

    gain: float
    lower: float
    upper: float
    bias: np.ndarray
    n_iter: int
    problem: RobotProblem = field(repr=False)

    @cached_property
    def action(self) -> np.ndarray:
        """Actions (n_robots + 1, buffer + 1) by what an event leaves: robots, then pages in the queue.

        They cost at most `upper`. Ties leave the number of robots as it is: near ones too, unless that would
        cost more.
        """
        bias = np.ascontiguousarray(self.bias.T)
        solver, noise = self.problem.solver(), 2e-13 * (1.0 + np.abs(bias.ravel()[1:]).max())
        action = np.zeros(bias.shape, dtype=np.uint8)
        solver.improve(bias, action, noise)
        cost = solver.evaluation(action, np.empty(bias.shape))
        if cost is None or not cost * self.problem.service_rate <= self.upper * (1.0 + 1e-12):
            solver.improve(bias, action)  # attains the upper bound: Th - h at most
        return action

    @cached_property
    def policy(self) -> np.ndarray:
        """Optimal actions (2, buffer + 1, n_robots + 1) by event, and queue and active robots just before it.

        Event 0 is a departure, 1 an arrival. Action 1 activates a robot: one more after a departure, the one
        that came after an arrival. Events that cannot happen hold 0, as does a departure with all robots
        active.
        """
        policy = np.zeros((2, *self.bias.shape), dtype=np.uint8)
        policy[0, 1:] = self.action[:, :-1].T
        policy[1, :-1, 1:] = self.action[:-1, 1:].T
        policy[1, -1, 1:] = self.action[:-1, -1]
        return policy

    @cached_property
    def _chain(self) -> csr_matrix:
        """Transitions a step between the states (n_robots + 1, buffer + 1) just after a decision, raveled."""
        (n_levels, width), problem = self.problem.shape, self.problem
        levels, queues = np.divmod(np.arange(n_levels * width), width)
        rate = problem.load * problem.n_robots + 1.0
        source, target, chance = [], [], []
        for shift, weight in ((-1, (queues > 0) / rate), (1, problem.load * levels / rate)):
            state = np.flatnonzero(weight)
            x = np.minimum(queues[state] + shift, width - 1)
            b = levels[state] - (shift == 1)
            source.append(state)
            target.append((b + self.action[b, x]) * width + x)
            chance.append(weight[state])
        arcs = np.concatenate(source), np.concatenate(target)
        moves = csr_matrix((np.concatenate(chance), arcs), (len(levels), len(levels)))
        return csr_matrix(moves + diags(np.maximum(1.0 - np.asarray(moves.sum(axis=1)).ravel(), 0.0)))

    @cached_property
    def _recurrent(self) -> np.ndarray:
        """Booleans (n_robots + 1, buffer + 1): states just after a decision that are visited for ever."""
        label = recurrent_classes(self._chain)
        label[0] = -1  # (0, 0) is excluded
        start = label[(np.flatnonzero(self.action[:, 0]).max() + 1) * self.problem.shape[1]]
        return (label == (start if start >= 0 else label.max())).reshape(self.problem.shape)

    @cached_property
    def n_min(self) -> int:
        """Fewest robots active in the long run."""
        return int(np.flatnonzero(self._recurrent.any(axis=1)).min())

    @cached_property
    def n_max(self) -> int:
        """Most robots active in the long run."""
        return int(np.flatnonzero(self._recurrent.any(axis=1)).max())

    @cached_property
    def n_mean(self) -> float:
        """Mean number of active robots in the long run."""
        mean = self.problem.counter().evaluation(self.action, np.empty(self.problem.shape))
        if mean is None:
            states = np.flatnonzero(self._recurrent)
            mean = evaluate_class(self._chain[states][:, states], states // self.problem.shape[1])[0]
        return mean

    def simulate(self, n_events: int = 1_000_000, *, n_batches: int = 20, random_state: Any = None) -> RobotSimulation:
        """Simulate the queue under the policy, event by event.

        Parameters
        ----------
        n_events : int, default 1_000_000
            Arrivals and departures to simulate, after a tenth as many that are not counted.
        n_batches : int, default 20
            Batches for the standard error.
        random_state : None, int, RandomState or Generator
            Source of randomness.

        Returns
        -------
        RobotSimulation
            Average cost per unit time with its standard error, and its parts.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of its range.

        References
        ----------
        Talim, Liu, Nain and Coffman, equation (25): what the average cost is made of.

        Examples
        --------
        >>> from knapsolve import solve_robot_control
        >>> control = solve_robot_control(16, 5, arrival_rate=0.1, starvation_weight=1.4)
        >>> seen = control.simulate(200_000, random_state=0)
        >>> abs(seen.gain - control.gain) < 5 * seen.standard_error
        True
        """
        return simulate_control(self.problem, self.action, n_events, n_batches, random_state)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the switching curves: for each number of robots, the longest queue at which one is added.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes drawn on.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        References
        ----------
        Talim, Liu, Nain and Coffman, Figures 6 to 8.

        Examples
        --------
        >>> from knapsolve import solve_robot_control
        >>> solve_robot_control(16, 5, 0.1, 1.4).plot()  # doctest: +SKIP
        """
        from knapsolve.robots.drawing import draw_switching_curves

        return draw_switching_curves(self, ax)
