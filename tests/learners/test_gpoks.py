"""GPOKS in the loop and as an estimator: every world, the seed, parameters and the record."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from knapsolve import GPOKS, simulate
from knapsolve._core.loop import run
from knapsolve._core.schedulers import RandomOrder
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged
from knapsolve.processes import make_grid_process
from knapsolve.processes.likelihood import log_likelihood
from tests.learners.cases import poll_log, state_of
from tests.learners.gpoks_cases import PAIR, log_at, regression, two
from tests.sizes import slow_and_full

GOLDEN = Path(__file__).with_name("gpoks_golden.json")


WORLDS = {
    "bernoulli": PAIR,
    "pages": PollingEnvironment([0.75, 0.25]),
    "switching": PollingEnvironment(zipf_unchanged(6, 0.9, 1.5), switch_every=50),
    "trace": TraceEnvironment([0, 1, 0, 1, 1], [3.0, 8.0, 90.0, 120.0, 150.0], start=0.0, stop=200.0),
}


@pytest.mark.parametrize("draw", ["optimistic", "thompson", "mean"])
@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("world", WORLDS)
def test_every_world_and_scheduler_runs_it_and_the_seed_decides(world, scheduler, draw):
    polls = None if world == "trace" else 150

    def ensemble(n_jobs):
        learner = GPOKS(draw=draw, n_points=30, feedback_noise=0.1)
        return simulate(learner, WORLDS[world], polls, scheduler=scheduler, n_runs=3, n_jobs=n_jobs, random_state=4)

    one, other = ensemble(1), ensemble(2)
    assert one.amounts.tolist() == other.amounts.tolist()
    assert one.detections.tolist() == other.detections.tolist()
    assert one.amounts.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert draw == "mean" or len({tuple(row) for row in one.amounts.tolist()}) == 3


def test_random_access_follows_the_amounts():
    """Polls of each material come to the sum of the amounts that it had before each poll."""
    learner, n_polls = GPOKS(draw="mean", scale="linear", n_materials=3), 4000
    learner._begin(3)
    core, trail, streams = learner._core(), np.zeros((n_polls, 3)), [np.random.default_rng(k) for k in (1, 2)]
    core.keep_trail(trail)
    run(core, RandomOrder(), BernoulliEnvironment([0.9, 0.6, 0.2])._core(), 0, n_polls, 0.0, 1.0, *streams)
    spread = np.sqrt((trail * (1 - trail)).sum(axis=0))
    assert (np.abs(learner._counts.sum(axis=1) - trail.sum(axis=0)) < 4 * spread).all()
    assert np.ptp(trail.mean(axis=0)) > 0.2


def test_feedback_noise_adds_its_variance_and_nothing_to_the_mean():
    learner = two(feedback_noise=0.5).fit(*log_at(np.full(20_000, 0.5), np.ones(20_000)))
    n, total, squares = learner._counts[0].sum(), learner._sums[0].sum(), learner._squares[0]
    assert total / n == pytest.approx(1, abs=0.015)
    assert squares / n - (total / n) ** 2 == pytest.approx(0.25, rel=0.05)


def test_optimism_comes_near_the_optimum_of_two_materials():
    history = simulate(GPOKS(feedback_noise=0.1), PAIR, 1000, n_runs=10, random_state=0)
    assert history.mean()[-1] > 0.805  # of .8125


@pytest.mark.parametrize(("n", "alpha", "beta", "polls", "least"), slow_and_full(
    [(16, 0.3, 1.5, 10_000, 0.500), (512, 0.9, 1.5, 12_000, 0.935)], [(512, 0.3, 1.5, 12_000, 0.450)]
))  # fmt: skip
def test_many_materials_reach_their_targets_by_default(n, alpha, beta, polls, least):
    world = BernoulliEnvironment(zipf_unchanged(n, alpha, beta))
    assert simulate(GPOKS(), world, polls, n_runs=4, random_state=0).mean()[-1] >= least


# -- the estimator ------------------------------------------------------------


def test_the_likelihood_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 100, 200) / 100, rng.integers(0, 2, 200)
    learner = two().fit(*log_at(x, y))
    seen = [rows[:1] for rows in (learner._counts, learner._sums, learner._squares)]
    ours = log_likelihood(learner._process.features, *seen, 0.1)
    assert ours == pytest.approx(regression(x, y).log_marginal_likelihood_value_, abs=1e-6)


def test_fitting_the_kernel_finds_what_made_the_data_and_any_cut_finds_the_same():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 4, 4000), 10 ** rng.uniform(0, 2, 4000)])
    y = (rng.random(4000) < -np.expm1(-X[:, 1] * np.array([0.001, 0.01, 0.1, 1])[X[:, 0].astype(int)])).astype(int)
    learner = GPOKS(fit_kernel=True, kernel=ConstantKernel(1.0) * RBF(1.0), n_points=20, random_state=0)
    whole = clone(learner).fit(X, y)
    fixed = clone(learner).set_params(fit_kernel=False).fit(X, y)
    assert 0.02 < whole.noise_ < 0.25 and whole.noise_ != 0.1
    scores = [
        log_likelihood(each._process.features, each._counts, each._sums, each._squares, each.noise_)
        for each in (whole, fixed)
    ]
    assert scores[0] > scores[1] + 10
    parts = clone(learner).fit(X[:900], y[:900]).partial_fit(X[900:], y[900:])
    assert state_of(parts) == state_of(whole)


def test_a_capacity_that_changes_moves_the_amounts_and_not_the_grid():
    X, y = poll_log(300, 6)
    learner = GPOKS(random_state=0, n_materials=6).fit(X, y)
    grid = learner.grid_
    learner.set_params(capacity=2.0)
    assert learner.amounts_.sum() == pytest.approx(2)
    assert learner.grid_.tolist() == grid.tolist()
    learner.set_params(capacity=1e-3)
    with pytest.raises(ValueError, match="smallest must leave 6 materials room"):
        learner.allocate()


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_features_do_not_depend_on_the_signs_and_last_bits_of_the_solver(scale, monkeypatch):
    form = (RBF(1.0), 99, scale, 1e-3, 1.0, True, 0.1)
    expected, solve = make_grid_process(*form).features, np.linalg.eigh
    rng = np.random.default_rng(0)
    for _ in range(20):

        def solve_otherwise(matrix):
            values, vectors = solve(matrix)
            signs = np.where(rng.random(values.size) < 0.5, -1.0, 1.0)
            return values, vectors * signs * (1 + 1e-3 * rng.standard_normal(vectors.shape))

        monkeypatch.setattr(np.linalg, "eigh", solve_otherwise)
        changes = np.abs(make_grid_process(*form).features - expected)
        assert (changes < 0.01 * np.abs(expected).max(axis=1, keepdims=True)).all()


class Nowhere(RBF):
    """A kernel without values."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return np.full((len(X), len(X)), np.nan)


