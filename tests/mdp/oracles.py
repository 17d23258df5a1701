"""Linear programmes that the solvers of Markov decision processes must agree with."""

import numpy as np
from scipy.optimize import linprog


def pairs_of(matrices, cost):
    """Rows, costs and states of the allowed pairs."""
    states, actions = np.nonzero(np.isfinite(cost))
    rows = np.array([matrices[a][s] for s, a in zip(states, actions)])
    return rows, cost[states, actions], states


def multichain_gain(matrices, cost):
    """Least gain from each first state: maximise sum g, g <= P g, g + h <= c + P h (Puterman, 9.3)."""
    rows, costs, states = pairs_of([np.asarray(m) for m in matrices], cost)
    n = len(cost)
    own = np.eye(n)[states]
    upper = np.block([[own - rows, np.zeros_like(rows)], [own, own - rows]])
    right = np.concatenate([np.zeros(len(states)), costs])
    found = linprog(np.r_[-np.ones(n), np.zeros(n)], upper, right, bounds=(None, None), method="highs")
    assert found.status == 0, found.message
    return found.x[:n]


def discounted_value(matrices, cost, discount):
    """Least discounted cost: maximise sum v with v <= c + discount P v."""
    rows, costs, states = pairs_of([np.asarray(m) for m in matrices], cost)
    n = len(cost)
    found = linprog(
        -np.ones(n), np.eye(n)[states] - discount * rows, costs, bounds=(None, None), method="highs"
    )
    assert found.status == 0, found.message
    return found.x


def random_model(rng, n_states, n_actions, arcs, forbid=0.2):
    """Random matrices with `arcs` transitions a row, random costs, some actions forbidden."""
    matrices = np.zeros((n_actions, n_states, n_states))
    for a in range(n_actions):
        for s in range(n_states):
            targets = rng.choice(n_states, size=min(arcs, n_states), replace=False)
            matrices[a, s, targets] = rng.dirichlet(np.ones(len(targets)))
    cost = rng.uniform(-1, 1, (n_states, n_actions))
    banned = rng.random(cost.shape) < forbid
    banned[np.arange(n_states), rng.integers(n_actions, size=n_states)] = False
    return matrices, np.where(banned, np.inf, cost)
