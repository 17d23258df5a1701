"""A fitted learner whose parameters were changed for the worse is refused, and left as it was."""

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

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
        with pytest.raises(ValueError, match="resolution must (be at least|stay as it was)"):
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
