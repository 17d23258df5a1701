"""Exact Markov chains of small problems, built state by state from the papers' rules.

One step is one poll with random access in the Bernoulli environment. Every chain is a list of states, a
transition matrix, and for each state the chance that its next poll finds a change.
"""

from itertools import count, product

import numpy as np
from scipy.sparse.csgraph import connected_components

from knapsolve.environments import BernoulliEnvironment

SCHEMES = {"reward-penalty": (1, 1), "reward-inaction": (1, 0), "inaction-penalty": (0, 1)}


def stationary(P):
    """Stationary distribution without subtractions (Grassmann et al. 1985): small entries keep digits."""
    n_classes, label = connected_components(np.array(P) > 0, connection="strong")
    closed = [c for c in range(n_classes) if not P[np.ix_(label == c, label != c)].any()]
    assert len(closed) == 1, "the chain must end in one class of states"
    inside = np.flatnonzero(label == closed[0])
    A = np.array(P[np.ix_(inside, inside)], dtype=float)
    n = len(A)
    for k in range(n - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    pi = np.ones(n)
    for k in range(1, n):
        pi[k] = pi[:k] @ A[:k, k]
    everywhere = np.zeros(len(P))
    everywhere[inside] = pi / pi.sum()
    return everywhere


class Chain:
    def __init__(self, states, steps, amounts, unchanged):
        """`steps(state)` yields (probability, changed, next state); `amounts(state)` the amounts."""
        self.states = states
        where = {state: k for k, state in enumerate(states)}
        P, self.reward = np.zeros((len(states),) * 2), np.zeros(len(states))
        for k, state in enumerate(states):
            for probability, changed, after in steps(state):
                P[k, where[after]] += probability
                self.reward[k] += probability * changed
        assert np.allclose(P.sum(axis=1), 1, atol=1e-13)
        self.P = P
        self.amounts = np.array([amounts(state) for state in states])
        world = BernoulliEnvironment(unchanged)
        self.value = np.array([world.value(x) for x in self.amounts])
        self.pi = stationary(P)


def polls(amounts, unchanged):
    """(probability, material, changed) of the next poll."""
    total = sum(amounts)
    for i, (x, q) in enumerate(zip(amounts, unchanged)):
        d = 1 - q ** (1 / x)
        yield x / total * d, i, 1
        yield x / total * (1 - d), i, 0


def lakg_chain(resolution, exponent, unchanged, capacity=1.0):
    n = len(unchanged)

    def amounts(state):
        return [(s / resolution) ** exponent for s in state]

    def steps(state):
        full = sum(amounts(state)) >= capacity - 1e-9
        for probability, i, v in polls(amounts(state), unchanged):
            move = 1 if v and not full else -1 if full and not v else 0
            s = min(max(state[i] + move, 1), resolution)
            yield probability, v, (*state[:i], s, *state[i + 1 :])

    return Chain(list(product(range(1, resolution + 1), repeat=n)), steps, amounts, unchanged)


def htraa_chain(resolution, update, unchanged, capacity=1.0, exponent=1.0):
    """A state is that of each automaton, the root first; of m materials below one, ceil(m / 2) are on its left."""
    on_reward, on_penalty = SCHEMES[update]
    n = len(unchanged)
    paths, automata = [[] for _ in unchanged], count()

    def split(first, m):
        if m > 1:
            automaton, left = next(automata), (m + 1) // 2
            for i in range(first, first + m):
                paths[i].append((automaton, int(i >= first + left)))
            split(first, left)
            split(first + left, m - left)

    split(0, n)

    def share(s, side):
        left = s**exponent / (s**exponent + (resolution + 1 - s) ** exponent)
        return 1 - left if side else left

    def amounts(state):
        return [capacity * np.prod([share(state[a], side) for a, side in path]) for path in paths]

    def steps(state):
        for probability, i, v in polls(amounts(state), unchanged):
            towards = on_reward if v else -on_penalty
            for opens in product((0, 1), repeat=len(paths[i])):
                after, weight = list(state), probability
                for (automaton, side), gate in zip(paths[i], opens):
                    other = share(state[automaton], 1 - side)
                    weight *= other if gate else 1 - other
                    moved = state[automaton] + gate * (-towards if side else towards)
                    after[automaton] = min(max(moved, 1), resolution)
                yield weight, v, tuple(after)

    return Chain(list(product(range(1, resolution + 1), repeat=n - 1)), steps, amounts, unchanged)
