"""Ten million polls agree with exact stationary Markov chains of small problems within 4 standard errors."""

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment
from tests.chains import SCHEMES, htraa_chain, lakg_chain

N_POLLS, EVERY, BURN_IN, N_BATCHES = 10_200_000, 340, 200_000, 100


def batch_means(series):
    """Mean and its standard error from 100 batches."""
    batches = np.asarray(series, dtype=float).reshape(N_BATCHES, -1).mean(axis=1)
    return batches.mean(), batches.std(ddof=1) / np.sqrt(N_BATCHES)


def agrees_with(chain, learner, unchanged, seed):
    """Detections of every poll, mean value, and how often each state is seen, within 4 standard errors."""
    history = simulate(
        learner,
        BernoulliEnvironment(unchanged),
        N_POLLS,
        scheduler="random",
        record_every=EVERY,
        random_state=seed,
    )
    skip = history.polls.size % N_BATCHES + N_BATCHES * (BURN_IN // EVERY // N_BATCHES)
    found = np.diff(history.detections[0], prepend=0)[skip:] / EVERY
    assert found.size * EVERY >= 9_900_000
    mean, error = batch_means(found)
    assert abs(mean - chain.pi @ chain.reward) < 4 * error, (mean, chain.pi @ chain.reward, error)

    values = history.value[0, skip:]
    mean, error = batch_means(values)
    assert abs(mean - chain.pi @ chain.value) < 4 * error, (mean, chain.pi @ chain.value, error)
    for level in np.unique(chain.value.round(12)):  # which state it was can be read off the value
        expected = chain.pi[chain.value.round(12) == level].sum()
        if expected > 1e-3:
            mean, error = batch_means(values.round(12) == level)
            assert abs(mean - expected) < 4 * error, (level, mean, expected, error)
    seen = np.isin(values.round(12), chain.value.round(12))
    assert seen.all(), "a state outside the chain"


@pytest.mark.parametrize(
    ("resolution", "exponent", "unchanged", "capacity"),
    [(7, 1.0, (0.5, 0.9), 1.0), (6, 1.3, (0.2, 0.7), 0.8), (5, 1.2, (0.6, 0.85), 1.4)],
)
def test_lakg_agrees_with_its_chain(resolution, exponent, unchanged, capacity):
    chain = lakg_chain(resolution, exponent, unchanged, capacity)
    agrees_with(chain, LAKG(resolution=resolution, exponent=exponent, capacity=capacity), unchanged, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("update", SCHEMES)
@pytest.mark.parametrize(("resolution", "exponent"), [(10, 1.0), (8, 1.6)])
def test_traa_agrees_with_its_chain(update, resolution, exponent):
    unchanged = (0.9, 0.1)
    chain = htraa_chain(resolution, update, unchanged, exponent=exponent)
    agrees_with(chain, HTRAA(resolution=resolution, update=update, exponent=exponent), unchanged, seed=2)


@pytest.mark.parametrize("update", SCHEMES)
def test_htraa_of_four_agrees_with_its_chain(update):
    unchanged, resolution = (0.2, 0.5, 0.7, 0.95), 4
    chain = htraa_chain(resolution, update, unchanged)
    agrees_with(chain, HTRAA(resolution=resolution, update=update), unchanged, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize(("unchanged", "resolution"), [((0.3, 0.8, 0.6), 5), ((0.3, 0.8, 0.6, 0.9, 0.2), 3)])
@pytest.mark.parametrize("update", SCHEMES)
def test_htraa_of_leaves_at_two_depths_agrees_with_its_chain(update, unchanged, resolution):
    chain = htraa_chain(resolution, update, unchanged)
    agrees_with(chain, HTRAA(resolution=resolution, update=update), unchanged, seed=5)


def test_htraa_of_eight_agrees_with_its_chain():
    """Three depths, whose digits come from one random number."""
    unchanged = (0.2, 0.5, 0.7, 0.95, 0.6, 0.3, 0.9, 0.8)
    chain = htraa_chain(2, "reward-penalty", unchanged)
    agrees_with(chain, HTRAA(resolution=2), unchanged, seed=4)
