"""A fitted learner whose parameters were changed for the worse is refused, and left as it was."""

import numpy as np
import pytest
from sklearn.base import clone

from knapsolve import (
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EstimatorPolicy,
    LSPEWhittle,
    PlugInWhittle,
    RateAllocator,
    RenewalIndexPolicy,
    RobotController,
    simulate,
)
from knapsolve.environments import BernoulliEnvironment, EphemeralEnvironment, zipf_unchanged
from knapsolve.learners import WindowedRatePolicy
from tests.learners.cases import LEARNERS, poll_log, state_bytes

X = np.column_stack([np.arange(3_000) % 5, np.ones(3_000)])
Y = np.random.default_rng(0).random(3_000) < 0.5
ENVIRONMENT = BernoulliEnvironment(zipf_unchanged(5, 0.9, 1.5))
USES = {
    "partial_fit": lambda learner: learner.partial_fit(X[:10], Y[:10]),
    "allocate": lambda learner: learner.allocate(),
    "amounts": lambda learner: learner.amounts_,
    "simulate": lambda learner: simulate(learner, ENVIRONMENT, 100),
    "simulate-random": lambda learner: simulate(learner, ENVIRONMENT, 100, scheduler="random"),
    "ensemble": lambda learner: simulate(learner, ENVIRONMENT, 100, scheduler="random", n_runs=9),
}


@pytest.mark.parametrize("n_materials", [None, 5])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("learner", "resolution"),
    [
        (LAKG(resolution=1000), 100),
        (HTRAA(resolution=500), 10),
        (HTRAA(resolution=[500, 300, 200]), [10, 300, 200]),
        (HTRAA(resolution=[500, 300, 200]), [500, 300, 20]),
    ],
)
def test_a_resolution_below_the_states_held_is_refused(learner, resolution, use, n_materials):
    learner.set_params(n_materials=n_materials).fit(X, Y)
    before, known = learner.states_.copy(), learner.get_params()["resolution"]
    learner.set_params(resolution=resolution)
    try:
        with pytest.raises(ValueError, match=r"resolution must (be at least|stay as it was)"):
            use(learner)
        assert np.array_equal(learner.states_, before)
    finally:
        learner.set_params(resolution=known)


@pytest.mark.parametrize("n_runs", [1, 2, 9])
@pytest.mark.parametrize(
    ("learner", "changed"),
    [
        (LAKG(), {"exponent": -1.0}),
        (LAKG(), {"resolution": 1500.0}),
        (LAKG(), {"exponent": 0.1}),  # even the smallest amounts overfill the knapsack
        (HTRAA(), {"update": "reward"}),
        (HTRAA(), {"exponent": 0.0}),
        (HTRAA(), {"resolution": [500]}),
    ],
)
def test_simulation_checks_the_parameters_of_a_learner_that_goes_on(learner, changed, n_runs):
    learner.fit(X, Y)
    known, before = learner.get_params(), learner.states_.copy()
    learner.set_params(**changed)
    try:
        with pytest.raises((ValueError, TypeError), match=f"{next(iter(changed))}|resolution"):
            simulate(learner, ENVIRONMENT, 100, scheduler="random", n_runs=n_runs)
        assert np.array_equal(learner.states_, before)
    finally:
        learner.set_params(**known)


ASKS = {
    "amounts": lambda learner: learner.amounts_,
    "allocate": lambda learner: learner.allocate(),
    "allocate so much": lambda learner: learner.allocate(1.0),
    "suggest": lambda learner: learner.suggest(1),
    "curves": lambda learner: learner.sample_curves(0),
}
OWN = {"suggest": "renewal", "curves": "gpoks"}  # of these learners alone
WRONG = {"capacity": -1.0, "material": None, "n_materials": -1}


@pytest.mark.parametrize("parameter", WRONG)
@pytest.mark.parametrize(
    ("ask", "name"), [(ask, name) for ask in ASKS for name in LEARNERS if OWN.get(ask) in (None, name.split("-")[0])]
)
def test_nothing_is_told_by_a_parameter_that_would_be_refused(name, ask, parameter):
    learner = clone(LEARNERS[name]).fit(*poll_log(100, 5))
    before = state_bytes(learner)
    known = learner.get_params()[parameter]
    learner.set_params(**{parameter: WRONG[parameter]})
    with pytest.raises((ValueError, TypeError), match=f"{parameter} must"):
        ASKS[ask](learner)
    learner.set_params(**{parameter: known})
    assert state_bytes(learner) == before
    ASKS[ask](learner)


