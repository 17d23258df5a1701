"""Which states of a model hang together: end components, recurrent classes, and ways to reach them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from knapsolve.mdp.model import Model

MOST_ARCS = 5_000_000  # to look at in search of an unavoidable state: about a second


def _components(n: int, source: np.ndarray, target: np.ndarray) -> tuple[int, np.ndarray]:
    """Strongly connected components of a graph of n states."""
    graph = csr_matrix((np.ones(len(source), dtype=np.int8), (source, target)), (n, n))
    return connected_components(graph, connection="strong")


def _pairs_into(model: Model, states: np.ndarray) -> np.ndarray:
    """The pairs that may enter these states, each once."""
    inward = model.inward
    rows = [inward.indices[inward.indptr[j] : inward.indptr[j + 1]] for j in states]
    return np.unique(np.concatenate(rows)) if rows else np.empty(0, dtype=np.intp)


def end_components(model: Model, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Maximal end components: sets of states within which some policy can stay, and go everywhere.

    Parameters
    ----------
    model : Model
        The model.
    allowed : ndarray of shape (n_pairs,), bool, optional
        The pairs that policies may use; all by default.

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
    alive = np.ones(len(model.cost), dtype=bool) if allowed is None else allowed.copy()
    left = np.bincount(model.state[alive], minlength=model.n_states)  # pairs alive, by state
    while True:
        arcs = alive[pair]
        _, label = _components(model.n_states, model.state[pair[arcs]], target[arcs])
        leaving = np.zeros(len(alive), dtype=bool)
        leaving[pair[label[target] != label[model.state[pair]]]] = True
        rows = np.flatnonzero(alive & leaving)
        if len(rows) == 0:
            break
        while len(rows):  # a state without pairs takes those along that may enter it
            alive[rows] = False
            states = model.state[rows]
            np.subtract.at(left, states, 1)
            rows = _pairs_into(model, np.unique(states[left[states] == 0]))
            rows = rows[alive[rows]]
    within = np.full(model.n_states, -1)
    if not alive.any():
        return within, alive
    members = np.unique(model.state[alive])
    within[members] = np.unique(label[members], return_inverse=True)[1]
    return within, alive


def unavoidable_state(model: Model, label: np.ndarray) -> int | None:
    """A state that every policy visits again and again from everywhere: where there is one, the model is unichain.

    A state is one unless some policy can settle without it, that is, unless an end component avoids it; all
    of them lie in every end component, so that each failure rules out many. O(arcs) an attempt. After
    `MOST_ARCS` arcs looked at, at least one attempt, the search is given up and None returned.

    References
    ----------
    E. A. Feinberg and F. Yang, "On polynomial cases of the unichain classification problem for Markov decision
    processes", Operations Research Letters 36 (2008) 527-530.
    """
    candidates = np.flatnonzero(label == 0)
    for _ in range(max(1, MOST_ARCS // max(model.matrix.nnz, 1))):
        if len(candidates) == 0:
            return None
        state = candidates[len(candidates) // 2]
        allowed = model.state != state
        allowed[_pairs_into(model, candidates[[len(candidates) // 2]])] = False
        without, _ = end_components(model, allowed)
        if without.max() < 0:
            return int(state)
        sizes = np.bincount(without[without >= 0])
        candidates = candidates[without[candidates] == np.argmin(sizes)]
    return None


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
    frontier = np.flatnonzero(goal)
    while len(frontier):
        rows = _pairs_into(model, frontier)
        rows = rows[~reached[model.state[rows]]]
        if pairs is not None:
            rows = rows[pairs[rows]]
        states, where = np.unique(model.state[rows], return_index=True)
        chosen[states] = rows[where]
        reached[states] = True
        frontier = states
    return chosen
