import itertools

import numpy as np

from knapsolve.mdp.evaluate import evaluate_policy
from knapsolve.mdp.model import check_model
from knapsolve.mdp.structure import end_components, pairs_towards, recurrent_classes
from tests.mdp.oracles import random_model


def brute_force_components(matrices, allowed):
    """States that share a closed strongly connected set under some actions, by trying all subsets."""
    n = allowed.shape[0]
    together = np.zeros((n, n), dtype=bool)
    for size in range(1, n + 1):
        for subset in itertools.combinations(range(n), size):
            inside = np.isin(np.arange(n), subset)
            arcs = np.zeros((n, n), dtype=bool)
            for s in subset:
                for a, matrix in enumerate(matrices):
                    if allowed[s, a] and not (matrix[s][~inside] > 0).any():
                        arcs[s] |= matrix[s] > 0
            reach = arcs.copy()
            for _ in range(n):
                reach |= (reach.astype(int) @ arcs) > 0
            if reach[np.ix_(subset, subset)].all():
                together[np.ix_(subset, subset)] = True
    return together


def test_end_components_equal_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(150):
        matrices, cost = random_model(rng, rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 3))
        label, pairs = end_components(check_model(list(matrices), cost))
        ours = (label[:, None] == label[None, :]) & (label >= 0)[:, None]
        assert (ours == brute_force_components(matrices, np.isfinite(cost))).all()
        assert pairs.any() == (label >= 0).any()


def test_recurrent_classes_are_those_of_the_limit():
    rng = np.random.default_rng(1)
    for _ in range(60):
        matrices, _ = random_model(rng, rng.integers(1, 8), 1, rng.integers(1, 3))
        label = recurrent_classes(check_model(list(matrices), np.zeros(len(matrices[0]))).matrix)
        limit = np.linalg.matrix_power(0.5 * (matrices[0] + np.eye(len(label))), 2**20)
        assert ((np.diag(limit) > 1e-9) == (label >= 0)).all()
        for i, j in itertools.product(np.flatnonzero(label >= 0), repeat=2):
            assert (limit[i, j] > 1e-9) == (label[i] == label[j])


def test_evaluation_equals_the_limit_of_powers():
    rng = np.random.default_rng(2)
    for _ in range(60):
        matrices, cost = random_model(rng, rng.integers(1, 8), 1, rng.integers(1, 3), forbid=0.0)
        chain = check_model(list(matrices), cost[:, 0]).matrix
        gain, bias, label = evaluate_policy(chain, cost[:, 0])
        limit = np.linalg.matrix_power(0.5 * (matrices[0] + np.eye(len(label))), 2**20)
        np.testing.assert_allclose(gain, limit @ cost[:, 0], atol=1e-6)
        np.testing.assert_allclose(gain + bias, cost[:, 0] + matrices[0] @ bias, atol=1e-9)


def test_the_way_to_a_goal_reaches_it_for_certain():
    rng = np.random.default_rng(3)
    for _ in range(60):
        matrices, cost = random_model(rng, 8, 2, 2)
        matrices[0] = np.roll(np.eye(8), 1, axis=1)
        cost[:, 0] = 0.0
        model = check_model(list(matrices), cost)
        goal = np.arange(8) == rng.integers(8)
        chosen = pairs_towards(model, goal)
        chain = model.matrix[np.where(goal, model.first[:-1], chosen)].toarray()
        chain[goal] = np.eye(8)[goal]
        np.testing.assert_allclose(np.linalg.matrix_power(chain, 2**14)[:, goal], 1, atol=1e-9)


def test_a_sweep_equals_its_twin():
    rng = np.random.default_rng(4)
    for discount in (1.0, 0.9, 0.0):
        matrices, cost = random_model(rng, 9, 3, 4)
        model = check_model(list(matrices), cost)
        h, d, choice = rng.normal(size=9), np.empty(9), model.first[:-1].copy()
        lower, upper = model.operator(discount).bounds(h, d, choice)
        q = cost + discount * np.einsum("aij,j->ia", matrices, h)
        np.testing.assert_allclose(d, q.min(axis=1) - h, atol=1e-13)
        assert (model.action[choice] == q.argmin(axis=1)).all()
        assert lower <= d.min() <= d.max() <= upper
        assert upper - lower < d.max() - d.min() + 1e-12
