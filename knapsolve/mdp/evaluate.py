"""Exact evaluation of a stationary policy: gain and bias of each state, whatever its recurrent classes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, hstack, spmatrix
from scipy.sparse.linalg import splu

from knapsolve.mdp.structure import recurrent_classes


def solve_sparse(matrix: spmatrix, right: np.ndarray) -> np.ndarray:
    """Solution of a sparse system, with one step of refinement; NaN where it is singular."""
    matrix = csc_matrix(matrix)
    try:
        factor = splu(matrix)
    except RuntimeError:  # exactly singular
        return np.full(len(right), np.nan)
    x = factor.solve(right)
    return x + factor.solve(right - matrix @ x)


def departures(rows: csr_matrix, own: np.ndarray) -> csr_matrix:
    """I - P for rows (m, n) of a stochastic P, own (m,) the column of each row's state.

    1 - p_ii is taken as the sum of the others, which keeps the least chance to leave.
    """
    entry = coo_matrix(rows)
    other = entry.col != own[entry.row]
    off = csr_matrix((entry.data[other], (entry.row[other], entry.col[other])), rows.shape)
    leave = np.asarray(off.sum(axis=1)).ravel()
    return csr_matrix(csr_matrix((leave, (np.arange(len(own)), own)), rows.shape) - off)


def evaluate_class(chain: csr_matrix, cost: np.ndarray) -> tuple[float, np.ndarray]:
    """Gain and bias (zero at state 0) of an irreducible chain: the gain is solved for in place of bias 0."""
    system = csc_matrix(departures(chain, np.arange(len(cost))))
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
        within = departures(chain[states], states)[:, states]
        outward = chain[states][:, rest]
        gain[states] = solve_sparse(within, outward @ gain[rest])
        bias[states] = solve_sparse(within, cost[states] - gain[states] + outward @ bias[rest])
    return gain, bias, label
