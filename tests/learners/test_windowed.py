"""Rates fitted anew on a window of polls, and what is allocated by them."""

import numpy as np
import pytest
from sklearn.base import clone

from knapsolve import simulate, solve_nefk
from knapsolve.criteria import Harmonic
from knapsolve.environments import PollingEnvironment
from knapsolve.learners import WindowedRatePolicy
from knapsolve.rates import censored_rates
from tests.learners.cases import poll_log
from tests.learners.renewal_twins import Changes, bursty_changes


@pytest.mark.parametrize("n_polls", [99, 100, 101, 199, 340])
@pytest.mark.parametrize("max_fits", [None, 1, 2])
@pytest.mark.parametrize("criterion", ["harmonic", "proportional"])
def test_amounts_are_best_for_the_rates_of_the_last_fits_window(criterion, max_fits, n_polls):
    X, y = poll_log(n_polls, 6)
    policy = WindowedRatePolicy(
        criterion=criterion, window=150, every=50, max_fits=max_fits, n_materials=6, capacity=2.0
    ).fit(X, y)
    end = 50 * min(n_polls // 50, max_fits or n_polls)
    window = slice(max(0, end - 150), end)
    prior = 0.5 if criterion == "harmonic" else 1.0
    rates = censored_rates(X[window, 0].astype(int), X[window, 1], y[window].astype(np.int8), 6, prior)
    if criterion == "harmonic":
        expected = solve_nefk(Harmonic(rates), 2.0).amounts
    else:
        expected = 2.0 * rates / rates.sum()
    assert policy.amounts_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("scheduler", ["edf", "random"])
def test_a_simulation_leaves_what_its_log_would_have_taught(scheduler):
    world = Changes(bursty_changes(20, 1_030))
    polled = WindowedRatePolicy(window=200, every=60)
    simulate(polled, world, 500, scheduler=scheduler, random_state=0)
    simulate(polled, world, 530, scheduler=scheduler, random_state=0)
    log = np.array(world.log)
    fitted = WindowedRatePolicy(window=200, every=60, n_materials=20).fit(log[:, :2], log[:, 2])
    assert fitted.amounts_.tolist() == polled.amounts_.tolist()
    again = log[:100]
    polled.partial_fit(again[:, :2], again[:, 2])
    assert fitted.partial_fit(again[:, :2], again[:, 2]).amounts_.tolist() == polled.amounts_.tolist()


def test_fits_may_be_made_more_often_later():
    X, y = poll_log(90, 4)
    policy = WindowedRatePolicy(window=100, every=100, n_materials=4).fit(X, y).set_params(every=40)
    simulate(policy, PollingEnvironment([0.5] * 4), 5, random_state=0)
    early = WindowedRatePolicy(window=100, every=40, n_materials=4).fit(X, y)
    assert policy.amounts_.tolist() == early.amounts_.tolist()


def test_fits_follow_rates_that_have_changed():
    rates = np.geomspace(0.01, 1.0, 10)
    policy = WindowedRatePolicy(criterion="proportional", window=2_000, every=500, capacity=3.0)
    once = clone(policy).set_params(max_fits=1)
    for learner in (policy, once):
        for order in (rates, rates[::-1]):
            simulate(learner, PollingEnvironment(np.exp(-order)), 8_000, random_state=0)
    assert np.corrcoef(policy.amounts_, rates[::-1])[0, 1] > 0.95
    assert np.corrcoef(once.amounts_, rates)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("name", "value"),
    [("criterion", "best"), ("criterion", None), ("window", 0), ("window", 1.5), ("every", 0), ("every", 10_001),
     ("every", "5"), ("max_fits", 0), ("max_fits", 2.0)],
)  # fmt: skip
def test_bad_parameters_are_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        WindowedRatePolicy(**{name: value}).fit(*poll_log(30, 3))
