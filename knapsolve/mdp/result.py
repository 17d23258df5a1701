"""What the solvers of Markov decision processes return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class MDPResult:
    """Least average cost of a Markov decision process, with certified bounds.

    Parameters
    ----------
    gain, lower, upper : float, or ndarray of shape (n_states,)
        Average cost a step of the policy, and bounds of the least one. A number where it does not depend on
        the first state; an array for a multichain model, where it may.
    bias : ndarray of shape (n_states,)
        Relative cost of each state.
    policy : ndarray of shape (n_states,)
        Action to take in each state.
    n_iter : int
        Sweeps or policy evaluations.
    structure : {"unichain", "communicating", "weakly communicating", "multichain"}
        "multichain": policies can settle in separate sets of states, for good. Else all settle in one set of
        states that hang together, and the gain is one number: "unichain" where some state is proven to be
        visited for ever under every policy, so that each has a single recurrent class; "communicating" where
        some policy leads from every state to every other; "weakly communicating" where one does so but for
        states that every policy leaves for good. Of the last two some are unichain without such a state.

    References
    ----------
    M. L. Puterman, "Markov Decision Processes", 1994, Section 8.3 (classes of models).

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.mdp import solve_average_cost
    >>> result = solve_average_cost([np.array([[0.0, 1.0], [1.0, 0.0]])], [0.0, 1.0])
    >>> round(result.gain, 9), result.structure
    (0.5, 'unichain')
    """

    gain: float | np.ndarray
    lower: float | np.ndarray
    upper: float | np.ndarray
    bias: np.ndarray
    policy: np.ndarray
    n_iter: int
    structure: str


@dataclass(frozen=True, eq=False)
class DiscountedResult:
    """Least discounted cost of a Markov decision process, with certified bounds.

    Parameters
    ----------
    value, lower, upper : ndarray of shape (n_states,)
        Expected discounted cost from each state, and its bounds.
    policy : ndarray of shape (n_states,)
        Action to take in each state.
    n_iter : int
        Sweeps or policy evaluations.

    References
    ----------
    M. L. Puterman, "Markov Decision Processes", 1994, Theorem 6.6.3 (bounds).

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.mdp import solve_discounted_cost
    >>> result = solve_discounted_cost([np.eye(1)], [1.0], discount=0.9)
    >>> round(float(result.value[0]), 6)
    10.0
    """

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    policy: np.ndarray
    n_iter: int
