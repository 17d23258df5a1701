"""Bad simulations are refused before the first poll, and leave the learner as it was."""

import pytest

from knapsolve import (
    LAKG,
    EDFScheduler,
    UniformPolicy,
    simulate,
)
from knapsolve.environments import BernoulliEnvironment, TraceEnvironment
from tests.learners.cases import poll_log, state_bytes

nan = float("nan")
X, Y = poll_log(30, 4)
ENV = BernoulliEnvironment([0.5, 0.6, 0.7, 0.8])
TRACE = TraceEnvironment([0, 1, 0], [0.0, 3.0, 9.0])


class Misfit:
    n_materials = 4

    def poll(self, material):
        return 1, 1.0


class Pollable:
    n_materials = 4

    def poll(self, i, time, amount):
        return 0, 1.0


BAD_SIMULATIONS = [
    ({"learner": None}, "learner"),
    ({"learner": LAKG}, "learner"),
    ({"learner": 3}, "learner"),
    ({"learner": type("L", (), {"capacity": 1.0})()}, "learner"),
    ({"learner": LAKG(resolution=100, n_materials=3)}, "n_materials"),
    ({"learner": LAKG(resolution=100).fit(X[X[:, 0] < 3], Y[X[:, 0] < 3])}, "learner"),
    ({"environment": None}, "environment"),
    ({"environment": BernoulliEnvironment}, "environment"),
    ({"environment": [0.5, 0.5]}, "environment"),
    ({"environment": type("E", (), {"n_materials": 4})()}, "environment"),
    ({"environment": type("E", (Pollable,), {"n_materials": 0})()}, "n_materials"),
    ({"environment": type("E", (Pollable,), {"n_materials": 2.5})()}, "n_materials"),
    ({"environment": type("E", (Pollable,), {"n_materials": "4"})()}, "n_materials"),
    *(({"n_polls": value}, "n_polls") for value in (0, -1, 2.5, nan, "10", None, 10**30, True)),
    ({"environment": TRACE, "n_polls": 10}, "n_polls"),
    ({"environment": TRACE, "learner": LAKG(capacity=0.01)}, "capacity"),
    *(({"environment": TRACE, "learner": UniformPolicy(capacity=c)}, "capacity must make") for c in (1e18, 1e300)),
    ({"environment": Misfit()}, r"poll\(i, time, amount\)"),
    ({"learner": LAKG(capacity=4.5)}, "capacity must be at most the number of materials, 4"),
    *(({"scheduler": value}, "scheduler") for value in ("EDF", "", None, 3, "heap", EDFScheduler([1.0]))),
    *(({"n_runs": value}, "n_runs") for value in (0, -1, 1.5, None, "2")),
    *(({"n_jobs": value}, "n_jobs") for value in (0, 1.5, "2")),
    *(({"record_every": value}, "record_every") for value in (0, -1, 1.5, "2", nan)),
    *(({"random_state": value}, "random_state") for value in (-1, 1.5, "x", [1, 2])),
    *(({"progress": value}, "progress") for value in ("yes", 3)),
]


@pytest.mark.parametrize(("bad", "named"), BAD_SIMULATIONS)
def test_bad_simulations_are_refused_and_leave_the_learner_as_it_was(bad, named):
    learner = bad.get("learner", LAKG(resolution=100))
    arguments = {"learner": learner, "environment": ENV, "n_polls": 100, **bad}
    if "environment" in bad and isinstance(bad["environment"], TraceEnvironment):
        arguments["n_polls"] = bad.get("n_polls")
    before = state_bytes(learner) if isinstance(learner, LAKG) else None
    with pytest.raises((ValueError, TypeError), match=named):
        simulate(arguments.pop("learner"), arguments.pop("environment"), **arguments)
    if before is not None:
        assert state_bytes(learner) == before