@pytest.mark.parametrize("ask", ["amounts", "allocate so much"])
@pytest.mark.parametrize(
    ("learner", "changed"),
    [
        (LAKG(), {"exponent": -1.0}),
        (HTRAA(), {"exponent": 0.0}),
        (HTRAA(), {"update": "reward"}),
        (RenewalIndexPolicy(), {"balance": 2.0}),
        (RateAllocator(), {"criterion": "luck"}),
        (RateAllocator(), {"exploration": 2.0}),
        (EstimatorPolicy(phase=10), {"phase": 0}),
        (WindowedRatePolicy(), {"criterion": "luck"}),
        (AdaptiveIntervalPolicy(), {"rule": "luck"}),
    ],
)
def test_amounts_are_not_told_by_parameters_that_would_be_refused(learner, changed, ask):
    learner = clone(learner).fit(X, Y).set_params(**changed)
    with pytest.raises(ValueError, match=f"{next(iter(changed))} must be"):
        ASKS[ask](learner)


CRAWLS = X[:50], np.arange(50) % 7
SITES = EphemeralEnvironment([5.0] * 5, [0.3] * 5)
CRAWL_USES = {
    "partial_fit": lambda learner: learner.partial_fit(*CRAWLS),
    "newcomer": lambda learner: learner.partial_fit([[9, 1], [8, 1]], [1, 2]),
    "allocate": lambda learner: learner.allocate(),
    "simulate": lambda learner: simulate(learner, SITES, 100),
    "ensemble": lambda learner: simulate(learner, SITES, 100, n_runs=2),
}


@pytest.mark.parametrize("use", CRAWL_USES.values(), ids=CRAWL_USES)
@pytest.mark.parametrize(
    ("learner", "changed"),
    [
        (PlugInWhittle(), {"n_ages": 3}),
        (LSPEWhittle(), {"n_ages": 20}),
        (LSPEWhittle(degree=1), {"degree": 2}),  # it wrote past the end of its features
        (LSPEWhittle(degree=2), {"degree": 1}),
        (LSPEWhittle(regularization=0.0), {"regularization": 1e-6}),
        (LSPEWhittle(regularization=1e-6), {"regularization": 0.0}),
    ],
)
def test_a_crawl_learner_keeps_the_parameters_that_its_arrays_were_made_for(learner, changed, use):
    learner = clone(learner).fit(*CRAWLS)
    before = {name: getattr(learner, name).copy() for name in learner._state_names}
    with pytest.raises(ValueError, match=rf"{next(iter(changed))} must stay"):
        use(learner.set_params(**changed))
    for name, array in before.items():
        assert np.array_equal(getattr(learner, name), array)
    learner.fit(*CRAWLS).allocate()


def test_a_crawl_learner_that_goes_on_has_its_parameters_checked():
    learner = LSPEWhittle().fit(*CRAWLS).set_params(steepness=-1.0)
    with pytest.raises(ValueError, match="steepness"):
        simulate(learner, SITES, 100)


@pytest.mark.parametrize("learner", [PlugInWhittle(), LSPEWhittle()])
@pytest.mark.parametrize("changed", [{"capacity": -1}, {"capacity": 6}, {"max_age": 0.5}, {"n_seeds": -1}])
def test_no_sites_are_told_by_parameters_that_would_be_refused(learner, changed):
    learner = clone(learner).fit(*CRAWLS).set_params(**changed)
    with pytest.raises(ValueError, match=f"{next(iter(changed))} must be"):
        learner.allocate()


@pytest.mark.parametrize("changed", [{"n_robots": -1}, {"buffer": 0}, {"starvation_weight": -1.0}, {"half_life": 0.0}])
def test_no_robots_are_told_by_parameters_that_would_be_refused(changed):
    controller = RobotController(n_robots=4, buffer=3).fit([[2.0, 1.0], [2.0, 1.0]]).set_params(**changed)
    with pytest.raises(ValueError, match=next(iter(changed))):
        controller.allocate(queue=0, active=0)
