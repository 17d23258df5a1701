import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from knapsolve import RobotController, solve_robot_control


@parametrize_with_checks([RobotController(), RobotController(n_robots=4, buffer=3, half_life=20.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def event_log(rng, n, lam=0.1, mu=1.0, lost=0.1):
    log = np.column_stack([rng.exponential(1 / lam, n), rng.exponential(1 / mu, n)])
    log[rng.random(n) < lost, 1] = np.nan
    return log


def test_rates_are_counts_over_times_and_the_policy_is_theirs():
    log = event_log(np.random.default_rng(0), 500)
    controller = RobotController(n_robots=12, buffer=6, starvation_weight=1.4).fit(log)
    served = ~np.isnan(log[:, 1])
    assert controller.arrival_rate_ == pytest.approx(500 / log[:, 0].sum())
    assert controller.service_rate_ == pytest.approx(served.sum() / log[served, 1].sum())
    control = solve_robot_control(12, 6, controller.arrival_rate_, 1.4, controller.service_rate_)
    assert controller.gain_ == pytest.approx(control.gain, abs=1e-9)
    assert (controller.policy_ == control.policy).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 199), st.sampled_from([None, 5.0, 80.0]))
def test_fitting_at_once_equals_going_on(seed, cut, half_life):
    log = event_log(np.random.default_rng(seed), 200)
    log[0] = 10.0, 1.0
    options = {"n_robots": 10, "buffer": 5, "half_life": half_life}
    once = RobotController(**options).fit(log)
    parts = RobotController(**options).fit(log[:cut]).partial_fit(log[cut:])
    assert (once.totals_ == parts.totals_).all()
    assert once.gain_ == parts.gain_
    assert (once.policy_ == parts.policy_).all()


def test_going_on_ends_at_the_same_policy_among_near_ties():
    log = np.random.default_rng(15).exponential(1.0, (20, 2))
    options = {"n_robots": 20, "buffer": 21, "starvation_weight": 1.0}
    once = RobotController(**options).fit(log)
    parts = RobotController(**options).fit(log[:10]).partial_fit(log[10:])
    assert (once.policy_ == parts.policy_).all()


def test_a_half_life_follows_drifting_rates():
    rng = np.random.default_rng(1)
    controller = RobotController(half_life=100.0).fit(event_log(rng, 1000, lam=0.1))
    controller.partial_fit(event_log(rng, 1000, lam=0.4))
    assert controller.arrival_rate_ == pytest.approx(0.4, rel=0.3)
    forgetful, stubborn = controller, RobotController().fit(event_log(rng, 1000, lam=0.1))
    stubborn.partial_fit(event_log(rng, 1000, lam=0.4))
    assert stubborn.arrival_rate_ < forgetful.arrival_rate_


def test_a_half_life_halves_the_weight_of_that_many_pages():
    log = np.array([[1.0, 1.0]] * 3 + [[2.0, 3.0]])
    controller = RobotController(half_life=1.0).fit(log)
    weights = 0.5 ** np.arange(3, -1, -1)
    assert controller.totals_[0].tolist() == [weights.sum()] * 2
    np.testing.assert_allclose(controller.totals_[1], weights @ log)


def test_allocate_says_what_the_policy_does():
    controller = RobotController(n_robots=6, buffer=4).fit([[3.0, 1.0]])
    for queue in range(5):
        for active in range(7):
            wanted = controller.allocate(queue, active)
            assert wanted == active + controller.control_.action[active, queue]
            assert wanted <= 6
    assert controller.allocate(0, 0) == 1
    assert controller.allocate(queue=4, active=6) == 6


def test_allocate_refuses_what_cannot_be():
    with pytest.raises(NotFittedError):
        RobotController().allocate(0, 0)
    controller = RobotController(n_robots=6, buffer=4).fit([[3.0, 1.0]])
    for arguments, name in (((5, 0), "queue"), ((-1, 0), "queue"), ((0, 7), "active"), ((0, -1), "active")):
        with pytest.raises(ValueError, match=name):
            controller.allocate(*arguments)
    with pytest.raises(TypeError, match="queue"):
        controller.allocate(0.5, 0)


@pytest.mark.parametrize(
    ("options", "log", "name"),
    [
        ({"n_robots": 0}, [[1.0, 1.0]], "n_robots"),
        ({"buffer": 1}, [[1.0, 1.0]], "buffer"),
        ({"starvation_weight": -1.0}, [[1.0, 1.0]], "starvation_weight"),
        ({"half_life": 0.0}, [[1.0, 1.0]], "half_life"),
        ({"tol": 0.0}, [[1.0, 1.0]], "tol"),
        ({"fetch": 2}, [[1.0, 1.0]], "fetch"),
        ({"service": "time"}, [[1.0, 1.0]], "service"),
        ({}, [[-1.0, 1.0]], "Negative"),
        ({}, [[0.0, 1.0]], "fetch"),
        ({}, [[1.0, np.nan]], "service"),
        ({}, [[1e308, 1.0], [1e308, 1.0]], "mean of fetch times"),
        ({}, [[1.0, 1e-250]], "mean of service times"),
        ({}, [[1.0, np.inf]], "infinity"),
    ],
)
def test_bad_input_is_named_and_leaves_the_state_untouched(options, log, name):
    controller = RobotController().fit([[5.0, 1.0, 7.0]])
    before = deepcopy(controller.__dict__)
    controller.set_params(**options)
    with pytest.raises(ValueError, match=name):
        controller.fit(log)
    for key in ("totals_", "gain_", "n_features_in_", "arrival_rate_"):
        assert np.array_equal(before[key], getattr(controller, key))


def test_a_warning_of_the_bounds_points_at_the_line_that_called():
    log, options = [[5.0, 1.0]] * 2, {"starvation_weight": 1e9, "tol": 1e-15}
    calls = [
        lambda: RobotController(**options).fit(log),
        lambda: RobotController(**options).partial_fit(log),
        lambda: solve_robot_control(16, 10, 0.2, 1e9, tol=1e-15),
        lambda: solve_robot_control(16, 10, 0.2, 1e9, tol=1e-15, method="relative-value-iteration", max_iter=9),
    ]
    for call in calls:
        with pytest.warns(ConvergenceWarning) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_columns_may_be_named():
    pandas = pytest.importorskip("pandas")
    log = event_log(np.random.default_rng(2), 50)
    frame = pandas.DataFrame({"service": log[:, 1], "size": 1.0, "fetch": log[:, 0]})
    named = RobotController(fetch="fetch", service="service").fit(frame)
    assert named.gain_ == RobotController().fit(log).gain_


def test_copies_and_pickles_go_on_alike():
    rng = np.random.default_rng(3)
    controller = RobotController(n_robots=8, buffer=4).fit(event_log(rng, 100))
    other = pickle.loads(pickle.dumps(controller))
    more = event_log(rng, 100)
    assert controller.partial_fit(more).gain_ == other.partial_fit(more).gain_
    assert clone(controller).get_params() == controller.get_params()
