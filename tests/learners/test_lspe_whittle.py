"""LSPEWhittle: the evaluation against matrices inverted anew, streaming, and that it never breaks."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from knapsolve import LSPEWhittle
from knapsolve._core.lspe import LSPE, update
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
from tests.learners.crawl_twins import lspe
from tests.sizes import slow_and_full

RATES = {"arrival_rates": [250.0] * 4, "decay_rates": [0.7, 0.35, 0.7, 0.21]}
STATE = (
    "thresholds_",
    "weights_",
    "second_moments_",
    "moves_",
    "rewards_",
    "numbers_",
    "estimates_",
    "clock_",
)


@parametrize_with_checks(
    [LSPEWhittle(), LSPEWhittle(degree=1, regularization=0.0)],
    expected_failed_checks=lambda estimator: {"check_fit_non_negative": "its negative numbers are identifiers"},
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_evaluation_equals_the_readable_twin(delta):
    random = np.random.default_rng(0)
    transitions = [(random.random(4), random.random(4), random.random()) for _ in range(300)]
    weights, numbers = np.zeros(4), np.zeros(3)
    second = np.eye(4) * (0.5 if delta else 2.0)
    core = LSPE(weights, second, np.zeros((4, 4)), np.zeros(4), numbers, 0.05, delta)
    for before, after, reward in transitions:
        update(core, before, after, reward)
    expected, eta = lspe(transitions, 4, 0.05, delta, 0.5)
    assert np.allclose(weights, expected, rtol=1e-8)
    assert numbers[1] == pytest.approx(eta, rel=1e-12)


def test_evaluation_finds_the_relative_value_of_a_chain():
    P, rewards = np.array([[0.2, 0.8, 0.0], [0.1, 0.3, 0.6], [0.5, 0.0, 0.5]]), np.array([1.0, 0.0, 4.0])
    system = np.eye(3) - P
    system[:, 0] = 1.0
    gain, *rest = np.linalg.solve(system, rewards)
    value = np.array([0.0, *rest])
    random, state, features = np.random.default_rng(1), 0, np.eye(3)
    weights, numbers = np.zeros(3), np.zeros(3)
    core = LSPE(weights, np.eye(3), np.zeros((3, 3)), np.zeros(3), numbers, 0.05, 0.0)
    for _ in range(40000):
        after = random.choice(3, p=P[state])
        update(core, features[state], features[after], rewards[state])
        state = after
    assert numbers[1] == pytest.approx(gain, abs=0.05)
    assert np.allclose(weights - weights[0], value, atol=0.15)


def random_log(random, n):
    sites = random.integers(0, 4, n)
    return np.column_stack([sites, random.integers(1, 9, n)]).astype(float), random.gamma(2, 50, n)


@settings(max_examples=25, deadline=None)
@given(st.integers(4, 120), st.integers(2, 118), st.integers(0, 2**32), st.sampled_from([0.0, 1e-6]))
def test_fit_of_a_log_equals_fit_of_its_parts_bit_for_bit_with_newcomers(n, cut, seed, delta):
    cut = min(cut, n - 1)
    random = np.random.default_rng(seed)
    X, y = random_log(random, n)
    X[:2, 0] = [0, 1]
    whole = LSPEWhittle(random_state=1, regularization=delta).fit(X, y)
    parts = LSPEWhittle(random_state=1, regularization=delta).fit(X[:cut], y[:cut])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[cut:], y[cut:])
    for name in STATE:
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    assert np.array_equal(whole.allocate(1), parts.allocate(1))


def test_compiled_loop_equals_the_loop_of_public_calls():
    environment = EphemeralEnvironment(**RATES)
    compiled, public = LSPEWhittle(random_state=5), LSPEWhittle(random_state=5)
    simulate_ephemeral(compiled, environment, 200, random_state=7)
    public._begin(4)
    plain = type("Plain", (), {"allocate": public.allocate, "partial_fit": public.partial_fit})
    plain.allocate, plain.partial_fit = (
        (lambda self, m: public.allocate(m)),
        (lambda self, X, y: public.partial_fit(X, y)),
    )
    simulate_ephemeral(plain(), environment, 200, random_state=7)
    for name in STATE:
        assert np.array_equal(getattr(compiled, name), getattr(public, name)), name


def test_allocate_changes_nothing_and_is_seeded():
    X, y = random_log(np.random.default_rng(0), 100)
    learners = [LSPEWhittle(random_state=seed).fit(X, y) for seed in (1, 1, 2, 3, 4, 5, 6)]
    chosen = [learner.allocate(2).tolist() for learner in learners]
    assert chosen[0] == chosen[0] == learners[0].allocate(2).tolist() == chosen[1]
    assert len({tuple(c) for c in chosen}) > 1


def test_sites_are_drawn_in_proportion_to_their_odds():
    X, y = random_log(np.random.default_rng(0), 400)
    learner = LSPEWhittle(random_state=1, step_size=0.0, n_seeds=0).fit(X, y)
    shares = -np.expm1(-learner.decay_rates_ * learner.ages_)
    others = (shares.sum() - shares) / 3
    lowest = -np.expm1(-learner.decay_rates_)
    thresholds = np.clip(
        learner.thresholds_ @ np.ones(3) * 0 + learner.thresholds_[:, 0] + 0 * others, lowest, 1
    )
    ceiling = learner.arrival_rates_ / learner.decay_rates_
    odds = np.exp(2.0 * (shares - thresholds - 0.5 / np.maximum(ceiling, 0.5)))
    draws = np.zeros(4)
    for seed in range(6000):
        learner._seed = np.uint64(seed * 7919)
        draws[learner.allocate(1)] += 1
    expected = odds / odds.sum()
    assert np.abs(draws / 6000 - expected).max() < 4 * np.sqrt(0.25 / 6000)


def earned(learner, n_steps, n_runs):
    history = simulate_ephemeral(
        learner,
        EphemeralEnvironment(**RATES),
        n_steps,
        n_runs=n_runs,
        record_every=n_steps // 10,
        random_state=3,
    )
    assert np.isfinite(history.reward).all()
    return history.reward


@pytest.mark.parametrize(
    "change", [{}, {"regularization": 0.0}, {"step_size": 10.0}, {"steepness": 1e3}, {"gain": 5.0}]
)
def test_never_breaks_in_short_runs(change):
    reward = earned(LSPEWhittle(**change), 2000, 4)
    assert reward.min() > 150.0 and reward.max() < 500.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-6, 1.0]), st.sampled_from([1, 2]))
def test_extreme_logs_leave_finite_numbers(seed, delta, degree):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 80))
    X = np.column_stack([random.integers(0, 4, n), np.floor(10.0 ** random.uniform(-1, 15, n))])
    X[:2, 0] = [0, 1]
    y = 10.0 ** random.uniform(-300, 50, n) * (random.random(n) < 0.8)
    learner = LSPEWhittle(regularization=delta, degree=degree, steepness=1e6, random_state=0).fit(X, y)
    for name in (*STATE, "pending_", "arrival_errors_", "decay_errors_"):
        assert np.isfinite(getattr(learner, name)).all(), name
    assert 1 <= learner.allocate(2).size <= 2


@pytest.mark.parametrize("n_seeds", slow_and_full([2], [20]))
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_never_breaks_over_20_seeds_and_100000_steps(delta, n_seeds):
    reward = earned(LSPEWhittle(regularization=delta), 100_000, n_seeds)
    assert reward.shape == (n_seeds, 10)


def test_too_many_features_are_refused_with_advice():
    with pytest.raises(ValueError, match="degree must be 1, or n_materials smaller"):
        LSPEWhittle(n_materials=50).fit([[0, 1], [1, 2]], [1.0, 2.0])
    X = np.column_stack([np.arange(60), np.ones(60)])
    with pytest.raises(ValueError, match="degree must be 1"):
        LSPEWhittle().fit(X, np.ones(60))
    assert LSPEWhittle(degree=1).fit(X, np.ones(60)).weights_.shape == (60,)


@pytest.mark.parametrize(
    "bad",
    [
        {"degree": 3},
        {"steepness": 0.0},
        {"gain": -1.0},
        {"step_size": -1.0},
        {"regularization": -1.0},
        {"initial_scale": 0.0},
    ],
)
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LSPEWhittle(**bad).fit([[0, 1], [1, 2]], [1.0, 2.0])
