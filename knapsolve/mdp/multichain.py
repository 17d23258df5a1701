"""Models whose policies can settle in separate sets of states: where to settle, from each first state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from knapsolve.mdp.evaluate import departures, evaluate_policy, solve_sparse
from knapsolve.mdp.model import Model
from knapsolve.mdp.result import MDPResult
from knapsolve.mdp.structure import pairs_towards


def solve_multichain(model: Model, label: np.ndarray, pairs: np.ndarray, parts: Sequence[MDPResult]) -> MDPResult:
    """Join the solutions of the end components (label, pairs as by `end_components`) into one.

    Each component is one node that may stop at its own gain, or leave by a pair of any of its states; every
    way to choose ends in a stop, so that policy iteration on the nodes is exact.
    """
    leave, stop, _ = _settle(model, label, pairs, np.array([p.gain for p in parts]))
    node = _nodes(label)
    choice = _choices(model, label, pairs, parts, leave, stop, node)
    gain, bias, _ = evaluate_policy(model.matrix[choice], model.cost[choice])
    lower = _settle(model, label, pairs, np.array([p.lower for p in parts]))[2][node]
    upper = _expected(model, node, leave, stop, np.array([p.upper for p in parts]))[node]
    slack = 1e-13 * (1.0 + np.abs(gain))
    n_iter = max(p.n_iter for p in parts)
    lower, upper = np.minimum(lower, gain) - slack, np.maximum(upper, gain) + slack
    return MDPResult(gain, lower, upper, bias, model.action[choice], n_iter, "multichain")


def _nodes(label: np.ndarray) -> np.ndarray:
    """Node of each state: its component, or one of its own."""
    node = label.copy()
    alone = label < 0
    node[alone] = label.max() + 1 + np.arange(alone.sum())
    return node


def _expected(model: Model, node: np.ndarray, leave: np.ndarray, stop: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Expected gain from each node: those of `stop` stop, the others go on by the pair in `leave`."""
    n = len(leave)
    join = csr_matrix((np.ones(len(node)), (np.arange(len(node)), node)), (len(node), n))
    going = np.flatnonzero(~stop)
    value = np.zeros(n)
    value[stop] = gains[np.flatnonzero(stop)]
    if len(going):
        rows = csr_matrix(model.matrix[leave[going]] @ join)
        value[going] = solve_sparse(departures(rows, going)[:, going], rows @ value)
    return value


def _settle(
    model: Model, label: np.ndarray, pairs: np.ndarray, gains: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each node the pair to leave by, whether to stop there, and the expected gain."""
    node = _nodes(label)
    n, out = node.max() + 1, np.flatnonzero(~pairs)
    source = node[model.state[out]]
    stop = np.arange(n) <= label.max()
    leave = np.full(n, -1)
    leave[source] = out
    staying = np.full(n, np.inf)
    staying[: label.max() + 1] = gains
    while True:
        value = _expected(model, node, leave, stop, gains)
        offer = np.asarray(model.matrix[out] @ value[node]).ravel()
        order = np.lexsort((offer, source))
        nodes, where = np.unique(source[order], return_index=True)
        leaving, pair = np.full(n, np.inf), np.full(n, -1)
        leaving[nodes], pair[nodes] = offer[order[where]], out[order[where]]
        better = np.minimum(leaving, staying) < value - 1e-13 * (1.0 + np.abs(value))
        if not better.any():
            return leave, stop, value
        leave[better], stop[better] = pair[better], (staying <= leaving)[better]


def _choices(
    model: Model, label: np.ndarray, pairs: np.ndarray, parts: Sequence[MDPResult], leave: np.ndarray,
    stop: np.ndarray, node: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """A pair for each state: the component's own policy where it stops, else the way to its exit, and out."""
    choice = np.full(model.n_states, -1)
    key = model.state * (model.action.max() + 1) + model.action
    for c, part in enumerate(parts):
        states = np.flatnonzero(label == c)
        if stop[c]:
            choice[states] = np.searchsorted(key, states * (model.action.max() + 1) + part.policy)
            continue
        goal = np.zeros(model.n_states, dtype=bool)
        goal[model.state[leave[c]]] = True
        choice[states] = pairs_towards(model, goal, pairs)[states]
        choice[model.state[leave[c]]] = leave[c]
    alone = label < 0
    choice[alone] = leave[node[alone]]
    return choice
