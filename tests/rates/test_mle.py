"""estimator="mle" maximises the censored likelihood; its prior, intervals and memory are what they say."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.stats import gamma

from knapsolve import ChangeRateEstimator
from knapsolve._core.censored import Grouped
from knapsolve.rates.prior import gamma_prior
from tests.rates.logs import gamma_rates, poisson_log

PRIOR = (0.7, 1.3)


def score(rate, gaps, changed, weights, prior=PRIOR):
    """Derivative by log rate of the log posterior of one item."""
    h = rate * gaps[changed]
    found = np.where(h > 0, h / np.expm1(np.clip(h, 1e-300, 700.0)), 1.0)
    quiet = rate * (weights * gaps)[~changed].sum()
    return (weights[changed] * found).sum() - quiet + prior[0] - prior[1] * rate


def maximiser(gaps, changed, weights, prior=PRIOR):
    return brentq(score, 1e-9, 1e9, args=(gaps, changed, weights, prior), xtol=1e-300, rtol=1e-14, maxiter=1000)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(1e-6, 1e3), st.booleans(), st.integers(1, 3)), min_size=1, max_size=40
    )
)
def test_rates_equal_a_brute_force_maximiser_to_1e_9(rows):
    items, gaps, changed, weights = (np.array(column) for column in zip(*rows))
    estimator = ChangeRateEstimator(prior=PRIOR).fit(np.column_stack([items, gaps]), changed, weights)
    for material, rate in zip(estimator.materials_, estimator.rates_):
        own = items == material
        assert rate == pytest.approx(maximiser(gaps[own], changed[own], weights[own].astype(float)), rel=1e-9)


def test_a_weight_is_that_many_polls():
    X, y, *_ = poisson_log(400, gamma_rates(20))
    weights = np.random.default_rng(1).integers(0, 4, 400)
    weighted = ChangeRateEstimator().fit(X, y, weights)
    repeated = ChangeRateEstimator().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    known = dict(zip(repeated.materials_, repeated.rates_))
    for material, rate in zip(weighted.materials_, weighted.rates_):
        assert rate == pytest.approx(known.get(material, rate), rel=1e-9)


def test_memory_weighs_polls_by_the_time_since_on_the_items_own_clock():
    X, y, *_ = poisson_log(300, gamma_rates(4))
    estimator = ChangeRateEstimator(prior=PRIOR, memory=7.0).fit(X, y)
    for material, rate in zip(estimator.materials_, estimator.rates_):
        own = X[:, 0] == material
        gaps = X[own, 1]
        since = gaps.sum() - np.cumsum(gaps)
        assert rate == pytest.approx(maximiser(gaps, y[own].astype(bool), np.exp(-since / 7.0)), rel=1e-9)


def test_rates_do_not_depend_on_the_unit_of_time():
    X, y, *_ = poisson_log(500, gamma_rates(10))
    rates = ChangeRateEstimator(memory=20.0).fit(X, y).rates_
    for unit in (1e-120, 86_400.0, 1e120):
        scaled = ChangeRateEstimator(memory=20.0 * unit).fit(X * [1, unit], y)
        np.testing.assert_allclose(scaled.rates_ * unit, rates, rtol=1e-9)


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0])
def test_the_pooled_prior_is_the_gamma_that_rates_were_drawn_from(shape):
    rates = gamma_rates(3_000, shape=shape)
    X, y, *_ = poisson_log(120_000, rates)
    items = Grouped(3_000, X[:, 0].astype(np.int32), np.ascontiguousarray(X[:, 1]), y.astype(np.int8))
    changes, time = gamma_prior(items, 1.0)
    assert changes == pytest.approx(shape, rel=0.2)
    assert changes / time == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("n", "polls"), [(1, 20), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(1, 60), (2, 20), (10, 10)])]
)
@pytest.mark.parametrize("gap", [0.3, 1.0, 3.0])
def test_intervals_of_few_items_cover_them(n, polls, gap):
    """They are not taken for many that are alike: 95% intervals of rate 1 cover it in most logs."""
    covered = []
    for seed in range(150):
        rng = np.random.default_rng([seed, n, polls])
        items, gaps = np.tile(np.arange(n), polls), gap * rng.exponential(1.0, n * polls)
        y = rng.random(n * polls) < -np.expm1(-gaps)
        low, high = ChangeRateEstimator().fit(np.column_stack([items, gaps]), y).rate_interval().T
        covered.append(((low <= 1) & (high >= 1)).mean())
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize("n", [1, 5])
def test_the_pooled_prior_finds_the_rate_however_wide_gaps_spread(n):
    rng = np.random.default_rng(n)
    items, gaps = np.arange(6_000) % n, 10 ** rng.uniform(-9, 9, 6_000)
    y = rng.random(6_000) < -np.expm1(-gaps)
    X = np.column_stack([items, gaps])
    weak = ChangeRateEstimator(prior=(1e-3, 1e-3)).fit(X, y)
    np.testing.assert_allclose(ChangeRateEstimator().fit(X, y).rates_.mean(), weak.rates_.mean(), rtol=0.05)


def test_where_nothing_ever_changed_rates_are_about_half_a_change_in_all_that_time():
    for n in (1, 10, 1000):
        rates = ChangeRateEstimator().fit([[i % n, 2.0] for i in range(10 * n)], [0] * (10 * n)).rates_
        assert 0.05 < (rates * 20.0 * n).max() < 2.0


def test_where_no_time_passed_a_given_prior_and_the_changes_found_are_what_is_known():
    """A change found in no time counts as a change; without a prior there is no unit of time, and rates are 1."""
    X = [["a", 0.0], ["b", 0.0], ["b", 0.0]]
    estimator = ChangeRateEstimator(prior=(2.0, 4.0)).fit(X, [0, 1, 0])
    np.testing.assert_allclose(estimator.rates_, [2 / 4, 3 / 4])
    ends = [gamma.ppf((0.05, 0.95), shape, scale=1 / 4) for shape in (2.0, 3.0)]
    np.testing.assert_allclose(estimator.rate_interval(0.9), ends)
    np.testing.assert_allclose(estimator.predict_proba([["c", 4.0]])[0, 1], 1 - np.exp(-2.0))
    np.testing.assert_allclose(ChangeRateEstimator().fit(X, [0, 1, 0]).rates_, 1.0)


def test_pooling_helps_items_that_were_polled_once():
    rates = gamma_rates(4_000, shape=3.0)
    X, y, *_ = poisson_log(8_000, rates)

    def error(**prior):
        estimator = ChangeRateEstimator(**prior).fit(X, y)
        return np.abs(estimator.rates_ - rates[estimator.materials_.astype(int)]).mean()

    assert error() < 0.8 * error(prior=(0.01, 0.01))


def test_estimates_approach_the_true_rates_as_polls_accumulate():
    rates = gamma_rates(50)
    errors = []
    for n in (2_000, 32_000, 512_000):
        X, y, *_ = poisson_log(n, rates)
        estimator = ChangeRateEstimator().fit(X, y)
        errors.append(np.abs(estimator.rates_ / rates[estimator.materials_.astype(int)] - 1).mean())
    assert errors[1] < 0.4 * errors[0]
    assert errors[2] < 0.4 * errors[1]
    assert errors[2] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["mle", "recursive", "bayes"])
@pytest.mark.parametrize("polls", [50, 200])
def test_95_percent_intervals_cover_93_to_97_percent_of_1000_items(estimator, polls):
    covered = []
    for seed in range(3):
        rates = gamma_rates(1_000, seed)
        X, y, *_ = poisson_log(1_000 * polls, rates, seed)
        fitted = ChangeRateEstimator(estimator).fit(X, y)
        low, high = fitted.rate_interval(0.95).T
        true = rates[fitted.materials_.astype(int)]
        covered.append(((low <= true) & (true <= high)).mean())
    assert 0.93 <= np.mean(covered) <= 0.97


def test_intervals_are_quantiles_of_the_posterior():
    gaps, changed = np.array([0.5, 2.0, 1.0, 0.1, 3.0]), np.array([0, 1, 1, 0, 1], dtype=bool)
    estimator = ChangeRateEstimator(prior=PRIOR).fit(np.column_stack([np.zeros(5), gaps]), changed)

    def density(rate):
        return rate ** (PRIOR[0] - 1) * np.exp(-rate * (PRIOR[1] + gaps[~changed].sum())) * np.prod(
            -np.expm1(-rate * gaps[changed])
        )  # fmt: skip

    total = quad(density, 0, np.inf, epsabs=0, epsrel=1e-10)[0]
    for level in (0.5, 0.95):
        low, high = estimator.rate_interval(level)[0]
        assert quad(density, 0, low, epsabs=0)[0] / total == pytest.approx((1 - level) / 2, rel=0.01)
        assert quad(density, 0, high, epsabs=0)[0] / total == pytest.approx((1 + level) / 2, rel=0.01)


@pytest.mark.parametrize("shape", [0.02, 0.05, 0.2, 1.0, 20.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_without_changes_the_interval_is_that_of_the_gamma_posterior(shape, level):
    estimator = ChangeRateEstimator(prior=(shape, 1.0)).fit([[0, 3.0], [1, 2.0]], [0, 1])
    expected = gamma.ppf([(1 - level) / 2, (1 + level) / 2], shape, scale=1 / 4.0)
    np.testing.assert_allclose(estimator.rate_interval(level)[0], expected, rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.booleans(), st.floats(-2, 0)), min_size=1, max_size=5),
    st.floats(-1.7, 1),
    st.floats(-2, 2),
)
@example([(0.0, True, -2.0)], -1.5, 0.0)  # flat for hundreds of steps below its mode
def test_ends_of_intervals_cut_off_their_tails_whatever_the_prior(rows, shape, time):
    gaps, changed, weights = (np.array(column) for column in zip(*rows))
    gaps, weights, shape, time = 10.0**gaps, 10.0**weights, 10.0**shape, 10.0**time
    changed[0] = True
    X = np.column_stack([np.append(np.zeros(gaps.size), 1), np.append(gaps, 1.0)])
    estimator = ChangeRateEstimator(prior=(shape, time)).fit(X, np.append(changed, False), np.append(weights, 1.0))
    quiet = (weights * gaps)[~changed].sum() + time

    def log_density(x):
        found = np.log(-np.expm1(-np.exp(x)[:, None] * gaps[changed]))
        return found @ weights[changed] + shape * x - np.exp(x) * quiet

    x = np.log(estimator.rates_[0]) + np.concatenate([np.arange(-640, -20, 0.05), np.arange(-20, 9, 0.002)])
    mass = CubicSpline(x, np.exp(log_density(x) - log_density(np.log(estimator.rates_[:1])))).antiderivative()
    low, high = mass(np.log(estimator.rate_interval()[0])) / mass(x[-1])
    assert low == pytest.approx(0.025, rel=1e-4) and 1 - high == pytest.approx(0.025, rel=1e-4)


@pytest.mark.parametrize("level", [0.99, 0.9999, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12])
def test_intervals_of_any_level_cut_off_their_tails(level):
    """Two changes found in one unit of time each, one unit without, prior (1, 1): l = 2 log(1 - e^-L) - 2 L + log L."""
    estimator = ChangeRateEstimator(prior=(1.0, 1.0)).fit([[0, 1.0]] * 3, [1, 0, 1])
    low, high = estimator.rate_interval(level)[0]

    def below(rate):  # the integral of (1 - 2 e^-L + e^-2L) e^-2L, and for small rates that of its series
        series = rate**3 * (1 / 3 - 3 * rate / 4 + 11 * rate**2 / 12)
        whole = -np.expm1(-2 * rate) / 2 + 2 * np.expm1(-3 * rate) / 3 - np.expm1(-4 * rate) / 4
        return 12 * (series if rate < 0.01 else whole)

    above = 12 * (np.exp(-2 * high) / 2 - 2 * np.exp(-3 * high) / 3 + np.exp(-4 * high) / 4)
    assert below(low) == pytest.approx((1 - level) / 2, rel=1e-3)
    assert above == pytest.approx((1 - level) / 2, rel=1e-3)


def test_an_interval_of_nearly_all_is_finite():
    estimator = ChangeRateEstimator(prior=PRIOR).fit([[0, 3.0], [1, 2.0]], [0, 1])
    assert np.isfinite(estimator.rate_interval(np.nextafter(1.0, 0.0))).all()


def test_changes_found_in_no_time_have_the_limit_of_their_likelihood():
    """For the rate and for its interval alike, whatever is too short for doubles."""
    fitted = {}
    for short in (0.0, 1e-320, 1e-300, 1e-12):
        X = [[0, short]] * 4 + [[0, 1.0]]
        estimator = ChangeRateEstimator(prior=(0.5, 1.0)).fit(X, [1, 1, 1, 1, 0])
        fitted[short] = [*estimator.rates_, *estimator.rate_interval()[0]]
    expected = [4.5 / 2, *gamma.ppf([0.025, 0.975], 4.5, scale=1 / 2)]
    np.testing.assert_allclose(list(fitted.values()), [expected] * 4, rtol=1e-6)


@pytest.mark.parametrize("shape", [0.02, 0.5])
def test_a_change_of_no_weight_leaves_the_interval_as_it_was(shape):
    without = ChangeRateEstimator(prior=(shape, 1.0)).fit([[0, 2.0]], [0]).rate_interval()
    for weight in (0.0, 1e-14):
        estimator = ChangeRateEstimator(prior=(shape, 1.0)).fit([[0, 1.0], [0, 2.0]], [1, 0], [weight, 1.0])
        np.testing.assert_allclose(estimator.rate_interval(), without, rtol=1e-10)


def test_intervals_of_rates_most_of_which_are_nearly_0_cover_them():
    n, shape = 4000, 0.05
    rates = np.random.default_rng(0).gamma(shape, 1.0, n)
    X, y, *_ = poisson_log(10 * n, rates)
    estimator = ChangeRateEstimator(prior=(shape, 1.0)).fit(X, y)
    low, high = estimator.rate_interval().T
    true = rates[estimator.materials_.astype(int)]
    assert 0.015 < (true > high).mean() < 0.035
    assert 0.015 < (true < low).mean() < 0.035


def test_intervals_of_items_whose_changes_were_counted_are_those_of_their_gammas():
    counts, times = np.array([0, 3, 1, 0, 7]), np.array([2.0, 1.0, 5.0, 4.0, 3.0])
    X = np.column_stack([np.arange(5), times, counts])
    estimator = ChangeRateEstimator("mle", prior=(0.5, 2.0), n_changes=2).fit(X, (counts > 0).astype(int))
    expected = [gamma.ppf([0.05, 0.95], 0.5 + count, scale=1 / (2.0 + time)) for count, time in zip(counts, times)]
    np.testing.assert_allclose(estimator.rate_interval(0.9), expected, rtol=1e-9)
