"""GPOKS: curves are drawn from the law that rejection samples."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from knapsolve import GPOKS, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged
from tests.learners.gpoks_cases import SITUATIONS, in_situation
from tests.learners.gpoks_twin import admissible, posterior
from tests.sizes import slow_and_full


def check_moments(learner, n_rejected, n_moved, expected_share):
    process = learner._process
    mean, factor = posterior(process.features, learner._counts[0], learner._sums[0], learner.noise_)
    rng, kept, tried = np.random.default_rng(5), [], 0
    for _ in range(n_rejected // 20_000):
        draws, _ = admissible(mean, factor, 20_000, rng)
        kept.append(draws)
        tried += 20_000
    kept = np.concatenate(kept)
    assert len(kept) / tried == pytest.approx(expected_share, rel=0.5)
    moved = learner.sample_curves(0, n_moved, random_state=6)
    assert (moved >= mean - 3e-6).all() and (np.diff(moved, axis=1) < 0).all()
    middle = kept.mean(axis=0)  # of both samples: moments about one point
    for power in (1, 2):
        ours, theirs = (moved - middle) ** power, (kept - middle) ** power
        blocks = ours.reshape(100, -1, ours.shape[1]).mean(axis=1)
        error = np.hypot(blocks.std(axis=0, ddof=1) / 10, theirs.std(axis=0) / np.sqrt(len(theirs)))
        assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("name", ["prior, .07", "a rise, .01"])
def test_truncated_draws_have_the_moments_of_accepted_ones(name):
    observations, share = SITUATIONS[name]
    check_moments(in_situation(observations), 100_000, 20_000, share)


@pytest.mark.parametrize("name", slow_and_full([*SITUATIONS][::2], [*SITUATIONS][1::2]))
def test_truncated_draws_have_the_moments_of_a_million_rejection_draws(name):
    observations, share = SITUATIONS[name]
    check_moments(in_situation(observations), 1_000_000, 100_000, share)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("draw", ["optimistic", "thompson"])
def test_rejection_and_exact_moves_draw_from_the_same_law(draw, monotone):
    observations = [(20, 10, 9), (70, 10, 5)]
    samples = []
    for sampler in ("rejection", "truncated"):
        learner = in_situation(observations, draw=draw, monotone=monotone, sampler=sampler)
        samples.append(learner.sample_curves(0, 8_000, random_state=3)[:, [0, 30, 60, 98]])
        assert learner.n_fallbacks_ == 0
    a, b = samples
    error = np.sqrt((a.var(axis=0) + 2 * b.var(axis=0)) / 8_000)
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error).all()
    assert b.var(axis=0) == pytest.approx(a.var(axis=0), rel=0.15)


def test_cold_draws_are_those_of_the_law_too():
    """Every fit draws once from far inside: such first draws have the moments of accepted ones."""
    learner = in_situation([(90, 20, 10), (50, 20, 10)])
    mean, factor = posterior(learner._process.features, learner._counts[0], learner._sums[0], 0.1)
    kept = admissible(mean, factor, 100_000, np.random.default_rng(0))[0]
    first = np.concatenate([learner.sample_curves(0, 1, random_state=seed) for seed in range(1500)])
    error = np.sqrt(kept.var(axis=0) * (1 / len(kept) + 1 / len(first)))
    assert (np.abs(first.mean(axis=0) - kept.mean(axis=0)) < 4 * error).all()
    assert first.var(axis=0) == pytest.approx(kept.var(axis=0), rel=0.25)


@pytest.mark.filterwarnings("ignore:more than a tenth")
def test_rejection_that_gives_up_counts_it_and_still_gives_an_admissible_curve():
    learner = in_situation([(90, 20, 12), (50, 20, 10)], sampler="rejection", max_tries=1)
    assert learner.n_fallbacks_ >= 1
    curve = learner.curves_[0]
    assert (np.diff(curve) < 0).all()
    assert learner.amounts_.sum() == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("kernel", [Matern(0.5, nu=2.5), 2.0 * RBF(0.3), DotProduct(1.0)])
def test_other_kernels_draw_admissible_curves(kernel):
    learner = GPOKS(kernel=kernel, random_state=1)
    history = simulate(learner, BernoulliEnvironment(zipf_unchanged(6, 0.9, 1.0)), 400, random_state=2)
    assert learner.n_fallbacks_ == 0
    assert (np.diff(learner.curves_, axis=1) < 0).all()
    assert np.isfinite(history.value).all()
