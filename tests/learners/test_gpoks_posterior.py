"""GPOKS: what it believes is scikit-learn's posterior."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from knapsolve import GPOKS
from tests.learners.cases import poll_log
from tests.learners.gpoks_cases import log_at, regression, two
from tests.sizes import slow_and_full


def test_the_posterior_has_the_known_values():
    learner = two().fit(*log_at([0.3, 0.7, 0.7, 0.9], [1, 1, 0, 1]))
    mean, std = learner.predict([[0, 10.0], [0, 2.0], [0, 1 / 0.9]], return_std=True)
    assert mean == pytest.approx([0.7760813037, 0.7576146338, 0.6796781831], abs=1e-9)
    assert std**2 == pytest.approx([0.1206974213, 0.0343522125, 0.0452149267], abs=1e-9)


@pytest.mark.parametrize("n_polls", [10, 1000])
def test_the_posterior_is_that_of_scikit_learn(n_polls):
    rng = np.random.default_rng(n_polls)
    x, y = rng.integers(1, 100, n_polls) / 100, rng.integers(0, 2, n_polls)
    learner, rival = two().fit(*log_at(x, y)), regression(x, y)
    mean, std = learner.predict(np.column_stack([np.zeros(99), 1 / learner.grid_]), return_std=True)
    expected, error = rival.predict(learner.grid_[:, None], return_std=True)
    assert np.abs(mean - expected).max() < 1e-8
    assert np.abs(std - error).max() < 1e-8
    assert np.abs(compiled_mean(learner) - expected).max() < 1e-8


def compiled_mean(learner):
    """What the compiled posterior of material 0 has for a mean."""
    r = learner._information.shape[1]
    precision = np.zeros((r, r))
    precision[np.tril_indices(r)] = learner._precision[0]
    precision += np.tril(precision, -1).T
    return np.linalg.solve(precision, learner._information[0]) @ learner._process.features


def by_counts_and_sums(learner, noise=0.1):
    """The posterior mean at the grid points from one average an amount, in the space of the observations."""
    seen = learner._counts[0] > 0
    x, n, s = learner.grid_[seen], learner._counts[0, seen], learner._sums[0, seen]
    kernel = RBF(1.0)
    weights = np.linalg.solve(kernel(x[:, None]) + np.diag(noise / n), s / n)
    return kernel(learner.grid_[:, None], x[:, None]) @ weights


def streamed(n_polls, batch=10**6):
    """Material 0 polled at amounts near .8, as after long learning."""
    rng, learner = np.random.default_rng(1), two()
    for start in range(0, n_polls, batch):
        size = min(batch, n_polls - start)
        x = np.clip(np.rint(80 + 6 * rng.standard_normal(size)), 1, 99) / 100
        learner.partial_fit(*log_at(x, rng.random(size) < 0.9 - 0.3 * x))
    return learner


def test_the_posterior_of_a_hundred_thousand_polls_is_that_of_their_counts_and_sums():
    learner = streamed(10**5)
    assert np.abs(compiled_mean(learner) - by_counts_and_sums(learner)).max() < 1e-8


@pytest.mark.parametrize("n_polls", slow_and_full([2 * 10**6], [10**7]))
def test_the_posterior_is_stable_to_ten_million_polls(n_polls):
    learner = streamed(n_polls)
    assert np.abs(compiled_mean(learner) - by_counts_and_sums(learner)).max() < 1e-7
    near = np.abs(learner.grid_ - 0.8) < 0.1
    assert np.abs(compiled_mean(learner) - (0.9 - 0.3 * learner.grid_))[near].max() < 5e-3
    assert learner.amounts_.sum() == pytest.approx(1)


def test_a_material_never_seen_has_the_prior():
    learner = GPOKS(random_state=0).fit(*poll_log(50, 4))
    mean, std = learner.predict([[99, 2.0]], return_std=True)
    assert (mean[0], std[0]) == (0.0, pytest.approx(1.0, abs=1e-3))
