"""The Lagrangian bound: against brute minimisation, and as a bound on exact optima."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from knapsolve import WhittlePolicy
from knapsolve.restless import relaxed_bound
from tests.restless.whittle_twins import EXAMPLE


def dual(price, rate, decay, limit, budget):
    ages = np.arange(1, 3000)
    contents = rate[:, None] / decay[:, None] * -np.expm1(-decay[:, None] * np.minimum(ages, limit[:, None]))
    return price * budget + np.maximum(((contents - price) / ages).max(axis=1), 0.0).sum()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.floats(0.05, 1.0), st.integers(0, 2**32))
def test_bound_is_the_minimum_of_the_dual(n, share, seed):
    random = np.random.default_rng(seed)
    rate, decay = random.lognormal(0, 1, n), random.uniform(0.02, 2, n)
    limit = np.where(random.random(n) < 0.5, np.inf, random.integers(1, 50, n))
    bound = relaxed_bound(rate, decay, share * n, limit)
    assert bound.value == pytest.approx(dual(bound.price, rate, decay, limit, share * n), rel=1e-10)
    top = (rate / decay).max()
    oracle = minimize_scalar(dual, bounds=(0, top), args=(rate, decay, limit, share * n), method="bounded")
    assert bound.value <= oracle.fun * (1 + 1e-9)


def test_bound_proves_that_the_example_is_optimal():
    for n_crawls in (1, 2, 3, 4):
        earned = WhittlePolicy(**EXAMPLE, n_crawls=n_crawls).simulate(1120).reward[1000:].mean()
        assert relaxed_bound(**EXAMPLE, n_crawls=n_crawls).value == pytest.approx(earned, rel=1e-12)


def test_bound_holds_for_the_exact_optimum_of_small_problems():
    random = np.random.default_rng(4)
    for _ in range(5):
        rate, decay = random.lognormal(0, 1, 2), random.uniform(0.1, 1, 2)
        best = 0.0
        for length in range(1, 9):  # every periodic schedule of two sites
            for cycle in itertools.product((0, 1), repeat=length):
                total, since = 0.0, {0: None, 1: None}
                for step, site in enumerate(cycle * 2):
                    if step >= length:
                        age = step - since[site]
                        total += rate[site] / decay[site] * -np.expm1(-decay[site] * age)
                    since[site] = step
                best = max(best, total / length)
        assert relaxed_bound(rate, decay, 1).value >= best * (1 - 1e-12)


def test_free_crawls_cost_nothing():
    bound = relaxed_bound([1.0, 2.0], [0.5, 0.5], 2)
    assert bound.price == 0.0
    assert bound.value == pytest.approx(3.0 / 0.5 * -np.expm1(-0.5))
    assert relaxed_bound([0.0, 0.0], [0.5, 0.5], 1).value == 0.0


@pytest.mark.parametrize("n_crawls", [0, -1, 2.5, np.nan])
def test_bad_budgets_are_named(n_crawls):
    with pytest.raises(ValueError, match="n_crawls"):
        relaxed_bound([1.0, 2.0], [0.5, 0.5], n_crawls)
