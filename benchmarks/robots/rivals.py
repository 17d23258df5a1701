"""The robots' control problem given to other packages, in the form that each wants."""

import numpy as np
import pytest
from scipy.sparse import diags, vstack

from knapsolve.robots import explicit_model


def problem(robots, buffer):
    """Load 1 with all robots active, and the weight whose static optimum that is."""
    return robots, buffer, 1.0 / robots, (buffer + 2) / buffer


def full_model(robots, buffer):
    """Two actions in every state: a forbidden one does what the other does."""
    transitions, cost, _ = explicit_model(*problem(robots, buffer))
    full = []
    for a in (0, 1):
        missing = np.isinf(cost[:, a]).astype(float)
        full.append((diags(1.0 - missing) @ transitions[a] + diags(missing) @ transitions[1 - a]).tocsr())
    return full, np.where(np.isinf(cost), cost[:, ::-1], cost)


def mdpsolver_average(robots, buffer):
    """mdpsolver (C++): modified policy iteration, average cost; it returns no gain."""
    mdpsolver = pytest.importorskip("mdpsolver")
    transitions, cost = full_model(robots, buffer)
    rows = []
    for a, matrix in enumerate(transitions):
        coo = matrix.tocoo()
        rows += [[int(i), a, int(j), float(p)] for i, j, p in zip(coo.row, coo.col, coo.data)]
    rows.sort()

    def fresh():  # a model that was solved before starts from its solution
        model = mdpsolver.model()
        model.mdp(rewards=(-cost).tolist(), tranMatElementwise=rows)
        return lambda: model.solve(algorithm="mpi", tolerance=1e-8, criterion="average", parallel=False)

    return fresh


def quantecon_discounted(robots, buffer):
    """QuantEcon: policy iteration at discount .99999, its nearest to an average cost."""
    quantecon = pytest.importorskip("quantecon")
    transitions, cost = full_model(robots, buffer)
    n = len(cost)
    state, action = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    pairs = vstack(transitions, format="csr")[np.arange(2 * n).reshape(2, n).T.ravel()]
    model = quantecon.markov.DiscreteDP(-cost.ravel(), pairs, 0.99999, state, action)
    return lambda: lambda: model.solve(method="policy_iteration")
