"""Ephemeral content: the mean dynamics, the law of the stochastic one, and the maximum age."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve.environments import EphemeralEnvironment

RATES = {"arrival_rates": [250.0] * 4, "decay_rates": [0.7, 0.35, 0.7, 0.21]}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.sampled_from([np.inf, 1, 3]))
def test_mean_contents_follow_the_recursion_of_every_age_class(schedule, limit):
    rate, decay = np.array([5.0, 3.0, 2.0]), np.array([0.1, 0.7, 1.5])
    environment = EphemeralEnvironment(rate, decay, limit, dynamics="mean")
    fresh = rate / decay * -np.expm1(-decay)
    classes = [[] for _ in range(3)]  # contents by age in steps, youngest first
    for site in schedule:
        for i in range(3):
            classes[i] = ([fresh[i]] + [c * np.exp(-decay[i]) for c in classes[i]])[: int(min(limit, 1000))]
        assert environment.crawl([site])[0] == pytest.approx(sum(classes[site]), rel=1e-12)
        classes[site] = []


def moments(rate, decay, window):
    """Mean and variance of a compound Poisson sum of e^(-decay s), s uniform on the window."""
    return rate / decay * -np.expm1(-decay * window), rate / (2 * decay) * -np.expm1(-2 * decay * window)


@pytest.mark.parametrize(("limit", "wait"), [(np.inf, 1), (np.inf, 6), (3.0, 6)])
def test_stochastic_contents_have_the_moments_of_the_compound_poisson_law(limit, wait):
    n = 4000
    environment = EphemeralEnvironment(np.full(n, 7.0), np.full(n, 0.4), limit, random_state=1)
    for _ in range(wait - 1):
        environment.crawl([])
    contents = environment.crawl(np.arange(n))
    mean, variance = moments(7.0, 0.4, min(wait, limit))
    assert abs(contents.mean() - mean) < 4 * np.sqrt(variance / n)
    assert contents.var() == pytest.approx(variance, rel=0.15)


def test_stochastic_contents_are_those_of_items_followed_one_by_one():
    """Step by step: items arrive, decay, expire after max_age steps, and are collected."""
    rate, decay, limit, schedule = 4.0, 0.3, 3, [2, 5, 1, 3]
    random, totals = np.random.default_rng(0), []
    for _ in range(3000):
        born, total, step = [], [], 0
        for wait in schedule:
            for _ in range(wait):
                born += list(step + random.random(random.poisson(rate)))
                step += 1
            total.append(sum(np.exp(-decay * (step - b)) for b in born if b >= step - limit))
            born = []
        totals.append(total)
    expected, error = np.mean(totals, axis=0), np.std(totals, axis=0) / np.sqrt(len(totals))
    environment = EphemeralEnvironment([rate], [decay], limit, random_state=5)
    runs = []
    for _ in range(3000):
        run = []
        for wait in schedule:
            for _ in range(wait - 1):
                environment.crawl([])
            run.append(environment.crawl([0])[0])
        runs.append(run)
    assert (np.abs(np.mean(runs, axis=0) - expected) < 4.5 * error * np.sqrt(2)).all()


def test_nothing_expires_right_after_a_crawl():
    environment = EphemeralEnvironment([10.0], [0.1], 2, dynamics="mean")
    first = 10.0 / 0.1 * -np.expm1(-0.1)
    assert environment.crawl([0])[0] == pytest.approx(first)
    assert environment.crawl([0])[0] == pytest.approx(first)


def test_seeds_repeat_and_reset_starts_again():
    one, two = (EphemeralEnvironment(**RATES, random_state=3) for _ in range(2))
    draws = [one.crawl([i % 4]) for i in range(50)]
    assert np.array_equal(draws, [two.crawl([i % 4]) for i in range(50)])
    assert np.array_equal(draws, [one.reset().crawl([0])] + [one.crawl([i % 4]) for i in range(1, 50)])
    assert not np.array_equal(draws[0], one.reset(4).crawl([0]))


def test_pickles_go_on_where_they_were():
    environment = EphemeralEnvironment(**RATES, random_state=3)
    environment.crawl([1, 2])
    copy = pickle.loads(pickle.dumps(environment))
    assert np.array_equal(copy.crawl([0, 1]), environment.crawl([0, 1]))
    assert np.array_equal(copy.ages_, [1, 1, 2, 3])
    assert copy.step_ == 2


def test_large_rates_and_tiny_decays_stay_finite():
    environment = EphemeralEnvironment([1e5, 1e-9, 0.0], [50.0, 1e-9, 1e-9], random_state=0)
    for _ in range(3):
        environment.crawl([])
    assert np.isfinite(environment.crawl([0, 1, 2])).all()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"arrival_rates": [250, -1, 250, 250]}, ValueError, "arrival_rates .*position 1"),
        ({"decay_rates": [0.7, 0.0, 1, 1]}, ValueError, "decay_rates .*position 1"),
        ({"max_age": 0.5}, ValueError, "max_age"),
        ({"dynamics": "random"}, ValueError, "dynamics must be one of"),
        ({"arrival_rates": [1e12] * 4}, ValueError, "arrival_rates must keep a crawl below"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_parameters_are_named(change, error, says):
    with pytest.raises(error, match=says):
        EphemeralEnvironment(**{**RATES, **change})


@pytest.mark.parametrize(
    ("sites", "error"),
    [
        ([4], ValueError),
        ([-1], ValueError),
        ([1, 1], ValueError),
        ([0.5], TypeError),
        ("a", TypeError),
        ([[0]], ValueError),
    ],
)
def test_bad_sites_are_named_and_leave_the_state(sites, error):
    environment = EphemeralEnvironment(**RATES, random_state=0)
    with pytest.raises(error, match="sites"):
        environment.crawl(sites)
    assert environment.step_ == 0
