"""Which states of a model hang together: end components, recurrent classes, and ways to reach them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from knapsolve.mdp.model import Model


def _components(n: int, source: np.ndarray, target: np.ndarray) -> tuple[int, np.ndarray]:
    """Strongly connected components of a graph of n states."""
    graph = csr_matrix((np.ones(len(source), dtype=np.int8), (source, target)), (n, n))
    return connected_components(graph, connection="strong")


def end_components(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Maximal end components: sets of states within which some policy can stay, and go everywhere.

    Returns
    -------
    label : ndarray of shape (n_states,)
        The component of each state from 0 up, -1 for states that every policy leaves for good.
    pairs : ndarray of shape (n_pairs,), bool
        The pairs that stay within their component.

    References
    ----------
    L. de Alfaro, "Formal Verification of Probabilistic Systems", 1997, Section 3.3.
    """
    pair = np.repeat(np.arange(len(model.cost)), np.diff(model.matrix.indptr))
    target = model.matrix.indices
    alive = np.ones(len(model.cost), dtype=bool)
    while True:
        arcs = alive[pair]
        _, label = _components(model.n_states, model.state[pair[arcs]], target[arcs])
        leaving = np.zeros(len(alive), dtype=bool)
        leaving[pair[label[target] != label[model.state[pair]]]] = True
        if not (alive & leaving).any():
            break
        alive &= ~leaving
    within = np.full(model.n_states, -1)
    members = np.unique(model.state[alive])
    within[members] = np.unique(label[members], return_inverse=True)[1]
    return within, alive


def recurrent_classes(chain: csr_matrix) -> np.ndarray:
    """The recurrent class of each state of a Markov chain from 0 up, -1 for transient states."""
    n = chain.shape[0]
    source, target = chain.nonzero()
    count, label = _components(n, source, target)
    closed = np.ones(count, dtype=bool)
    closed[label[source[label[source] != label[target]]]] = False
    number = np.where(closed, np.cumsum(closed) - 1, -1)
    return number[label]


def pairs_towards(model: Model, goal: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
    """For each state a pair that may come closer to the goal states (booleans); -1 in them or where none may.

    Under these pairs every state of an end component reaches a goal within it with certainty.
    """
    chosen = np.full(model.n_states, -1)
    reached = goal.copy()
    inward = model.matrix.tocsc()
    frontier = np.flatnonzero(goal)
    while len(frontier):
        rows = np.unique(
            np.concatenate([inward.indices[inward.indptr[j] : inward.indptr[j + 1]] for j in frontier])
        )
        rows = rows[~reached[model.state[rows]]]
        if pairs is not None:
            rows = rows[pairs[rows]]
        states, where = np.unique(model.state[rows], return_index=True)
        chosen[states] = rows[where]
        reached[states] = True
        frontier = states
    return chosen
