"""The pooled prior maximises the marginal likelihood of the log, also where polls hide how fast items change."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import gammaln, logsumexp

from knapsolve import ChangeRateEstimator
from knapsolve._core.censored import Grouped
from knapsolve.rates.prior import MOST_POLLS, SPREAD, START, Evidence, gamma_prior


def log_of(rates, polls, gap, seed=0):
    """Items, equal gaps and outcomes."""
    rng = np.random.default_rng([seed, polls])
    items = np.tile(np.arange(rates.size), polls)
    return items, np.full(items.size, gap), rng.random(items.size) < -np.expm1(-rates[items] * gap)


def grouped(n, items, gaps, changed, *more):
    return Grouped(n, items.astype(np.int32), gaps, changed.astype(np.int8), *more)


def likelihoods(log_rates, gaps, changed, weights):
    """Log likelihood of one item's polls at each rate."""
    h = np.exp(log_rates)[:, None] * gaps
    return (weights * np.where(changed, np.log(-np.expm1(-h)), -h)).sum(axis=1)


def log_evidence(shape, mean, of_items, log_rates):
    """Log marginal likelihood by the trapezoidal rule with what is known of the shape, a constant apart."""
    span = shape / mean
    prior = shape * np.log(span) - gammaln(shape) + shape * log_rates - span * np.exp(log_rates)
    return sum(logsumexp(each + prior) for each in of_items) - 0.5 * (np.log(shape / START) / SPREAD) ** 2


@pytest.mark.parametrize("gap", [1e-3, 0.5, 5.0, 300.0])
def test_likelihoods_are_those_of_the_polls(gap):
    rng = np.random.default_rng(1)
    items, gaps = rng.integers(0, 3, 60), rng.exponential(gap, 60)
    changed, weights = rng.random(60) < 0.7, rng.uniform(0.1, 5.0, 60)
    log_rates = np.sort(rng.uniform(-700.0, 7.0, (3, 40)), axis=1)
    found = grouped(3, items, gaps, changed, weights).likelihoods(np.arange(3), log_rates, 1000)
    for item, at, values in zip(range(3), log_rates, found):
        own = items == item
        np.testing.assert_allclose(values, likelihoods(at, gaps[own], changed[own], weights[own]), rtol=1e-12)


def test_of_many_polls_evenly_spaced_ones_stand_for_the_others():
    gaps, log_rates = np.full(900, 2.0), np.linspace(-9.0, 2.0, 20)[None, :]
    sample = grouped(1, np.zeros(900), gaps, np.ones(900))
    whole, part = (sample.likelihoods(np.array([0]), log_rates, most) for most in (900, 300))
    np.testing.assert_allclose(part, whole, rtol=1e-12)