@pytest.mark.parametrize(("bad", "match"), [
    ({"kernel": ConstantKernel(1.0)}, "kernel must not be singular.* rank 1 "),
    ({"kernel": 0.0 * RBF()}, "kernel must not be singular.* rank 0 "),
    ({"kernel": 1e100 * RBF()}, "kernel must have variances of at most 1e.12 times the noise"),
    ({"kernel": 1e150 * RBF()}, "kernel must have variances of at most"),
    ({"noise": 1e-9, "kernel": 1e4 * RBF()}, "with noise=1e-09"),
    ({"kernel": 1e-13 * RBF()}, "kernel must have a variance of at least 1e-12"),
    ({"max_tries": 100_001}, r"max_tries must be an integer in .1, 100000"),
    ({"kernel": Nowhere()}, "kernel must give finite covariances"),
    ({"n_points": 1}, r"n_points must be an integer in \[2, "),
    ({"smallest": 0.4}, "smallest must leave 4 materials room"),
    ({"scale": "linear", "n_points": 2}, "n_points .or scale. must leave 4 materials room"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_a_process_is_refused_and_named(bad, match):
    X, y = poll_log(30, 4)
    learner = GPOKS(**bad)
    with pytest.raises(ValueError, match=match):
        learner.fit(X, y)
    assert not hasattr(learner, "materials_")
    with pytest.raises(ValueError, match=match):
        simulate(learner, BernoulliEnvironment([0.5] * 4), 5)


@pytest.mark.filterwarnings("ignore:more than a tenth")
def test_polls_between_two_signs_of_progress_are_fewer_the_more_tries_a_draw_may_take():
    chunks = []
    for tries in (1, 2000, 100_000):
        learner = two(sampler="rejection", max_tries=tries).fit(*log_at([0.5], [1]))
        chunks.append(learner._core().chunk)
    assert chunks[0] > chunks[1] >= chunks[2] == 1


def test_bad_predictions_and_samples_are_refused():
    learner = GPOKS(random_state=0).fit(*poll_log(50, 4))
    for bad in ([[0, -1.0]], [[0, np.nan]], [[np.nan, 1.0]], [[0]], "ab", np.zeros((2, 3)), [0, 1.0]):
        with pytest.raises((ValueError, TypeError)):
            learner.predict(bad)
    with pytest.raises(TypeError, match="return_std"):
        learner.predict([[0, 1.0]], return_std="yes")
    with pytest.raises(ValueError, match="material must be one of the 4"):
        learner.sample_curves("nobody")
    with pytest.raises(ValueError, match="n_curves"):
        learner.sample_curves(0, 0)


def golden():
    """Short seeded runs: values, to be matched closely (eigenvectors differ in their last bits between machines)."""
    results = {}
    for name, learner in {
        "optimistic": GPOKS(), "rejection": GPOKS(sampler="rejection"), "mean": GPOKS(draw="mean"),
        "thompson": GPOKS(draw="thompson", monotone=False, feedback_noise=0.1),
    }.items():  # fmt: skip
        for world, unchanged in {"two": [0.75, 0.25], "five": zipf_unchanged(5, 0.9, 1.0)}.items():
            history = simulate(learner, BernoulliEnvironment(unchanged), 60, n_runs=2, random_state=9)
            results[f"{name} {world}"] = history.amounts.tolist()
    return results


def test_seeded_runs_are_those_of_record():
    record, results = json.loads(GOLDEN.read_text()), golden()
    assert sorted(record) == sorted(results)
    for name, amounts in record.items():
        assert np.abs(np.array(amounts) - results[name]).max() < 1e-6, name


if __name__ == "__main__":  # python -m tests.learners.test_gpoks renews the record
    GOLDEN.write_text(json.dumps(golden(), indent=1, sort_keys=True) + "\n")
