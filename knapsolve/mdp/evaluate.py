"""Exact evaluation of a stationary policy: gain and bias of each state, whatever its recurrent classes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, hstack, identity, spmatrix
from scipy.sparse.linalg import splu

from knapsolve.mdp.structure import recurrent_classes


def solve_sparse(matrix: spmatrix, right: np.ndarray) -> np.ndarray:
    """Solution of a sparse system, with one step of refinement."""
    matrix = csc_matrix(matrix)
    factor = splu(matrix)
    x = factor.solve(right)
    return x + factor.solve(right - matrix @ x)


def evaluate_class(chain: csr_matrix, cost: np.ndarray) -> tuple[float, np.ndarray]:
    """Gain and bias (zero at state 0) of an irreducible chain: the gain is solved for in place of bias 0."""
    system = csc_matrix(identity(len(cost), format="csc") - chain)
    solution = solve_sparse(hstack([np.ones((len(cost), 1)), system[:, 1:]]), cost)
    gain, solution[0] = float(solution[0]), 0.0
    return gain, solution


def evaluate_policy(chain: csr_matrix, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain, bias (zero at the first state of each class) and recurrent class of a policy's chain, (n,) each.

    References
    ----------
    M. L. Puterman, "Markov Decision Processes", 1994, Theorem 8.2.6.
    """
    label = recurrent_classes(chain)
    gain, bias = np.zeros(len(cost)), np.zeros(len(cost))
    for c in range(label.max() + 1):
        states = np.flatnonzero(label == c)
        gain[states], bias[states] = evaluate_class(chain[states][:, states], cost[states])
    states, rest = np.flatnonzero(label < 0), np.flatnonzero(label >= 0)
    if len(states):
        within = identity(len(states), format="csr") - chain[states][:, states]
        outward = chain[states][:, rest]
        gain[states] = solve_sparse(within, outward @ gain[rest])
        bias[states] = solve_sparse(within, cost[states] - gain[states] + outward @ bias[rest])
    return gain, bias, label
