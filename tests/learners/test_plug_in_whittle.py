"""PlugInWhittle: estimates, streaming, the seeding phase, and what it earns."""

import pickle

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from knapsolve import PlugInWhittle, whittle_index
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral
from tests.learners.crawl_twins import Totals, fit

RATES = {"arrival_rates": [250.0] * 4, "decay_rates": [0.7, 0.35, 0.7, 0.21]}


@parametrize_with_checks(
    [PlugInWhittle()],
    expected_failed_checks=lambda estimator: {"check_fit_non_negative": "its negative numbers are identifiers"},
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def random_log(random, n, n_sites=5):
    return np.column_stack([random.integers(0, n_sites, n), random.integers(1, 12, n)]).astype(
        float
    ), random.gamma(2, 5, n)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 300), st.integers(0, 2**32), st.sampled_from([np.inf, 4.0]))
def test_estimates_equal_the_readable_twin(n, seed, limit):
    X, y = random_log(np.random.default_rng(seed), n)
    X[:2, 0] = [0, 1]
    learner = PlugInWhittle(n_ages=6, max_age=limit).fit(X, y)
    for position, site in enumerate(learner.materials_):
        totals = Totals(6)
        for age, content in zip(X[X[:, 0] == site, 1], y[X[:, 0] == site]):
            totals.add(age, content)
        assert np.allclose(learner.totals_[position][: len(totals.rows)], totals.rows, rtol=1e-12)
        rate, decay = fit(totals.rows, 0.3, 2.0, limit)
        assert learner.arrival_rates_[position] == pytest.approx(rate, rel=1e-9)
        assert learner.decay_rates_[position] == pytest.approx(decay, rel=1e-9)


