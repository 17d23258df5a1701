"""The tree of shares: gates of polls that no walk drew, and the room that blocks take."""

import numpy as np
import pytest

from knapsolve import HTRAA
from knapsolve._core.schedulers import DeadlineOrder


@pytest.mark.slow
@pytest.mark.parametrize("resolution", [511, 700])
def test_gates_of_a_visit_open_with_the_other_side_s_share_and_independently(resolution):
    """A rewarded poll of the first or last of 256 materials moves each of the 8 automata with chance 1/2 or so."""
    n, depth, runs = 256, 8, 1_000
    moved = np.empty((runs, 2 * depth))
    for run in range(runs):
        learner = HTRAA(resolution=resolution, n_materials=n, update="reward-inaction", random_state=run)
        learner.fit([[0, 1.0], [n - 1, 1.0], [1, 1.0], [n - 2, 1.0]], [1, 0, 0, 0])  # the last three move nothing
        left = learner.states_[2 ** np.arange(depth)]
        learner.fit([[n - 1, 1.0], [0, 1.0]], [1, 0])
        right = learner.states_[2 ** np.arange(1, depth + 1) - 1]
        moved[run] = np.concatenate([left, right]) != (resolution + 1) // 2
    start = (resolution + 1) // 2 / (resolution + 1)
    chance = np.repeat([1 - start, start], depth)
    error = np.sqrt(chance * (1 - chance) / runs)
    assert np.abs((moved.mean(axis=0) - chance) / error).max() < 4.5
    for sides in (moved[:, :depth], moved[:, depth:]):
        off_diagonal = np.corrcoef(sides.T)[np.triu_indices(depth, 1)]
        assert np.abs(off_diagonal).max() * np.sqrt(runs) < 4.5


@pytest.mark.parametrize("n", [2, 8, 9, 64, 65, 1000, 1500, 4096, 4097, 8193, 32_769, 65_537, 90_000, 131_073, 262_145])
def test_a_material_takes_at_most_40_bytes(n):
    """States, leaves and queue; the tree alone at most 14."""
    learner = HTRAA()
    learner._begin(n)
    tree = learner._blocks.nbytes + learner._leaf_of.nbytes
    assert tree <= 14 * n + 64
    assert tree + sum(part.nbytes for part in DeadlineOrder.allocate(n)) <= 40 * n + 600


@pytest.mark.parametrize("known", [3, 9, 33, 300])
def test_a_tree_that_grows_past_a_power_of_two_keeps_its_states(known):
    """However its blocks are laid out anew: nodes that were there before hold what they held."""
    rng = np.random.default_rng(known)
    X = np.stack([rng.permutation(np.arange(40 * known) % known), np.ones(40 * known)], axis=1)
    learner = HTRAA(resolution=30, random_state=0).fit(X, rng.integers(0, 2, 40 * known))
    before = learner.states_
    learner.set_params(update="reward-inaction")  # the next polls show nothing, so move nothing
    learner.partial_fit(np.stack([np.arange(known, 5 * known), np.ones(4 * known)], axis=1), np.zeros(4 * known, int))
    there = np.flatnonzero(before)
    assert learner.states_[there].tolist() == before[there].tolist()
    assert np.count_nonzero(learner.states_) == 5 * known - 1
