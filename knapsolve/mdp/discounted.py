"""Discounted cost: value iteration, modified policy iteration and policy iteration, with certified bounds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import identity
from sklearn.exceptions import ConvergenceWarning

from knapsolve._validation import check_choice, check_integer, check_real
from knapsolve.mdp.evaluate import departures, solve_sparse
from knapsolve.mdp.model import check_model
from knapsolve.mdp.result import DiscountedResult

METHODS = {"auto", "value-iteration", "modified-policy-iteration", "policy-iteration"}
LARGE = 5_000
EVALUATIONS = 20


def solve_discounted_cost(
    transitions: Any,
    cost: Any,
    discount: float,
    *,
    method: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 1_000_000,
) -> DiscountedResult:
    """Least expected discounted cost of a finite Markov decision process.

    Parameters
    ----------
    transitions : sequence of n_actions matrices of shape (n_states, n_states)
        Transition probabilities of each action, sparse or dense.
    cost : array_like of shape (n_states,) or (n_states, n_actions)
        Cost a step, at most 1e150 in size; ``inf`` where an action is not allowed (its row of the matrix is then
        ignored).
    discount : float
        Factor a step, at least 0 and less than 1.
    method : {"auto", "value-iteration", "modified-policy-iteration", "policy-iteration"}
        "auto" is policy iteration up to 5,000 states, modified policy iteration beyond.
    tol : float, default 1e-9
        Largest ``upper - lower`` to accept.
    max_iter : int, default 1_000_000
        Largest number of sweeps over all actions.

    Returns
    -------
    DiscountedResult
        Cost from each state with certified bounds, and the policy.

    Raises
    ------
    ValueError, TypeError
        If rows do not sum to 1, probabilities are negative, shapes clash, or another parameter is out of its
        range.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`; they hold nevertheless.

    References
    ----------
    M. L. Puterman, "Markov Decision Processes", 1994, Theorem 6.6.3 (bounds) and Sections 6.3 to 6.5.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.mdp import solve_discounted_cost
    >>> stay, go = np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> result = solve_discounted_cost([stay, go], [[3.0, 3.0], [1.0, 2.0]], discount=0.5)
    >>> result.value.round(6).tolist(), result.policy.tolist()
    ([4.0, 2.0], [1, 0])
    """
    discount = check_real("discount", discount, low=0.0, high=1.0, high_open=True)
    method = check_choice("method", method, METHODS)
    tol = check_real("tol", tol, low=0.0, low_open=True)
    max_iter = check_integer("max_iter", max_iter, low=1)
    model = check_model(transitions, cost)
    if method == "auto":
        method = "policy-iteration" if model.n_states <= LARGE else "modified-policy-iteration"
    operator, scale = model.operator(discount), 1.0 / (1.0 - discount)
    v, d, choice = np.zeros(model.n_states), np.empty(model.n_states), model.first[:-1].copy()
    if method == "policy-iteration":
        operator.bounds(v, d, choice)
        for done in range(1, max_iter + 1):  # noqa: B007 (read after the loop)
            before = choice.copy()
            leave = departures(model.matrix[choice], np.arange(len(v)))  # I - P; I - discount P would cancel
            v[:] = solve_sparse(discount * leave + (1.0 - discount) * identity(len(v)), model.cost[choice])
            lower, upper = operator.bounds(v, d, choice, 1e-14 * (1.0 + float(np.abs(v).max())))
            if (choice == before).all():
                break
    else:
        evaluations = EVALUATIONS if method == "modified-policy-iteration" else 0
        done, lower, upper = operator.iterate(v, d, choice, 1.0, False, tol / scale, max_iter, evaluations)
    extremes = scale * model.cost.min(), scale * model.cost.max()
    slack = 1e-15 * np.abs(extremes).max()
    low = np.fmax(v + scale * lower, extremes[0] - slack)
    high = np.fmin(v + scale * upper, extremes[1] + slack)
    gap = float((high - low).max())
    if not gap <= tol:
        warnings.warn(
            f"the discounted cost is known to upper - lower = {gap:.3g} > tol = {tol:.3g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return DiscountedResult(0.5 * (low + high), low, high, model.action[choice], done)
