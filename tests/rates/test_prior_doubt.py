"""Intervals of few items know that the items say little of the prior that they share."""

import numpy as np
import pytest
from scipy.stats import gamma, nbinom

from knapsolve import ChangeRateEstimator
from knapsolve.rates.prior import SHAPES, START
from knapsolve.rates.prior_doubt import FEW, REACH, widening

SHARES = np.array([0.025, 0.25, 0.95])


def share_below(quantiles, changes, time, prior, power):
    """Of the mixture over a dense grid of priors, by the negative binomial chance of all counts and a mean's power."""
    told = START + (1 - 1 / changes.size) * (changes * prior[0] / (changes + prior[0])).sum()
    chances, shares = [], []
    for shape in np.geomspace(*SHAPES, 60):
        for mean in prior[0] / prior[1] * np.exp(np.linspace(-REACH, REACH, 60) / np.sqrt(told)):
            span = shape / mean
            chances.append(np.prod(nbinom.pmf(changes, shape, span / (span + time))) * mean**power)
            shares.append(gamma.cdf(quantiles, shape + changes, scale=1 / (span + time)))
    return np.array(chances) @ np.array(shares) / np.sum(chances)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "time"), [([3.0], [4.0]), ([0.0, 5.0], [2.0, 9.0]), ([1.0, 1.0, 30.0, 4.0], [9.0, 2.0, 5.0, 5.0])]
)
def test_quantiles_are_those_of_the_mixture_over_priors(changes, time):
    changes, time, prior = np.array(changes), np.array(time), (0.7, 1.1)
    ratios = widening(changes, time, prior, SHARES)
    for share, ratio in zip(SHARES, ratios.T):
        quantiles = ratio * gamma.ppf(share, changes + prior[0], scale=1 / (time + prior[1]))
        np.testing.assert_allclose(share_below(quantiles, changes, time, prior, 0.5 * (share > 0.5)), share, atol=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("shape", [1.0, 4.0])
def test_90_percent_intervals_of_few_items_cover_their_rates(n, shape):
    """Under the fitted prior alone .78 to .83 of them did."""
    covered = []
    for seed in range(1000 // n):
        rng = np.random.default_rng([seed, n])
        rates, items, gaps = rng.gamma(shape, 1 / shape, n), np.tile(np.arange(n), 5), rng.exponential(1.0, 5 * n)
        changed = rng.random(5 * n) < -np.expm1(-rates[items] * gaps)
        low, high = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed).rate_interval(0.9).T
        covered.append(((low <= rates) & (rates <= high)).mean())
    assert 0.84 < np.mean(covered) < 0.94


def test_from_few_items_to_more_there_is_no_jump(monkeypatch):
    """Beyond FEW items the prior is taken as fitted: the doubt left out there is small."""
    rng = np.random.default_rng(0)
    rates, items, gaps = rng.gamma(2.0, 0.5, FEW), np.tile(np.arange(FEW), 10), rng.exponential(1.0, 10 * FEW)
    X, changed = np.column_stack([items, gaps]), rng.random(10 * FEW) < -np.expm1(-rates[items] * gaps)
    estimator = ChangeRateEstimator().fit(X, changed)
    doubted = estimator.rate_interval()
    monkeypatch.setattr("knapsolve.rates.log_model.FEW", 0)
    fitted = estimator.rate_interval()
    widths = np.diff(np.log(doubted)) / np.diff(np.log(fitted))
    assert 0.9 < widths.min() < widths.max() < 1.1


@pytest.mark.parametrize("time", [0.0, 1e-300, 1.0, 1e300])
def test_whatever_was_seen_intervals_are_positive_and_finite(time):
    for changes in (0.0, 1e-9, 1e12):
        for prior in ((0.02, 1e-290), (20.0, 1e290), (0.5, 1.0)):
            ratios = widening(np.full(3, changes), np.full(3, time), prior, SHARES)
            assert np.isfinite(ratios).all() and (ratios > 0).all()


@pytest.mark.parametrize("weight", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("gap", [1.0, 300.0])
def test_the_doubt_moves_ends_outwards_alone(gap, weight, monkeypatch):
    """Also where nearly all polls find a change, and tell nothing of how fast."""
    rng = np.random.default_rng(0)
    rates, items, gaps = rng.gamma(4.0, 0.25, 100), np.tile(np.arange(100), 4), rng.exponential(gap, 400)
    changed = rng.random(400) < -np.expm1(-rates[items] * gaps)
    estimator = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed, sample_weight=np.full(400, weight))
    low, high = estimator.rate_interval(0.9).T
    monkeypatch.setattr("knapsolve.rates.log_model.FEW", 0)
    inner_low, inner_high = estimator.rate_interval(0.9).T
    assert (low <= inner_low).all() and (high >= inner_high).all() and (low < high).all()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("blur", [0.0, 0.01])
def test_what_always_changed_is_not_slow(n, blur):
    """At rates below the lower end so many changes have a chance of 2.5% at most, and the more there are the higher."""
    ends = []
    for polls in (1, 3, 10, 50, 2000):
        log = [[item, 1.0] for item in range(n)] * polls + [[item, blur] for item in range(n)]
        changed = [1] * (n * polls) + [0] * n
        ends.append(ChangeRateEstimator().fit(log, changed).rate_interval(0.95)[:, 0])
        assert (ends[-1] > 0.9 * -np.log1p(-(0.025 ** (1 / polls)))).all()
    assert (np.diff(ends, axis=0) > 0).all()


def test_polls_after_no_time_tell_nothing_of_others():
    rng = np.random.default_rng(3)
    items, gaps, changed = np.repeat(np.arange(4), 5), rng.exponential(1.0, 20), rng.integers(0, 2, 20)
    known = ChangeRateEstimator().fit(np.column_stack([items, gaps]), changed)
    more = np.column_stack([np.append(items, [9, 9]), np.append(gaps, [0.0, 0.0])])
    asked = ChangeRateEstimator().fit(more, np.append(changed, [0, 0]))
    np.testing.assert_array_equal(asked.rates_[:4], known.rates_)
    np.testing.assert_allclose(asked.rate_interval()[:4], known.rate_interval(), rtol=1e-12)
