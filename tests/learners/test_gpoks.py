"""GPOKS: posteriors against scikit-learn, draws against rejection, markets against bisection."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from knapsolve import GPOKS, simulate
from knapsolve._core.loop import run
from knapsolve._core.roles import Learner
from knapsolve._core.schedulers import RandomOrder
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged
from knapsolve.processes import make_grid_process
from knapsolve.processes.likelihood import log_likelihood
from tests.learners.cases import poll_log, state_of
from tests.learners.gpoks_twin import admissible, market, mean_learner, posterior

GOLDEN = Path(__file__).with_name("gpoks_golden.json")
PAIR = BernoulliEnvironment([0.75, 0.25])
# observations (grid point in hundredths, polls, changes) and the share of admissible draws
SITUATIONS = {
    "prior, .07": ([], 0.07),
    "a little data, .03": ([(50, 4, 3), (70, 3, 2)], 0.03),
    "a rise, .01": ([(90, 20, 10), (50, 20, 10)], 0.01),
    "a steeper rise, below .001": ([(90, 20, 12), (50, 20, 10)], 0.0005),
}


def two(**parameters):
    """A learner of two materials on the paper's grid."""
    return GPOKS(scale="linear", n_materials=2, random_state=0, **parameters)


def log_at(points, outcomes, material=0):
    """Polls of a material at amounts that are grid points; one of the other material at the end."""
    rows = [[material, 1 / x] for x in points] + [[1 - material, 100.0]]
    return np.array(rows), np.append(outcomes, 1).astype(int)


def in_situation(observations, **parameters):
    points = np.repeat([k / 100 for k, _, _ in observations], [n for _, n, _ in observations])
    outcomes = np.concatenate([np.zeros(0), *[np.arange(n) < y for _, n, y in observations]])
    return two(**parameters).fit(*log_at(points, outcomes))


def regression(x, y, noise=0.1):
    return GaussianProcessRegressor(RBF(1.0), alpha=noise, optimizer=None).fit(x[:, None], y)


# -- posteriors ---------------------------------------------------------------


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


@pytest.mark.slow
def test_the_posterior_is_stable_to_ten_million_polls():
    learner = streamed(10**7)
    assert np.abs(compiled_mean(learner) - by_counts_and_sums(learner)).max() < 1e-7
    near = np.abs(learner.grid_ - 0.8) < 0.1
    assert np.abs(compiled_mean(learner) - (0.9 - 0.3 * learner.grid_))[near].max() < 5e-3
    assert learner.amounts_.sum() == pytest.approx(1)


def test_a_material_never_seen_has_the_prior():
    learner = GPOKS(random_state=0).fit(*poll_log(50, 4))
    mean, std = learner.predict([[99, 2.0]], return_std=True)
    assert (mean[0], std[0]) == (0.0, pytest.approx(1.0, abs=1e-3))


# -- draws --------------------------------------------------------------------


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


@pytest.mark.slow
@pytest.mark.parametrize("name", SITUATIONS)
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


# -- the market ---------------------------------------------------------------


def with_curves(curves, **parameters):
    learner = GPOKS(n_materials=len(curves), n_points=curves.shape[1], random_state=0, **parameters)
    learner._begin(len(curves))
    learner._curves[:] = curves
    return learner


@pytest.mark.parametrize("monotone", [True, False])
def test_two_lines_meet_at_the_known_amount(monotone):
    x = np.arange(1, 100) / 100
    learner = with_curves(np.array([1 - 0.9 * x, 0.8 - 0.2 * x]), scale="linear", monotone=monotone)
    assert learner.amounts_ == pytest.approx([0.3636363636, 0.6363636364], abs=1e-9)


@settings(max_examples=200)
@given(
    n=st.integers(2, 40), m=st.integers(2, 60), seed=st.integers(0, 10**6), capacity=st.sampled_from([1e-3, 1.0, 7e4])
)
def test_the_market_clears_at_the_price_that_bisection_finds(n, m, seed, capacity):
    rng = np.random.default_rng(seed)
    steps = rng.exponential(size=(n, m)) * (rng.random((n, m)) < 0.7) + 1e-3
    curves = rng.normal(size=(n, 1)) * 3 - np.cumsum(steps, axis=1)
    learner = with_curves(curves, capacity=capacity, scale="log")
    amounts, price = market(learner.grid_, curves, capacity)
    assert learner._core().price == pytest.approx(price, abs=1e-9)
    assert learner.amounts_ == pytest.approx(amounts, rel=1e-7, abs=1e-12 * capacity)
    assert learner.amounts_.sum() == pytest.approx(capacity, rel=1e-12)


def test_flat_curves_share_in_proportion_to_their_length():
    learner = with_curves(np.zeros((5, 99)) - 1e-8 * np.arange(99), scale="linear")
    assert learner.amounts_ == pytest.approx(np.full(5, 0.2), abs=1e-9)


def test_all_but_flat_curves_of_many_materials_fill_the_capacity():
    n = 4096
    X = np.column_stack([np.arange(n), np.full(n, float(n))])
    learner = GPOKS(n_materials=n, draw="mean").fit(X, np.ones(n, dtype=int))
    assert abs(Learner.amounts(learner._core()).sum() - 1) > 1e-11  # what the price alone resolves
    assert learner.amounts_.sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_mean_policy_learns_a_log_as_its_twin(scale):
    X, y = poll_log(400, 5, seed=3)
    X[:, 1] = np.maximum(X[:, 1], 0.02)
    learner = GPOKS(draw="mean", n_materials=5, scale=scale, n_points=40).fit(X, y)
    counts, sums, curves, amounts = mean_learner(X, y, learner._process, 0.1, 5, 1.0)
    assert learner._counts.tolist() == counts.tolist() and learner._sums.tolist() == sums.tolist()
    assert np.abs(learner.curves_ - curves).max() < 1e-6
    assert np.abs(learner.amounts_ - amounts).max() < 1e-5


# -- in the loop --------------------------------------------------------------

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
        return simulate(
            learner, WORLDS[world], polls, scheduler=scheduler, n_runs=3, n_jobs=n_jobs, random_state=4
        )

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


@pytest.mark.slow
@pytest.mark.parametrize(("n", "alpha", "beta", "polls", "least"), [
    (16, 0.3, 1.5, 10_000, 0.500), (512, 0.9, 1.5, 12_000, 0.935), (512, 0.3, 1.5, 12_000, 0.450),
])  # fmt: skip
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