@pytest.mark.parametrize("gap", [0.3, 3.0, 30.0])
def test_the_evidence_is_the_integral_over_all_rates(gap):
    """Items of whom much is known count as Gammas, to a thousandth of the differences between priors."""
    rates = np.random.default_rng(2).gamma(0.7, 1.0, 30)
    items, gaps, changed = log_of(rates, 12, gap)
    evidence = Evidence(grouped(30, items, gaps, changed), np.ones(30, dtype=bool), 1.0)
    log_rates = np.linspace(-60.0, 12.0, 3_000)
    of_items = [likelihoods(log_rates, gaps[items == i], changed[items == i], np.ones(12)) for i in range(30)]
    of_items.append(START * log_rates - START * np.exp(log_rates))  # the guess
    priors = [(0.5, 1.0), (0.7, 0.5), (2.0, 1.5), (8.0, 0.3)]
    true = np.array([log_evidence(*prior, of_items, log_rates) for prior in priors])
    ours = np.array([-evidence.loss(np.log(prior))[0] for prior in priors])
    np.testing.assert_allclose(ours - ours[0], true - true[0], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("gap", [0.3, 30.0])
def test_the_gradient_is_that_of_the_evidence(gap):
    rates = np.random.default_rng(3).gamma(2.0, 0.5, 40)
    items, gaps, changed = log_of(rates, 10, gap)
    evidence = Evidence(grouped(40, items, gaps, changed), np.ones(40, dtype=bool), 0.7)
    for logs in ([-0.7, 0.2], [1.0, -2.0], [2.0, 3.0]):
        error = check_grad(lambda x: evidence.loss(x)[0], lambda x: evidence.loss(x)[1], np.array(logs))
        assert error < 1e-4 * np.abs(evidence.loss(np.array(logs))[1]).max() + 1e-5


@pytest.mark.parametrize(("shape", "gap"), [(0.7, 5.0), (0.7, 20.0), (4.0, 5.0), (4.0, 8.0)])
def test_the_prior_is_found_where_most_polls_find_a_change(shape, gap):
    """With every posterior taken for a Gamma its mean came to .25 at gaps of 20 and .6 at gaps of 5."""
    rates = np.random.default_rng(4).gamma(shape, 1 / shape, 2000)
    changes, time = gamma_prior(grouped(2000, *log_of(rates, 20, gap)), 0.3)
    assert changes / time == pytest.approx(1.0, rel=0.2)
    assert changes == pytest.approx(shape, rel=0.3)


@pytest.mark.parametrize(("shape", "gap"), [(0.7, 20.0), (4.0, 8.0)])
def test_90_percent_intervals_cover_rates_where_most_polls_find_a_change(shape, gap):
    rates = np.random.default_rng(5).gamma(shape, 1 / shape, 2000)
    items, gaps, changed = log_of(rates, 20, gap)
    low, high = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed).rate_interval(0.9).T
    assert 0.85 < ((low <= rates) & (rates <= high)).mean() < 0.96


def test_90_percent_intervals_cover_rates_where_few_items_changed_once():
    """Nothing tells the shape then: the likeliest one is often far too large, and covered 60%."""
    covered = []
    for seed in range(4):
        rates = np.random.default_rng([8, seed]).gamma(0.7, 1 / 0.7, 400)
        items, gaps, changed = log_of(rates, 4, 0.02, seed)
        low, high = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed).rate_interval(0.9).T
        covered.append(((low <= rates) & (rates <= high)).mean())
    assert 0.84 < np.mean(covered) < 0.98


def test_of_a_large_log_some_items_are_integrated_over_and_stand_for_the_others():
    rates = np.random.default_rng(6).gamma(0.7, 1 / 0.7, 3000)
    sample = grouped(3000, *log_of(rates, 60, 8.0))
    evidence = Evidence(sample, np.ones(3000, dtype=bool), 0.5)
    assert np.diff(sample.first).sum() > 2 * MOST_POLLS
    assert len(evidence.rates) * evidence.weight + evidence.changes.size == pytest.approx(3001)
    changes, time = gamma_prior(sample, 0.5)
    assert (changes, changes / time) == pytest.approx((0.7, 1.0), rel=0.15)


def test_items_that_are_known_well_are_points():
    rates = np.random.default_rng(9).gamma(2.0, 0.5, 400)
    items, gaps, changed = log_of(rates, 200, 1.0)
    changes, time = gamma_prior(grouped(400, items, gaps, changed, np.full(items.size, 1e9)), 0.2)
    assert (changes, changes / time) == pytest.approx((2.0, rates.mean()), rel=0.1)


@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e9, 1e99])
@pytest.mark.parametrize("changed", [0, 1])
def test_whatever_was_seen_the_prior_is_finite_and_within_reach(changed, weight):
    rng = np.random.default_rng(7)
    items, gaps = rng.integers(0, 9, 100), 10 ** rng.uniform(-30, 0, 100)
    sample = grouped(9, items, gaps, np.full(100, changed), np.full(100, weight))
    with np.errstate(all="raise", under="ignore"):
        shape, time = gamma_prior(sample, 1.0)
    assert 0.01 < shape <= 20.0
    assert 1e-4 < shape / time < 1e4
