"""A finite Markov decision process, checked once and laid out by state-action pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, issparse, vstack

from knapsolve._core.bellman import Bellman

ROW_TOLERANCE = 1e-8
LARGEST_COST = 1e150  # so that no sum overflows


@dataclass(frozen=True, eq=False)
class Model:
    """The pairs (state, action) that are allowed, sorted by state.

    matrix (M, S) holds the transition probabilities of the pairs, cost (M,) their costs a step, state (M,)
    and action (M,) say which they are, and first (S + 1,) where the pairs of each state begin.
    """

    matrix: csr_matrix
    cost: np.ndarray
    state: np.ndarray
    action: np.ndarray
    first: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.first) - 1

    @cached_property
    def inward(self) -> csc_matrix:
        """The matrix by columns: which pairs may enter a state."""
        return self.matrix.tocsc()

    def operator(self, discount: float = 1.0) -> Bellman:
        """The compiled Bellman operator."""
        m = self.matrix
        return Bellman(self.first, m.indptr.astype(np.intp), m.indices.astype(np.int32), m.data, self.cost, discount)

    def restricted(self, states: np.ndarray, pairs: np.ndarray) -> Model:
        """The model of some states (indices) with some of their pairs (booleans) that do not leave them."""
        kept = np.flatnonzero(pairs & np.isin(self.state, states))
        number = np.full(self.n_states, -1)
        number[states] = np.arange(len(states))
        state = number[self.state[kept]]
        first = np.searchsorted(state, np.arange(len(states) + 1))
        matrix = csr_matrix(self.matrix[kept][:, states])
        return Model(matrix, self.cost[kept], state, self.action[kept], first.astype(np.intp))


def check_model(transitions: Any, cost: Any) -> Model:
    """The model that these transition matrices and costs describe, or an error that says what is wrong."""
    matrices = _check_transitions(transitions)
    n, n_actions = matrices[0].shape[0], len(matrices)
    costs = _check_cost(cost, n, n_actions)
    state, action = np.nonzero(np.isfinite(costs))
    stacked = csr_matrix(vstack(matrices, format="csr")[action * n + state])
    stacked.sum_duplicates()
    stacked.eliminate_zeros()
    _check_rows(stacked, state, action)
    sums = np.asarray(stacked.sum(axis=1)).ravel()
    stacked.data /= np.repeat(sums, np.diff(stacked.indptr))
    first = np.searchsorted(state, np.arange(n + 1)).astype(np.intp)
    return Model(stacked, costs[state, action], state, action, first)


def _check_transitions(transitions: Any) -> list[csr_matrix]:
    """One square matrix of real numbers per action, all of one size."""
    if issparse(transitions) or not isinstance(transitions, (Sequence, np.ndarray)):
        raise TypeError(f"transitions must be a sequence of matrices, one per action, got {type(transitions).__name__}")
    if len(transitions) == 0:
        raise ValueError("transitions must hold at least one matrix, got none")
    matrices = []
    for a, given in enumerate(transitions):
        try:
            matrix = csr_matrix(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"transitions[{a}] must be a matrix of real numbers, got {type(given).__name__}") from error
        if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
            raise ValueError(f"transitions[{a}] must be square and not empty, got shape {matrix.shape}")
        matrices.append(matrix)
        if matrix.shape != matrices[0].shape:
            raise ValueError(
                f"transitions[{a}] must have the shape of transitions[0], {matrices[0].shape}, got {matrix.shape}"
            )
    return matrices


def _check_cost(cost: Any, n: int, n_actions: int) -> np.ndarray:
    """Costs (n, n_actions): finite, or infinite where an action is not allowed; one allowed in each state."""
    try:
        costs = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cost must be an array of real numbers, got {type(cost).__name__}") from error
    if costs.shape == (n,):
        costs = np.repeat(costs[:, None], n_actions, axis=1)
    if costs.shape != (n, n_actions):
        raise ValueError(f"cost must have shape ({n},) or ({n}, {n_actions}), got {costs.shape}")
    bad = ~((np.abs(costs) <= LARGEST_COST) | (costs == np.inf))
    if bad.any():
        where = np.argwhere(bad)[0]
        raise ValueError(
            f"cost must be in [-{LARGEST_COST:g}, {LARGEST_COST:g}], or inf for an action that is not allowed, "
            f"got {costs[tuple(where)]} at state {where[0]}, action {where[1]}"
        )
    none = ~np.isfinite(costs).any(axis=1)
    if none.any():
        raise ValueError(f"cost must allow an action in each state, got none in state {int(np.argmax(none))}")
    return costs


def _check_rows(matrix: csr_matrix, state: np.ndarray, action: np.ndarray) -> None:
    """Probabilities that are not negative and sum to 1, for each allowed pair."""
    bad = ~(np.isfinite(matrix.data) & (matrix.data >= 0.0))
    if bad.any():
        z = int(np.argmax(bad))
        pair = int(np.searchsorted(matrix.indptr, z, side="right")) - 1
        raise ValueError(
            f"transitions[{action[pair]}] must hold probabilities, got {matrix.data[z]} in row {state[pair]}"
        )
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    bad = ~(np.abs(sums - 1.0) <= ROW_TOLERANCE)
    if bad.any():
        pair = int(np.argmax(bad))
        raise ValueError(
            f"transitions[{action[pair]}] must have rows that sum to 1, got {sums[pair]} in row {state[pair]}"
        )