def test_estimates_are_consistent_and_their_errors_are_honest():
    rate, decay, n = 40.0, 0.3, 400
    environment = EphemeralEnvironment(np.full(n, rate), np.full(n, decay), random_state=0)
    learner, sites = PlugInWhittle(n_materials=n), np.arange(n)
    for _ in range(60):
        for wait in (1, 5):
            for _ in range(wait - 1):
                environment.crawl([])
            contents = environment.crawl(sites)
            learner.partial_fit(np.column_stack([sites, np.full(n, wait)]), contents)
    z = (learner.arrival_rates_ - rate) / learner.arrival_errors_
    assert abs(z.mean()) < 0.25 and 0.85 < z.std() < 1.15
    z = (learner.decay_rates_ - decay) / learner.decay_errors_
    assert abs(z.mean()) < 0.25 and 0.85 < z.std() < 1.15
    assert np.abs(learner.decay_rates_ / decay - 1).mean() < 0.1


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 200), st.integers(1, 199), st.integers(0, 2**32))
def test_fit_of_a_log_equals_fit_of_its_parts_bit_for_bit(n, cut, seed):
    cut = min(cut, n - 1)
    random = np.random.default_rng(seed)
    X, y = random_log(random, n)
    X[0, 0] = 0
    X[cut:, 0] = np.where(X[cut:, 0] == 4, 9, X[cut:, 0])  # a newcomer after the cut
    whole = PlugInWhittle(n_materials=10).fit(X, y)
    parts = pickle.loads(pickle.dumps(PlugInWhittle(n_materials=10).fit(X[:cut], y[:cut]))).partial_fit(
        X[cut:], y[cut:]
    )
    for name in ("totals_", "estimates_", "last_crawls_", "n_crawls_", "clock_"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    assert np.array_equal(whole.allocate(3), parts.allocate(3))


def test_newcomers_are_admitted_and_strings_and_frames_are_fine():
    frame = pandas.DataFrame({"age": [1, 2, 3], "site": ["a", "b", "a"]})
    learner = PlugInWhittle(material="site", elapsed="age").fit(frame, [1.0, 2.0, 3.0])
    more = pandas.DataFrame({"age": [3, 1], "site": ["c", "b"]})
    learner.partial_fit(more, [5.0, 6.0])
    assert learner.materials_.tolist() == ["a", "b", "c"]
    assert learner.n_crawls_.tolist() == [2, 2, 1]


def test_seeding_crawls_every_site_in_pairs():
    environment = EphemeralEnvironment(np.full(10, 5.0), np.full(10, 0.1), random_state=0)
    learner, order, ages = PlugInWhittle(n_materials=10, n_seeds=2), [], []
    for _ in range(40):
        site = learner.allocate()
        age = environment.ages_[site]
        learner.partial_fit(np.column_stack([site, age]), environment.crawl(site))
        order.append(int(site[0]))
        ages.append(age[0])
    assert order == [site for site in range(10) for _ in range(2)] * 2
    assert ages[1::2] == [1.0] * 20
    assert (learner.n_crawls_ == 4).all()


def test_after_seeding_the_largest_index_of_the_raised_estimates_is_crawled():
    X, y = random_log(np.random.default_rng(1), 300)
    learner = PlugInWhittle(optimism=1.5, n_seeds=1, capacity=2).fit(X, y)
    raised = learner.arrival_rates_ + 1.5 * learner.arrival_errors_
    index = whittle_index(age=learner.ages_, arrival_rate=raised, decay_rate=learner.decay_rates_)
    assert np.array_equal(learner.allocate(), np.sort(np.argsort(-index, kind="stable")[:2]))


def test_ages_follow_the_environment():
    environment = EphemeralEnvironment(**RATES, random_state=0)
    learner = PlugInWhittle(n_materials=4, capacity=2)
    for k in range(50):
        sites = learner.allocate()
        assert k == 0 or np.array_equal(learner.ages_, environment.ages_)
        log = np.column_stack([sites, environment.ages_[sites]])
        learner.partial_fit(log, environment.crawl(sites))


def test_compiled_loop_equals_the_loop_of_public_calls():
    environment = EphemeralEnvironment(**RATES)
    compiled, public = PlugInWhittle(capacity=2), PlugInWhittle(capacity=2)
    history = simulate_ephemeral(compiled, environment, 300, random_state=7)
    wrapped = type(
        "Plain",
        (),
        {
            "allocate": lambda self, m: public.allocate(m),
            "partial_fit": lambda self, X, y: public.partial_fit(X, y),
        },
    )
    public._begin(4)
    again = simulate_ephemeral(wrapped(), environment, 300, 2, random_state=7)
    assert np.allclose(history.reward, again.reward, rtol=1e-14)
    assert np.array_equal(compiled.estimates_, public.estimates_)


@pytest.mark.slow
def test_at_least_470_from_step_1000_on_for_each_of_20_seeds():
    history = simulate_ephemeral(
        PlugInWhittle(), EphemeralEnvironment(**RATES), 5000, n_runs=20, record_every=1000, random_state=0
    )
    assert history.reward[:, 1:].mean(axis=1).min() >= 470.0
    assert abs(history.reward[:, 1:].mean() - 471.3825) < 4 * history.reward[:, 1:].std() / np.sqrt(80)


def test_a_site_that_brought_nothing_is_not_given_up():
    learner = PlugInWhittle(n_seeds=1).fit(
        [[0, 1], [0, 1], [1, 3], [1, 1], [0, 3]], [5.0, 5.0, 0.0, 0.0, 8.0]
    )
    assert learner.arrival_rates_[1] == 0.0
    assert learner.arrival_errors_[1] > 0.0


def test_extreme_contents_and_ages_give_finite_estimates():
    X = [[0, 1], [1, 10**12], [0, 10**6], [1, 1], [0, 0]]
    learner = PlugInWhittle().fit(X, [1e50, 1e-300, 1e50, 0.0, 5.0])
    for name in ("arrival_rates_", "decay_rates_", "arrival_errors_", "decay_errors_"):
        assert np.isfinite(getattr(learner, name)).all(), name


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([[0, 1], [1, 1.5]], [1.0, 1.0], "age.* must be whole"),
        ([[0, 1], [1, -1]], [1.0, 1.0], "non-negative"),
        ([[0, 1], [1, 1]], [1.0, np.nan], "content"),
        ([[0, 1], [1, 1]], [1.0, -1.0], "content"),
        ([[0, 1], [1, 1]], [1.0, 1e300], "content"),
        ([[0, 1], [1, 1e16]], [1.0, 1.0], "age"),
        ([[0, 1], [1, 1]], [1.0], "y must have one entry|2 entries"),
    ],
)
def test_bad_logs_are_named_and_leave_the_learner(X, y, says):
    learner = PlugInWhittle().fit([[0, 1], [1, 2]], [1.0, 2.0])
    before = learner.totals_.copy()
    with pytest.raises(ValueError, match=says):
        learner.partial_fit(X, y)
    assert np.array_equal(learner.totals_, before)


@pytest.mark.parametrize(
    "bad",
    [
        {"capacity": 0}, {"n_seeds": -1}, {"optimism": -1.0}, {"prior_decay": 0.0}, {"prior_spread": 0.0},
        {"n_ages": 2}, {"max_age": 0.0},
    ],
)  # fmt: skip
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        PlugInWhittle(**bad).fit([[0, 1], [1, 2]], [1.0, 2.0])


def test_allocate_checks_its_number_and_needs_sites():
    with pytest.raises(NotFittedError):
        PlugInWhittle().allocate(1)
    learner = PlugInWhittle().fit([[0, 1], [1, 2]], [1.0, 2.0])
    for bad in (0, 3):
        with pytest.raises(ValueError, match="n_crawls must be an integer in \\[1, 2\\]"):
            learner.allocate(bad)
    assert not hasattr(learner, "amounts_")
    assert clone(learner).get_params() == learner.get_params()
