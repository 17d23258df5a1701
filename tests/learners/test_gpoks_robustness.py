"""GPOKS where kernels are large, small or rough: draws keep their law, fall back rarely, and say so when they do."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from knapsolve import GPOKS, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged
from tests.learners.cases import poll_log
from tests.learners.gpoks_cases import PAIR, in_situation, log_at, two
from tests.learners.gpoks_twin import admissible, posterior
from tests.sizes import slow_and_full

FEW = [(50, 1, 1), (70, 1, 0)]
SCALES = [10.0**power for power in (-6, -3, -1, 1, 2, 4, 6, 8)]
ROUGH = {
    "Matern 1/2": Matern(1.0, nu=0.5),
    "Matern 3/2": Matern(1.0, nu=1.5),
    "white": WhiteKernel(1.0),
    "all but white": RBF(1e-3),
    "short": RBF(0.1),
    "smooth and white": RBF(1.0) + WhiteKernel(0.1),
}


def moved_and_kept(learner, n_moved, n_tried):
    """Truncated draws, and independent ones by rejection."""
    mean, factor = posterior(learner._process.features, learner._counts[0], learner._sums[0], learner.noise_)
    rng = np.random.default_rng(1)
    kept = [admissible(mean, factor, 50_000, rng)[0] for _ in range(n_tried // 50_000)]
    return learner.sample_curves(0, n_moved, random_state=2), np.concatenate(kept)


def assert_same_moments(moved, kept, n_blocks=50):
    """Means and variances about one middle agree within 4 standard errors; successive draws may depend."""
    middle = kept.mean(axis=0)
    for power in (1, 2):
        ours, theirs = (moved - middle) ** power, (kept - middle) ** power
        blocks = ours.reshape(n_blocks, -1, ours.shape[1]).mean(axis=1)
        error = np.hypot(blocks.std(axis=0, ddof=1) / n_blocks**0.5, theirs.std(axis=0) / len(theirs) ** 0.5)
        assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("variance", SCALES)
def test_draws_from_a_prior_of_any_variance_have_the_moments_of_accepted_ones(variance):
    learner = in_situation([], kernel=ConstantKernel(variance) * RBF(1.0))
    assert_same_moments(*moved_and_kept(learner, 5_000, 100_000))
    assert learner.n_fallbacks_ == 0


@pytest.mark.parametrize("variance", [4.0**-4, 4.0**7, 4.0**13])  # powers of 4 keep the features' bits
def test_curves_scale_with_the_prior_and_the_noise(variance):
    """Every tolerance is relative: the same random numbers give the same curves, times the standard deviation."""
    unit = in_situation([]).sample_curves(0, 20, random_state=7)
    learner = in_situation([], kernel=ConstantKernel(variance) * RBF(1.0), noise=0.1 * variance)
    assert learner.sample_curves(0, 20, random_state=7) / variance**0.5 == pytest.approx(unit, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("variance", [1e-6, 1e-3, 1e2, 1e4])
def test_draws_from_a_posterior_have_the_moments_of_accepted_ones(variance):
    learner = in_situation(FEW, kernel=ConstantKernel(variance) * RBF(1.0))
    assert_same_moments(*moved_and_kept(learner, 10_000, 150_000))


@pytest.mark.slow
def test_draws_from_a_posterior_of_a_million_times_the_variance_have_the_moments_of_accepted_ones():
    learner = in_situation(FEW, kernel=ConstantKernel(1e5) * RBF(1.0))
    moved, kept = moved_and_kept(learner, 10_000, 4_000_000)
    assert len(kept) > 500
    assert_same_moments(moved, kept)


@pytest.mark.parametrize("kernel", [ROUGH["Matern 1/2"], ROUGH["white"], ROUGH["all but white"]])
def test_rough_draws_have_the_moments_of_accepted_ones(kernel):
    learner = in_situation([], kernel=kernel, n_points=5)
    moved, kept = moved_and_kept(learner, 10_000, 500_000)
    assert len(kept) > 100
    assert_same_moments(moved, kept)


def sorted_halves(n_points, n_draws):
    """Falling draws above 0 of independent standard normals: their sizes, sorted."""
    return -np.sort(-np.abs(np.random.default_rng(3).standard_normal((n_draws, n_points))), axis=1)


@pytest.mark.parametrize("kernel", slow_and_full([ROUGH["all but white"]], [ROUGH["white"]]))
def test_white_curves_are_sorted_sizes_of_normals(kernel):
    moved = in_situation([], kernel=kernel, n_points=30).sample_curves(0, 2_000, random_state=2)
    assert_same_moments(moved, sorted_halves(30, 100_000))


@pytest.mark.full_size
def test_white_curves_of_the_default_grid_are_sorted_sizes_of_normals():
    moved = in_situation([], kernel=ROUGH["white"]).sample_curves(0, 300, random_state=2)
    assert_same_moments(moved, sorted_halves(99, 20_000), n_blocks=30)


@pytest.mark.parametrize("observations", slow_and_full([[(90, 20, 10), (50, 20, 10)]], [[]]))
def test_slides_alone_leave_the_law_as_it_is(observations):
    """What gets a draw out of a corner that no flight leaves."""
    learner = in_situation(observations)
    copies = {name[1:]: getattr(learner, name) for name in learner._state_names}
    core = learner._core_over({k: v if k == "fallbacks" else v[[0, 0]] for k, v in copies.items()}, 2)
    core.draws.bounces = -1  # no flights
    moved = core.sample(20_000, np.random.default_rng(4))
    assert_same_moments(moved, moved_and_kept(learner, 50, 200_000)[1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("variance", SCALES)
def test_no_draw_falls_back_whatever_the_prior_variance(variance, n):
    learner = GPOKS(kernel=ConstantKernel(variance) * RBF(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = simulate(learner, BernoulliEnvironment(zipf_unchanged(n, 0.9, 1.0)), 60, random_state=0)
    assert learner.n_fallbacks_ == 0
    assert np.isfinite(learner.curves_).all() and np.isfinite(history.value).all()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ROUGH.values(), ids=ROUGH)
def test_no_draw_falls_back_however_rough_the_kernel(kernel):
    learner = GPOKS(kernel=kernel, n_points=60)
    history = simulate(learner, PAIR, 25, random_state=0)
    assert learner.n_fallbacks_ == 0
    assert (np.diff(learner.curves_, axis=1) < 0).all() and np.isfinite(history.value).all()


def concerns(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [each for each in caught if each.category is ConvergenceWarning]


def test_many_fallbacks_are_warned_of_once_and_few_are_not():
    bad, X, y = two(sampler="rejection", max_tries=1), *log_at([0.9] * 20 + [0.5] * 20, [1, 0] * 20)
    assert len(concerns(lambda: simulate(bad, PAIR, 50, n_runs=3, random_state=0))) == 1
    assert len(concerns(lambda: bad.fit(X, y))) == 1
    assert len(concerns(lambda: bad.partial_fit(X, y))) == 1
    assert not concerns(lambda: two(sampler="rejection").fit(X, y))
    assert not concerns(lambda: simulate(GPOKS(), PAIR, 50, n_runs=3, random_state=0))
    assert len(concerns(lambda: two(sampler="rejection", max_tries=1, fit_kernel=True).fit(X, y))) == 1


def test_numbers_beyond_doubles_leave_a_finite_curve():
    learner = GPOKS(random_state=0).fit(*poll_log(60, 4))
    learner._information[1] = np.inf
    learner.partial_fit(*poll_log(60, 4))
    assert np.isfinite(learner.curves_).all() and np.isfinite(learner._weights).all()
    assert learner.amounts_.sum() == pytest.approx(1)


def test_work_and_not_rank_alone_decides_how_many_polls_pass_between_two_signs_of_progress():
    chunks = [two(kernel=kernel).fit(*log_at([0.5], [1]))._core().chunk for kernel in (RBF(1.0), RBF(0.1), RBF(1e-3))]
    assert chunks[0] > 100 > chunks[1] > chunks[2] == 1
