"""Bad input: a ValueError or TypeError that names the parameter, before any work, the state untouched."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from knapsolve import (
    GPOKS,
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    ChangeRateEstimator,
    EDFScheduler,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RenewalIndexPolicy,
    UniformPolicy,
    simulate,
)
from knapsolve.environments import BernoulliEnvironment
from tests.learners.cases import LEARNERS, poll_log, state_bytes

nan, inf = float("nan"), float("inf")
X, Y = poll_log(30, 4)
FRAME = pd.DataFrame({"page": X[:, 0], "gap": X[:, 1]})


def with_entry(column, value, dtype=float):
    changed = X.astype(dtype)
    changed[7, column] = value
    return changed


def with_target(value, dtype=float):
    changed = Y.astype(dtype)
    changed[3] = value
    return changed


BAD_LOGS = {  # name: (X, y, what the message names)
    "nan elapsed": (with_entry(1, nan), Y, "elapsed"),
    "infinite elapsed": (with_entry(1, inf), Y, "elapsed"),
    "negative elapsed": (with_entry(1, -1.0), Y, "elapsed.*-1.0.*position 7"),
    "nan material": (with_entry(0, nan), Y, "material"),
    "infinite material": (with_entry(0, -inf), Y, "material"),
    "missing identifier": (with_entry(0, None, object), Y, "material"),
    "text for elapsed": (with_entry(1, "soon", object), Y, "elapsed"),
    "y of 2": (X, with_target(2), "y.*2"),
    "y of -1": (X, with_target(-1), "y.*-1"),
    "y of a half": (X, with_target(0.5), "y.*0.5"),
    "nan in y": (X, with_target(nan), "y"),
    "text in y": (X, with_target("yes", object), "y"),
    "no y": (X, None, "y"),
    "short y": (X, Y[:-1], "y.*30.*29"),
    "two-dimensional y": (X, np.column_stack([Y, Y]), "y"),
    "scalar y": (X, 1, "y"),
    "empty log": (X[:0], Y[:0], "X"),
    "empty list": ([], [], "X"),
    "one column": (X[:, :1], Y, "X"),
    "one dimension": (X[:, 0], Y, "X"),
    "three dimensions": (X[None], Y, "X"),
    "complex": (X + 1j, Y, "[Cc]omplex"),
    "a number": (3.0, Y, "X"),
    "none": (None, Y, "X"),
    "ragged": ([[0, 1.0], [1]], [0, 1], None),
    "time deltas": (pd.DataFrame({"m": X[:, 0], "g": pd.to_timedelta(X[:, 1], unit="s")}), Y, "elapsed"),
    "missing in a frame": (FRAME.mask(FRAME.page == 2), Y, "elapsed|material"),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(("log", "target", "named"), BAD_LOGS.values(), ids=BAD_LOGS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_bad_logs_are_refused_and_leave_the_learner_as_it_was(learner, log, target, named):
    fresh = clone(learner)
    with pytest.raises((ValueError, TypeError), match=named) as caught:
        fresh.fit(log, target)
    assert "np." not in str(caught.value), "numbers as people write them"
    assert set(vars(fresh)) - {"_lock"} == set(vars(clone(learner)))
    fitted = clone(learner).fit(X, Y)
    before = state_bytes(fitted)
    with pytest.raises((ValueError, TypeError), match=named):
        fitted.partial_fit(log, target)
    assert state_bytes(fitted) == before
    with pytest.raises((ValueError, TypeError), match=named):
        fitted.fit(log, target)
    assert state_bytes(fitted) == before
    fitted.partial_fit(X, Y)


COMMON = [
    ("capacity", 0),
    ("capacity", -1.0),
    ("capacity", nan),
    ("capacity", inf),
    ("capacity", "1"),
    ("capacity", None),
    ("capacity", True),
    ("capacity", 10**400),
    ("capacity", 1e305),
    ("capacity", [1.0]),
    ("n_materials", 1),
    ("n_materials", 0),
    ("n_materials", 2.0),
    ("n_materials", "2"),
    ("n_materials", 3),
    ("n_materials", 2**40),
    ("random_state", -1),
    ("random_state", "seed"),
    ("random_state", 1.5),
    ("material", 2),
    ("material", "page"),
    ("material", None),
    ("material", 1.0),
    ("material", -3),
    ("elapsed", 2),
    ("elapsed", "gap"),
    ("elapsed", None),
    ("elapsed", [1]),
]
BAD_PARAMETERS = [
    (kind, name, value)
    for kind in (LAKG, HTRAA, GPOKS, UniformPolicy, OptimalPolicy, RenewalIndexPolicy, AdaptiveIntervalPolicy)
    for name, value in COMMON
]
BAD_PARAMETERS += [
    *((LAKG, "resolution", value) for value in (1, 0, -5, 2.5, nan, "10", None, 10**12, [10, 20], 2)),
    *((LAKG, "exponent", value) for value in (0, -1.0, nan, inf, "1", None, 1e-9)),
    *(
        (HTRAA, "resolution", value)
        for value in (1, 0, 2.5, nan, "10", None, 10**12, [], [5], [5, 1], [5, "6"], [[5, 6]], {})
    ),
    *((HTRAA, "exponent", value) for value in (0, -1.0, nan, inf, "1", None)),
    *((HTRAA, "update", value) for value in ("penalty", "", None, 3, "RP", ["reward-penalty"])),
    *(
        (ProportionalPolicy, "unchanged", value)
        for value in ([0.5], [0.5] * 5, [nan] * 4, [2.0] * 4, "abcd", {0: 0.5}, 3.0)
    ),
    *(
        (OptimalPolicy, "unchanged", value)
        for value in ([0.5], [-0.5] * 4, {0: 0.5}, {0: 2, 1: 0, 2: 0, 3: 0}, [[0.5] * 4])
    ),
    *((GPOKS, "draw", value) for value in ("optimist", "", None, 1, ["mean"])),
    *((GPOKS, "scale", value) for value in ("loglog", None, 2)),
    *((GPOKS, "sampler", value) for value in ("gibbs", None, 2)),
    *((GPOKS, name, value) for name in ("monotone", "fit_kernel") for value in (None, 1, "yes")),
    *((GPOKS, "kernel", value) for value in ("rbf", 1.0, RBF, [RBF()])),
    *((GPOKS, "noise", value) for value in (0, -1.0, nan, inf, "1", None, 1e-12)),
    *((GPOKS, "feedback_noise", value) for value in (-1.0, nan, inf, "1", None)),
    *((GPOKS, "n_points", value) for value in (1, 0, -5, 2.5, nan, "10", None, 10**12)),
    *((GPOKS, "max_tries", value) for value in (0, -5, 2.5, "10", None)),
    *((GPOKS, "smallest", value) for value in (0, -1.0, nan, 2.0, "10")),
    *((EstimatorPolicy, "phase", value) for value in (0, -1, 2.5, nan, "x", None, 10**12)),
    *((EstimatorPolicy, "estimate", value) for value in ("naive", None, 1)),
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_named_and_leave_the_learner_as_it_was(kind, name, value):
    good = {"resolution": 100} if kind is LAKG else {"resolution": 50} if kind is HTRAA else {}
    learner = kind(**{**good, name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        learner.fit(X, Y)
    assert not hasattr(learner, "materials_")
    if name in ("material", "elapsed"):
        return
    environment = BernoulliEnvironment([0.5, 0.6, 0.7, 0.8])
    with pytest.raises((ValueError, TypeError), match=name):
        simulate(learner, environment, 10)
    assert not hasattr(learner, "materials_")
    fitted = kind(**good, random_state=0).fit(X, Y)
    before = state_bytes(fitted)
    fitted.set_params(**{name: value})
    if name != "random_state":  # that was used by fit alone
        with pytest.raises((ValueError, TypeError), match=name):
            fitted.partial_fit(X, Y)
    fitted.set_params(**{name: getattr(kind(**good, random_state=0), name)})
    assert state_bytes(fitted) == before


def test_resolution_may_not_change_below_the_states_held():
    for learner in (LAKG(resolution=500), HTRAA(resolution=500, random_state=0)):
        learner.fit(*poll_log(300, 3)).set_params(resolution=20)
        with pytest.raises(ValueError, match="resolution"):
            learner.partial_fit(X, Y)
        with pytest.raises(ValueError, match="resolution"):
            learner.allocate()
        with pytest.raises(ValueError, match="resolution"):
            simulate(learner, BernoulliEnvironment([0.5] * 3), 10)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_n_materials_may_not_change_between_batches(learner):
    fitted = clone(learner).fit(X, Y).set_params(n_materials=9)
    before = state_bytes(fitted)
    with pytest.raises(ValueError, match="n_materials must stay at 4 until fit, got 9"):
        fitted.partial_fit([[8, 1.0], [7, 1.0]], [0, 1])
    assert state_bytes(fitted) == before
    assert fitted.fit([[8, 1.0], [7, 1.0]], [0, 1]).materials_.size == 9


def test_masked_entries_are_not_taken_for_numbers():
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
    with pytest.raises(ValueError, match=r"amounts must not be masked, got 1 masked entries, the first at position 1$"):
        EDFScheduler(masked)
    with pytest.raises(ValueError, match="unchanged must not be masked"):
        BernoulliEnvironment(masked / 4)
    EDFScheduler(np.ma.masked_array([1.0, 2.0, 3.0], [0, 0, 0])).next(3)
    log = np.ma.masked_array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]], [[0, 0], [0, 1], [0, 0]])
    for learner in (LAKG(resolution=50), ChangeRateEstimator()):
        with pytest.raises(ValueError, match=r"X must not be masked, got 1 .*first at position 1, 1$"):
            learner.fit(log, [1, 0, 1])
        with pytest.raises(ValueError, match="y must not be masked"):
            learner.fit(log.data, np.ma.masked_array([1, 0, 1], [0, 1, 0]))


def test_messages_say_what_was_given_and_what_is_allowed():
    with pytest.raises(ValueError, match=re.escape("capacity must be finite and positive, got 0")):
        LAKG(capacity=0).fit(X, Y)
    with pytest.raises(ValueError, match=re.escape("capacity must be finite and positive, got -2.0")):
        LAKG(capacity=np.float64(-2)).fit(X, Y)
    with pytest.raises(ValueError, match=re.escape("resolution must be an integer in [2, ")) as caught:
        LAKG(resolution=1).fit(X, Y)
    assert caught.value.args[0].endswith("got 1")
    with pytest.raises(ValueError, match=r"must be one of .*reward-penalty.*got 'RP'"):
        HTRAA(update="RP").fit(X, Y)


@pytest.mark.parametrize(
    ("exponent", "capacity", "named"),
    [(0.5, 1.0, "resolution"), (0.01, 1.0, "exponent"), (0.3, 1e-3, "exponent"), (0.5, 1e-3, "exponent")],
)
def test_lakg_names_the_parameter_that_can_be_mended(exponent, capacity, named):
    log = [[0, 1.0], [1, 1.0]], [0, 1]
    given = {"n_materials": 500, "capacity": capacity}
    with pytest.raises(ValueError, match=rf"{named} must be at least .* for 500 materials") as refusal:
        LAKG(exponent=exponent, **given).fit(*log)
    least = float(re.search(r"at least (\S+)", str(refusal.value))[1])
    LAKG(**given, **{"exponent": exponent, named: int(least) if named == "resolution" else least}).fit(*log)
