"""The streaming estimators do what their formulae say, and streaming equals batch bit for bit."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from knapsolve import ChangeRateEstimator
from tests.rates.logs import gamma_rates, poisson_log
from tests.rates.twins import PoolTwin, RecursiveTwin, WatchTwin

ESTIMATORS = {
    "mle": ChangeRateEstimator(),
    "mle-memory": ChangeRateEstimator(memory=30.0),
    "recursive": ChangeRateEstimator("recursive"),
    "recursive-memory": ChangeRateEstimator("recursive", memory=30.0),
    "recursive-limit": ChangeRateEstimator("recursive", evidence_limit=8.0),
    "bayes": ChangeRateEstimator("bayes"),
    "bayes-memory": ChangeRateEstimator("bayes", memory=30.0, rate_range=(1e-3, 1e3)),
    "multiplicative": ChangeRateEstimator("multiplicative", gain=0.2),
}
EACH = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@EACH
@settings(deadline=None, max_examples=25)
@given(
    n_items=st.integers(1, 30),
    n_polls=st.integers(1, 200),
    cuts=st.lists(st.integers(1, 200), max_size=4, unique=True),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    still=st.integers(0, 5),
)
def test_any_cut_of_the_log_gives_the_same_estimates(estimator, n_items, n_polls, cuts, seed, weighted, still):
    X, y, *_ = poisson_log(n_polls, gamma_rates(n_items), seed)
    X[:still, 1] = 0.0  # no time passes at first
    weights = np.random.default_rng(seed).integers(1, 3, n_polls) if weighted else np.ones(n_polls)
    whole = clone(estimator).fit(X, y, weights if weighted else None)
    parts = clone(estimator)
    for a, b in pairwise([0, *sorted(cut for cut in cuts if cut < n_polls), n_polls]):
        parts.partial_fit(X[a:b], y[a:b], sample_weight=weights[a:b] if weighted else None)
    assert parts.materials_.tolist() == whole.materials_.tolist()
    assert parts.rates_.tolist() == whole.rates_.tolist()
    query = np.column_stack([np.arange(n_items + 1), np.ones(n_items + 1)])
    assert parts.predict_proba(query).tolist() == whole.predict_proba(query).tolist()


@EACH
def test_a_batch_without_weight_changes_no_estimate(estimator):
    X, y, *_ = poisson_log(60, gamma_rates(5))
    X[50:, 0] += 3  # newcomers too
    weights = np.append(np.ones(50), np.zeros(10))
    whole = clone(estimator).fit(X, y, weights)
    parts = clone(estimator).fit(X[:50], y[:50], weights[:50])
    known = parts.rates_.tolist()
    parts.partial_fit(X[50:], y[50:], sample_weight=weights[50:])
    assert parts.materials_.tolist() == whole.materials_.tolist()
    assert parts.rates_.tolist() == whole.rates_.tolist()
    assert parts.rates_[:5].tolist() == pytest.approx(known, rel=0.05)  # the prior of "mle" is of more items now


@EACH
def test_what_a_copy_learns_the_original_does_not(estimator):
    X, y, *_ = poisson_log(300, gamma_rates(8))
    X[200:, 0] += 3
    estimator = clone(estimator).fit(X[:100], y[:100])
    before = estimator.rates_.tolist()
    twin = copy.copy(estimator).partial_fit(X[100:], y[100:])
    assert estimator.rates_.tolist() == before and len(before) < twin.rates_.size
    assert twin.rates_.tolist() == estimator.partial_fit(X[100:], y[100:]).rates_.tolist()


@EACH
def test_long_batches_and_pickles_on_the_way_give_the_same_estimates(estimator):
    X, y, *_ = poisson_log(150_000, gamma_rates(40))
    whole = clone(estimator).fit(X, y)
    parts = clone(estimator).fit(X[:70_000], y[:70_000])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[70_000:], y[70_000:])
    assert parts.rates_.tolist() == whole.rates_.tolist()


@pytest.mark.parametrize(("memory", "limit"), [(None, None), (5.0, None), (None, 6.0)])
def test_recursive_equals_its_twin(memory, limit):
    X, y, counts, _ = poisson_log(3_000, gamma_rates(8))
    known = np.where(np.arange(3_000) % 3 == 0, counts, np.nan)
    table = np.column_stack([X, known])
    estimator = ChangeRateEstimator("recursive", memory=memory, evidence_limit=limit, n_changes=2).fit(table, y)
    pool, twins = PoolTwin(1 / X[0, 1]), {}
    for (item, gap, count), changed in zip(table.tolist(), y.tolist()):
        twin = twins.setdefault(item, None) or RecursiveTwin(pool.rate, memory=memory or np.inf, limit=limit or np.inf)
        twins[item] = twin
        more = {} if np.isnan(count) else {"count": count, "exposure": gap}
        pool.learn(twin.rate, gap, changed, **more)
        twin.learn(gap, changed, pool.rate, **more)
    np.testing.assert_allclose(estimator.rates_, [twins[m].rate for m in estimator.materials_], rtol=1e-9)


def test_where_rates_jump_recursive_forgets_for_terms_as_its_twin_does():
    rng = np.random.default_rng(0)
    n, items = 60_000, np.arange(60_000) % 4
    rates = np.where((np.arange(n) // 3_000) % 2 == 0, 0.3, 2.0)
    y = (rng.random(n) < -np.expm1(-rates)).astype(int)
    X = np.column_stack([items, np.ones(n)])
    estimator = ChangeRateEstimator("recursive").fit(X, y)
    pool, watch, twins = PoolTwin(1.0), WatchTwin(), {}
    for item, changed in zip(items.tolist(), y.tolist()):
        twin = twins.setdefault(item, None) or RecursiveTwin(pool.rate, watch=watch)
        twins[item] = twin
        pool.learn(twin.rate, 1.0, changed)
        twin.learn(1.0, changed, pool.rate)
    assert watch.term >= 20_000  # it happened at least twice
    np.testing.assert_allclose(estimator.rates_, [twins[m].rate for m in estimator.materials_], rtol=1e-9)
    assert np.median(np.abs(np.log(estimator.rates_ / rates[-1]))) < 0.5


@pytest.mark.parametrize("n_items", [50, 2_000])
def test_where_rates_last_recursive_forgets_nothing(n_items):
    rates = gamma_rates(n_items)
    X, y, *_ = poisson_log(200_000, rates)
    default, never = (ChangeRateEstimator("recursive", evidence_limit=limit).fit(X, y) for limit in (None, 1e140))
    assert default.rates_.tolist() == never.rates_.tolist()


def test_bayes_is_the_posterior_mean_on_its_grid():
    X, y, *_ = poisson_log(40, gamma_rates(3))
    estimator = ChangeRateEstimator("bayes", rate_range=(1e-3, 1e3)).fit(X, y)
    grid, pool, evidence, rates = np.geomspace(1e-3, 1e3, 73), PoolTwin(1 / X[0, 1]), {}, {}

    def mean(log):
        p = np.exp(log - log.max())
        return (p * grid).sum() / p.sum()

    for (item, gap), changed in zip(X.tolist(), y.tolist()):
        if item not in evidence:
            ratio = grid / pool.rate
            evidence[item] = 0.05 * (np.log(ratio) - ratio)
            rates[item] = mean(evidence[item])
        pool.learn(rates[item], gap, changed)
        evidence[item] += np.log(-np.expm1(-grid * gap)) if changed else -grid * gap
        rates[item] = mean(evidence[item])
    np.testing.assert_allclose(estimator.rates_, [rates[m] for m in estimator.materials_], rtol=1e-9)


def test_bayes_is_not_tied_to_the_points_of_its_grid():
    rates = np.array([0.5, 0.8, 1.0, 1.3])
    X, y, *_ = poisson_log(400_000, rates)
    estimator = ChangeRateEstimator("bayes").fit(X, y)
    np.testing.assert_allclose(estimator.rates_, rates[estimator.materials_.astype(int)], rtol=0.02)


def test_multiplicative_moves_by_the_surprise():
    X, y, *_ = poisson_log(50, gamma_rates(1))
    rate = 1 / X[0, 1]
    for gap, changed in zip(X[:, 1], y):
        rate *= np.exp(0.3 * (changed + np.expm1(-rate * gap)))
    estimator = ChangeRateEstimator("multiplicative", gain=0.3).fit(X, y)
    assert estimator.rates_[0] == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize("n", [100, 300])
def test_recursive_is_within_5_percent_of_the_error_of_mle_at_100_000_polls(n):
    errors = {"mle": [], "recursive": []}
    for seed in range(4):
        rates = gamma_rates(n, seed)
        X, y, *_ = poisson_log(100_000, rates, seed)
        for name, found in errors.items():
            estimator = ChangeRateEstimator(name).fit(X, y)
            found.append(np.abs(estimator.rates_ - rates[estimator.materials_.astype(int)]).mean())
    assert np.mean(errors["recursive"]) < 1.05 * np.mean(errors["mle"])


@pytest.mark.parametrize("estimator", [each for name, each in ESTIMATORS.items() if name != "multiplicative"])
def test_complete_observations_beat_what_polls_alone_tell(estimator):
    rates = np.random.default_rng(3).gamma(2.0, 3.0, 200)  # several changes between polls
    X, y, counts, ages = poisson_log(8_000, rates, seed=4)
    table = np.column_stack([X, counts, ages])

    def error(**columns):
        fitted = clone(estimator).set_params(**columns).fit(table, y)
        return np.abs(np.log(fitted.rates_ / rates[fitted.materials_.astype(int)])).mean()

    assert error(n_changes=2) < error(age=3) < error()


def test_counts_make_mle_changes_over_time():
    X, y, counts, _ = poisson_log(200, gamma_rates(2))
    estimator = ChangeRateEstimator(prior=(0.5, 2.0), n_changes=2).fit(np.column_stack([X, counts]), y)
    for material, rate in zip(estimator.materials_, estimator.rates_):
        own = X[:, 0] == material
        assert rate == pytest.approx((0.5 + counts[own].sum()) / (2.0 + X[own, 1].sum()), rel=1e-9)


@pytest.mark.parametrize("name", ["recursive", "bayes", "multiplicative", "mle"])
def test_rates_that_jump_are_followed_with_a_memory(name):
    rng = np.random.default_rng(0)
    gaps = np.full(4_000, 1.0)
    rates = np.where(np.arange(4_000) < 2_000, 0.2, 2.0)
    y = (rng.random(4_000) < -np.expm1(-rates)).astype(int)
    estimator = ChangeRateEstimator(name, memory=100.0, gain=0.05).fit(np.column_stack([np.zeros(4_000), gaps]), y)
    assert estimator.rates_[0] == pytest.approx(2.0, rel=0.35)


@pytest.mark.parametrize("memory", [None, 3.0])
def test_recursive_rates_stay_finite_whatever_the_gaps(memory):
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(4, 60))
        X = np.column_stack([np.zeros(n), 10.0 ** rng.uniform(-10, 10, n)])
        estimator = ChangeRateEstimator(estimator="recursive", memory=memory).fit(X, np.arange(n) % 3 == 1)
        assert np.isfinite(estimator._model.rows[:1]).all()
        assert np.isfinite(estimator.rate_interval()).all()


def test_four_polls_far_apart_in_length_do_not_lead_to_the_largest_rate():
    X, y = [[0, 1e-6], [0, 100], [0, 1e6], [0, 1e-4]], [0, 1, 0, 0]
    estimator = ChangeRateEstimator(estimator="recursive").fit(X, y)
    again = np.column_stack([np.zeros(500), np.ones(500)])
    exact = ChangeRateEstimator().fit([*X, *again.tolist()], [*y, *([0, 1] * 250)])
    assert estimator.partial_fit(again, [0, 1] * 250).rates_[0] == pytest.approx(exact.rates_[0], rel=0.2)


def test_bayes_says_where_its_grid_does_not_reach_the_rates():
    """As where the first of all elapsed times, which the grid is laid around, is none of the usual ones."""
    X, y, *_ = poisson_log(2_000, gamma_rates(10, shape=5.0))
    X[0, 1], y[0] = 1e-7, 0
    estimator = ChangeRateEstimator("bayes").fit(X, y)
    for ask in (lambda: estimator.rates_, estimator.rate_interval):
        with pytest.warns(UserWarning, match="rate_range must reach the rates: 10 of 10 seem to be below 1000 "):
            ask()
    with pytest.warns(UserWarning, match="10 above 0.01"):
        assert (ChangeRateEstimator("bayes", rate_range=(1e-4, 1e-2)).fit(X, y).rates_ <= 0.01).all()


@pytest.mark.filterwarnings("ignore:rate_range must reach")
def test_evidence_beyond_doubles_leaves_bayes_finite():
    X = [[0, 1e-100], [0, 1e140], [1, 1e-100]]
    estimator = ChangeRateEstimator("bayes").fit(X, [0, 0, 1], sample_weight=[1.0, 1e100, 1.0])
    assert np.isfinite(estimator.rates_).all() and np.isfinite(estimator.rate_interval()).all()
