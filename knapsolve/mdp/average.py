"""Average cost by value or policy iteration, always with certified bounds."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from knapsolve._validation import check_choice, check_integer, check_real
from knapsolve.mdp.evaluate import evaluate_policy
from knapsolve.mdp.model import Model, check_model
from knapsolve.mdp.multichain import solve_multichain
from knapsolve.mdp.result import MDPResult
from knapsolve.mdp.structure import end_components, pairs_towards, unavoidable_state

METHODS = {"auto", "relative-value-iteration", "modified-policy-iteration", "policy-iteration"}
LARGE = 5_000  # states beyond which a sparse factorisation may fill in
EVALUATIONS = 20
MOST_POLICIES = 100


def solve_average_cost(
    transitions: Any, cost: Any, *, method: str = "auto", tol: float = 1e-9, max_iter: int = 1_000_000
) -> MDPResult:
    """Least long-run average cost of a finite Markov decision process.

    Parameters
    ----------
    transitions : sequence of n_actions matrices of shape (n_states, n_states)
        Transition probabilities of each action, sparse or dense.
    cost : array_like of shape (n_states,) or (n_states, n_actions)
        Cost a step, at most 1e150 in size; ``inf`` where an action is not allowed (its row of the matrix is then
        ignored).
    method : {"auto", "relative-value-iteration", "modified-policy-iteration", "policy-iteration"}
        "auto" is policy iteration up to 5,000 states, modified policy iteration beyond.
    tol : float, default 1e-9
        Largest ``upper - lower`` to accept.
    max_iter : int, default 1_000_000
        Largest number of sweeps over all actions.

    Returns
    -------
    MDPResult
        Gain with certified bounds, bias, policy, and the structure found. For a multichain model the gain and
        its bounds are arrays, one entry for each first state.

    Raises
    ------
    ValueError, TypeError
        If rows do not sum to 1, probabilities are negative, shapes clash, or another parameter is out of its
        range.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`; they hold nevertheless.

    Notes
    -----
    Periodic chains are no obstacle: iterations are damped, which leaves gain and bias as they are. What the
    solution depends on is whether some policies can settle in separate sets of states (multichain), and that is
    found exactly, from the end components. Whether *every* policy has a single recurrent class (unichain) is
    NP-hard to decide in general (Tsitsiklis 2007) and changes nothing in the solution; ``structure`` says
    "unichain" where a state proves it that no policy can avoid, and names what is known for certain elsewhere.

    References
    ----------
    M. L. Puterman, "Markov Decision Processes", 1994, Theorem 8.5.5 (bounds), Sections 8.5 to 8.7 and 9.5.
    J. N. Tsitsiklis, "NP-hardness of checking the unichain condition in average cost MDPs", Operations Research
    Letters 35 (2007) 319-323.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.mdp import solve_average_cost
    >>> stay, go = np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> result = solve_average_cost([stay, go], [[3.0, 3.0], [1.0, 2.0]])
    >>> round(result.gain, 9), result.policy.tolist()
    (1.0, [1, 0])
    """
    method = check_choice("method", method, METHODS)
    tol = check_real("tol", tol, low=0.0, low_open=True)
    max_iter = check_integer("max_iter", max_iter, low=1)
    model = check_model(transitions, cost)
    label, pairs = end_components(model)
    if label.max() > 0:
        parts = []
        for c in range(label.max() + 1):
            states = np.flatnonzero(label == c)
            part = model.restricted(states, pairs)
            parts.append(solve_component(part, np.zeros(len(states), dtype=int), method, tol, max_iter))
        result = solve_multichain(model, label, pairs, parts)
    else:
        result = solve_component(model, label, method, tol, max_iter)
        result = replace(result, structure=_one_component(model, label))
    gap = float(np.max(np.asarray(result.upper) - np.asarray(result.lower)))
    if not gap <= tol:
        warnings.warn(
            f"the average cost is known to upper - lower = {gap:.3g} > tol = {tol:.3g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


def _one_component(model: Model, label: np.ndarray) -> str:
    """What a model with one end component is called."""
    if unavoidable_state(model, label) is not None:
        return "unichain"
    return "communicating" if label.min() == 0 else "weakly communicating"


def solve_component(model: Model, label: np.ndarray, method: str, tol: float, max_iter: int) -> MDPResult:
    """A model with one end component (label 0; -1 are transient states), by one of the methods."""
    if method == "auto":
        method = "policy-iteration" if model.n_states <= LARGE else "modified-policy-iteration"
    h, d, choice = np.zeros(model.n_states), np.empty(model.n_states), model.first[:-1].copy()
    operator, done = model.operator(), 0
    if method == "policy-iteration":
        done, lower, upper = _iterate_policy(model, label, operator, h, d, choice, tol, max_iter)
    else:
        evaluations = EVALUATIONS if method == "modified-policy-iteration" else 0
        limit = max_iter if evaluations == 0 else min(max_iter, 10_000)
        done, lower, upper = operator.iterate(h, d, choice, _damping(model), True, tol, limit, evaluations)
    if not upper - lower <= tol and done < max_iter and method != "relative-value-iteration":
        more, lower, upper = operator.iterate(h, d, choice, _damping(model), True, tol, max_iter - done, 0)
        done += more
    gain = 0.5 * (lower + upper)
    return MDPResult(gain, lower, upper, h - h[0], model.action[choice], done, "communicating")


def _damping(model: Model) -> float:
    """Step of value iteration: 1 where all pairs may stay where they are, else less: no chain is periodic."""
    stay = np.zeros(len(model.cost))
    pair = np.repeat(np.arange(len(model.cost)), np.diff(model.matrix.indptr))
    own = model.matrix.indices == model.state[pair]
    stay[pair[own]] = model.matrix.data[own]
    return 1.0 if stay.min() >= 0.1 else 0.9


def _iterate_policy(
    model: Model, label: np.ndarray, operator: Any, h: np.ndarray, d: np.ndarray, choice: np.ndarray,
    tol: float, max_iter: int,
) -> tuple[int, float, float]:  # fmt: skip
    """Policy iteration: evaluate, take the recurrent class of least gain, lead all states to it, improve.

    Stops where a policy comes back or its bounds are within tol; `h`, `d` and `choice` are those of the last
    bounds.
    """
    operator.bounds(h, d, choice)
    done, lower, upper = 0, -np.inf, np.inf
    while done < min(max_iter, MOST_POLICIES):
        gain, bias, classes = evaluate_policy(model.matrix[choice], model.cost[choice])
        if classes.max() > 0:
            best = classes[np.flatnonzero(classes >= 0)[np.argmin(gain[classes >= 0])]]
            towards = pairs_towards(model, classes == best)
            choice[towards >= 0] = towards[towards >= 0]
            _, bias, _ = evaluate_policy(model.matrix[choice], model.cost[choice])
        if not np.isfinite(bias).all():
            break
        h[:] = bias
        done += 1
        before = choice.copy()
        noise = min(0.25 * tol, 1e-13 * (1.0 + float(np.abs(h).max())))
        lower, upper = operator.bounds(h, d, choice, noise)
        if upper - lower <= tol or (choice == before).all():
            break
    return done, lower, upper
