"""The Whittle policy: the worked example, and the calendar against sorting all indices."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import WhittlePolicy, whittle_index
from knapsolve.restless import relaxed_bound
from tests.restless.whittle_twins import EXAMPLE, whittle_policy
from tests.sizes import slow_and_full


@pytest.mark.parametrize(
    ("n_crawls", "expected"), [(1, 471.3825180449), (2, 653.0022735388), (3, 743.5116865241)]
)
@pytest.mark.parametrize("method", ["brute", "calendar"])
def test_example_earns_what_it_must(n_crawls, expected, method):
    policy = WhittlePolicy(**EXAMPLE, n_crawls=n_crawls, method=method)
    history = policy.simulate(1000 + 12 * 10)
    assert history.reward[1000:].mean() == pytest.approx(expected, abs=1e-9)


def test_example_takes_all_sites_in_turn():
    crawls = WhittlePolicy(**EXAMPLE, n_crawls=1).simulate(100, return_crawls=True).crawls[60:, 0]
    assert (crawls[:-4] == crawls[4:]).all()
    assert sorted(crawls[:4]) == [0, 1, 2, 3]


def random_sites(random, n, ties):
    rate = random.lognormal(0, 1, n) * (random.random(n) > 0.1)
    decay = random.lognormal(-2, 1.5, n).clip(1e-9, 50)
    limit = np.where(random.random(n) < 0.5, np.inf, random.integers(1, 100, n))
    if ties:
        kind = random.integers(0, min(4, n), n)
        rate, decay, limit = rate[kind], decay[kind], limit[kind]
    return rate, decay, limit


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.floats(0.0, 1.0), st.booleans(), st.integers(0, 2**32))
def test_calendar_and_brute_force_crawl_what_sorting_says_ties_included(n, share, ties, seed):
    random = np.random.default_rng(seed)
    rate, decay, limit = random_sites(random, n, ties)
    n_crawls = max(1, int(share**3 * n))
    expected = whittle_policy(rate, decay, limit, n_crawls, 150, whittle_index)
    for method in ("brute", "calendar"):
        policy = WhittlePolicy(rate, decay, n_crawls, limit, method=method)
        assert np.array_equal(policy.simulate(150, return_crawls=True).crawls, expected)


def test_calendar_equals_brute_force_over_many_rounds_to_the_last_bit():
    random = np.random.default_rng(5)
    rate, decay, limit = random_sites(random, 3000, ties=False)
    runs = [
        WhittlePolicy(rate, decay, 5, limit, method=method).simulate(9000, return_crawls=True)
        for method in ("brute", "calendar")
    ]
    assert np.array_equal(runs[0].crawls, runs[1].crawls)
    assert np.array_equal(runs[0].reward, runs[1].reward)


@pytest.mark.parametrize("n_buckets", [2, 8, 512])
def test_calendar_follows_when_the_cutoff_falls(n_buckets):
    """Rich sites wait long at first; when they are crawled the cutoff falls below the level.

    With few buckets sites are looked at long before they are due, which must not pass for being at the level.
    """
    n, n_crawls = 2000, 10
    for seed in range(4):
        random = np.random.default_rng(seed)
        ages = np.ones(n)
        rich = random.choice(n, 400, replace=False)
        rate, decay = random.uniform(1, 30, n), 10 ** random.uniform(-4, -2, n)
        rate[rich], ages[rich] = 1000.0, 500.0
        brute = WhittlePolicy(rate, decay, n_crawls, method="brute").reset(ages)
        calendar = WhittlePolicy(rate, decay, n_crawls, method="calendar").reset(ages)
        calendar._make_buckets(n_buckets)
        crawls = np.empty((2, 400, n_crawls), dtype=np.int32)
        brute._chooser(n_crawls).run(np.empty(400), crawls[0])
        n_lowered = calendar._chooser(n_crawls).run(np.empty(400), crawls[1])
        assert np.array_equal(*crawls)
        assert n_lowered >= 2  # the first time is the start


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("spread", [1, 60])
def test_a_level_foreseen_from_a_sample_misses_no_site(limited, spread):
    # from like ages the level rises a hundredfold, and sites are filed for what it will be
    random = np.random.default_rng(9)
    rate, decay = random.lognormal(0, 1, 20_000), random.lognormal(-3, 1, 20_000)
    limit = random.integers(1, 200, rate.size).astype(float) if limited else np.inf
    crawls = []
    for method in ("brute", "calendar"):
        policy = WhittlePolicy(rate, decay, 20, limit, method=method)
        policy.reset(np.random.default_rng(1).integers(0, spread, rate.size))
        crawls.append([policy.step() for _ in range(600)])
    assert np.array_equal(*crawls)


@pytest.mark.slow
def test_a_sample_that_misleads_costs_only_time():
    # sampled sites are all that matter, or do not matter at all
    for every in (0, 1):
        rate = np.full(100_000, 1e-3)
        rate[[int(j * 100_000 / 8192) + every for j in range(8191)]] = 1.0
        runs = [
            WhittlePolicy(rate, np.full(rate.size, 0.01), 50, method=m).simulate(400, return_crawls=True)
            for m in ("brute", "calendar")
        ]
        assert np.array_equal(runs[0].crawls, runs[1].crawls)


def test_indices_that_nearly_touch_the_level_are_not_missed():
    # long ages at tiny decay: neighbouring ages differ by little more than rounding
    rate, decay = np.linspace(1.0, 1.0 + 1e-12, 600), np.full(600, 1e-9)
    runs = [
        WhittlePolicy(rate, decay, 3, method=m).simulate(2000, return_crawls=True).crawls
        for m in ("brute", "calendar")
    ]
    assert np.array_equal(*runs)


def test_reward_is_the_content_at_the_ages_of_the_crawls():
    policy = WhittlePolicy([3.0, 2.0], [0.1, 0.2], 1, [4, np.inf])
    history = policy.simulate(50, return_crawls=True)
    ages = np.ones(2)
    for step, site in enumerate(history.crawls[:, 0]):
        rate, decay, limit = [(3.0, 0.1, 4), (2.0, 0.2, np.inf)][site]
        assert history.reward[step] == pytest.approx(
            rate / decay * -np.expm1(-decay * min(ages[site], limit))
        )
        ages[site] = 0
        ages += 1


@pytest.mark.parametrize("method", ["brute", "calendar"])
def test_steps_and_pickles_go_on_where_they_were(method):
    random = np.random.default_rng(2)
    rate, decay, limit = random_sites(random, 500, ties=True)
    policy = WhittlePolicy(rate, decay, 4, limit, method=method)
    expected = policy.simulate(300, return_crawls=True).crawls
    for step in range(300):
        assert np.array_equal(policy.step(), expected[step])
        if step % 50 == 7:
            policy = pickle.loads(pickle.dumps(policy))
    assert policy.step_ == 300
    assert policy.ages_.min() == 1


def test_simulate_leaves_the_policy_as_it_is():
    policy = WhittlePolicy(**EXAMPLE, n_crawls=1)
    policy.step()
    ages = policy.ages_
    policy.simulate(10)
    assert np.array_equal(policy.ages_, ages)


def test_policy_is_close_to_the_relaxed_bound_with_many_sites():
    random = np.random.default_rng(8)
    rate, decay = random.lognormal(0, 1, 2000), random.lognormal(-3, 1, 2000)
    reward = WhittlePolicy(rate, decay, 40).simulate(3000).reward
    bound = relaxed_bound(rate, decay, 40)
    assert reward[1000:].mean() > 0.99 * bound.value
    assert (
        reward.mean() <= bound.value
    )  # no run from empty sites can beat it: what they hold at the end is not less


@pytest.mark.parametrize("n_rounds", slow_and_full([150], [1500]))
def test_calendar_equals_brute_force_with_a_million_sites(n_rounds):
    random = np.random.default_rng(0)
    rate, decay = random.lognormal(0, 1, 10**6), random.lognormal(-3, 1, 10**6)
    runs = [
        WhittlePolicy(rate, decay, 1000, method=method).simulate(n_rounds, return_crawls=True)
        for method in ("brute", "calendar")
    ]
    assert np.array_equal(runs[0].crawls, runs[1].crawls)
    assert np.array_equal(runs[0].reward, runs[1].reward)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"n_crawls": 0}, ValueError, "n_crawls must be an integer in \\[1, 4\\], got 0"),
        ({"n_crawls": 5}, ValueError, "n_crawls"),
        ({"n_crawls": 1.0}, TypeError, "n_crawls"),
        ({"arrival_rate": [-1.0, 1, 1, 1]}, ValueError, "arrival_rate .*position 0"),
        ({"arrival_rate": []}, ValueError, "arrival_rate must have at least one entry"),
        ({"arrival_rate": [1.0, 1.0]}, ValueError, "decay_rate must have 2 entries"),
        ({"decay_rate": [0.1, 0.2, np.nan, 0.3]}, ValueError, "decay_rate .*position 2"),
        ({"max_age": 1.5}, ValueError, "max_age must be whole"),
        ({"max_age": [1, 2]}, ValueError, "max_age must have 1 or 4 entries"),
        ({"method": "fast"}, ValueError, "method must be one of"),
    ],
)
def test_bad_input_is_named(change, error, says):
    with pytest.raises(error, match=says):
        WhittlePolicy(**{**EXAMPLE, "n_crawls": 1, **change})


def test_bad_ages_and_steps_are_named():
    policy = WhittlePolicy(**EXAMPLE, n_crawls=1)
    with pytest.raises(ValueError, match="ages must be whole"):
        policy.reset([1, 1, 1, 1.5])
    with pytest.raises(ValueError, match="ages must have 4 entries"):
        policy.reset([1, 1])
    with pytest.raises(ValueError, match="n_steps"):
        policy.simulate(0)
