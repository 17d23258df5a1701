import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from knapsolve.mdp import solve_average_cost, structure
from knapsolve.mdp.evaluate import evaluate_policy
from knapsolve.mdp.model import check_model
from knapsolve.mdp.structure import end_components, pairs_towards, recurrent_classes, unavoidable_state
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


def test_a_residual_that_is_no_number_bounds_nothing():
    model = check_model([np.full((3, 3), 1 / 3)], [1.0, 2.0, 3.0])
    h, d, choice = np.array([0.0, np.inf, 1.0]), np.empty(3), np.arange(3)
    assert model.operator().bounds(h, d, choice) == (-np.inf, np.inf)
    assert model.operator().iterate(h, d, choice, 1.0, True, 1e-9, 5, 0) == (5, -np.inf, np.inf)


def recurrent_sets(matrices, allowed):
    """The recurrent classes of all deterministic policies, policy by policy."""
    choices = [np.flatnonzero(row) for row in allowed]
    for policy in itertools.product(*choices):
        chain = np.array([matrices[a][s] for s, a in enumerate(policy)])
        label = recurrent_classes(csr_matrix(chain))
        yield [set(np.flatnonzero(label == c)) for c in range(label.max() + 1)]


@pytest.mark.slow
def test_a_model_is_called_unichain_just_where_all_policies_share_a_recurrent_state():
    rng = np.random.default_rng(5)
    seen = {"unichain": 0, "communicating": 0, "weakly communicating": 0, "multichain": 0}
    for _ in range(400):
        matrices, cost = random_model(rng, rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 4))
        classes = list(recurrent_sets(matrices, np.isfinite(cost)))
        shared = set.intersection(*(c for policy in classes for c in policy))
        together = brute_force_components(matrices, np.isfinite(cost))
        one = (together.any(axis=1)[:, None] & together.any(axis=1) <= together).all()
        expected = "multichain" if not one else "communicating" if together.all() else "weakly communicating"
        name = solve_average_cost(list(matrices), cost).structure
        seen[name] += 1
        assert name == ("unichain" if shared else expected)
        assert name != "unichain" or all(len(policy) == 1 for policy in classes)
    assert min(seen.values()) > 2


def test_a_unichain_model_whose_classes_share_no_state_is_named_by_what_is_certain():
    # one class under every policy, of any two neighbours on a triangle: no state is in all of them
    matrices = np.zeros((2, 3, 3))
    for s in range(3):
        matrices[0, s, (s + 1) % 3] = matrices[1, s, (s + 2) % 3] = 1.0
    classes = list(recurrent_sets(matrices, np.ones((3, 2), dtype=bool)))
    assert all(len(policy) == 1 for policy in classes)
    assert solve_average_cost(list(matrices), np.zeros(3)).structure == "communicating"


def test_a_walk_that_drains_state_by_state_is_peeled_in_one_pass(monkeypatch):
    n, passes = 300, []
    walk = np.zeros((n, n))
    walk[np.arange(1, n), np.arange(n - 1)] = walk[np.arange(1, n - 1), np.arange(2, n)] = 0.5
    walk[0, 0], walk[-1, -1] = 1.0, 0.5
    components = structure._components
    monkeypatch.setattr(structure, "_components", lambda *graph: passes.append(1) or components(*graph))
    label, pairs = structure.end_components(check_model([walk], np.zeros(n)))
    assert label.tolist() == [0] + [-1] * (n - 1)
    assert pairs.tolist() == [True] + [False] * (n - 1)
    assert len(passes) == 2


def test_the_search_for_an_unavoidable_state_is_given_up_after_a_while(monkeypatch):
    ways = [np.roll(np.eye(50), 1, axis=1), np.eye(50)]
    model = check_model(ways, np.zeros((50, 2)))
    monkeypatch.setattr(structure, "MOST_ARCS", 1)
    assert unavoidable_state(model, np.zeros(50, dtype=int)) is None
