"""Bad input: a ValueError or TypeError that names the parameter, before any work, with the state untouched."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from knapsolve import (
    HTRAA,
    LAKG,
    EDFScheduler,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RandomScheduler,
    UniformPolicy,
    simulate,
    traa_stationary_distribution,
)
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged
from tests.learners.cases import LEARNERS, poll_log

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
    "one material": (np.column_stack([np.ones(30), X[:, 1]]), Y, "2 materials"),
    "ragged": ([[0, 1.0], [1]], [0, 1], None),
    "time deltas": (pd.DataFrame({"m": X[:, 0], "g": pd.to_timedelta(X[:, 1], unit="s")}), Y, "elapsed"),
    "missing in a frame": (FRAME.mask(FRAME.page == 2), Y, "elapsed|material"),
}


def state(learner):
    return pickle.dumps({k: v for k, v in vars(learner).items() if k != "_lookup"})


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(("log", "target", "named"), BAD_LOGS.values(), ids=BAD_LOGS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_bad_logs_are_refused_and_leave_the_learner_as_it_was(learner, log, target, named):
    fresh = clone(learner)
    with pytest.raises((ValueError, TypeError), match=named):
        fresh.fit(log, target)
    assert set(vars(fresh)) == set(vars(clone(learner)))
    fitted = clone(learner).fit(X, Y)
    before = state(fitted)
    if named != "2 materials":  # a later batch may be of one material
        with pytest.raises((ValueError, TypeError), match=named):
            fitted.partial_fit(log, target)
        assert state(fitted) == before
    with pytest.raises((ValueError, TypeError), match=named):
        fitted.fit(log, target)
    assert state(fitted) == before
    fitted.partial_fit(X, Y)


COMMON = [
    ("capacity", 0), ("capacity", -1.0), ("capacity", nan), ("capacity", inf), ("capacity", "1"), ("capacity", None),
    ("capacity", True), ("capacity", 10**400), ("capacity", 1e305), ("capacity", [1.0]),
    ("n_materials", 1), ("n_materials", 0), ("n_materials", 2.0), ("n_materials", "2"), ("n_materials", 3),
    ("random_state", -1), ("random_state", "seed"), ("random_state", 1.5),
    ("material", 2), ("material", "page"), ("material", None), ("material", 1.0), ("material", -3),
    ("elapsed", 2), ("elapsed", "gap"), ("elapsed", None), ("elapsed", [1]),
]  # fmt: skip
BAD_PARAMETERS = [(kind, name, value) for kind in (LAKG, HTRAA, UniformPolicy, OptimalPolicy) for name, value in COMMON]
BAD_PARAMETERS += [
    *((LAKG, "resolution", value) for value in (1, 0, -5, 2.5, nan, "10", None, 10**12, [10, 20], 2)),
    *((LAKG, "exponent", value) for value in (0, -1.0, nan, inf, "1", None, 1e-9)),
    *((HTRAA, "resolution", value) for value in (1, 0, 2.5, nan, "10", None, 10**12, [], [5], [5, 1], [5, "6"], [[5, 6]], {})),
    *((HTRAA, "exponent", value) for value in (0, -1.0, nan, inf, "1", None)),
    *((HTRAA, "update", value) for value in ("penalty", "", None, 3, "RP", ["reward-penalty"])),
    *((ProportionalPolicy, "unchanged", value) for value in ([0.5], [0.5] * 5, [nan] * 4, [2.0] * 4, "abcd", {0: 0.5}, 3.0)),
    *((OptimalPolicy, "unchanged", value) for value in ([0.5], [-0.5] * 4, {0: 0.5}, {0: 2, 1: 0, 2: 0, 3: 0}, [[0.5] * 4])),
    *((EstimatorPolicy, "phase", value) for value in (0, -1, 2.5, nan, "x", None)),
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
    before = state(fitted)
    fitted.set_params(**{name: value})
    if name != "random_state":  # that was used by fit alone
        with pytest.raises((ValueError, TypeError), match=name):
            fitted.partial_fit(X, Y)
    fitted.set_params(**{name: getattr(kind(**good, random_state=0), name)})
    assert state(fitted) == before


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
    before = state(fitted)
    with pytest.raises(ValueError, match="n_materials must stay at 4, got 9"):
        fitted.partial_fit([[8, 1.0], [7, 1.0]], [0, 1])
    assert state(fitted) == before
    assert fitted.fit([[8, 1.0], [7, 1.0]], [0, 1]).materials_.size == 9


ENV = BernoulliEnvironment([0.5, 0.6, 0.7, 0.8])
TRACE = TraceEnvironment([0, 1, 0], [0.0, 3.0, 9.0])


class Pollable:
    n_materials = 4

    def poll(self, i, time, amount):
        return 0, 1.0


BAD_SIMULATIONS = [
    ({"learner": None}, "learner"), ({"learner": LAKG}, "learner"), ({"learner": 3}, "learner"),
    ({"learner": type("L", (), {"capacity": 1.0})()}, "learner"),
    ({"learner": LAKG(resolution=100, n_materials=3)}, "n_materials"),
    ({"learner": LAKG(resolution=100).fit(X[X[:, 0] < 3], Y[X[:, 0] < 3])}, "learner"),
    ({"environment": None}, "environment"), ({"environment": BernoulliEnvironment}, "environment"),
    ({"environment": [0.5, 0.5]}, "environment"), ({"environment": type("E", (), {"n_materials": 4})()}, "environment"),
    ({"environment": type("E", (Pollable,), {"n_materials": 0})()}, "n_materials"),
    ({"environment": type("E", (Pollable,), {"n_materials": 2.5})()}, "n_materials"),
    ({"environment": type("E", (Pollable,), {"n_materials": "4"})()}, "n_materials"),
    *(({"n_polls": value}, "n_polls") for value in (0, -1, 2.5, nan, "10", None, 10**30, True)),
    ({"environment": TRACE, "n_polls": 10}, "n_polls"), ({"environment": TRACE, "learner": LAKG(capacity=0.01)}, "capacity"),
    *(({"scheduler": value}, "scheduler") for value in ("EDF", "", None, 3, "heap", EDFScheduler([1.0]))),
    *(({"n_runs": value}, "n_runs") for value in (0, -1, 1.5, None, "2")),
    *(({"n_jobs": value}, "n_jobs") for value in (0, 1.5, "2")),
    *(({"record_every": value}, "record_every") for value in (0, -1, 1.5, "2", nan)),
    *(({"random_state": value}, "random_state") for value in (-1, 1.5, "x", [1, 2])),
    *(({"progress": value}, "progress") for value in ("yes", 3)),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "named"), BAD_SIMULATIONS)
def test_bad_simulations_are_refused_and_leave_the_learner_as_it_was(bad, named):
    learner = bad.get("learner", LAKG(resolution=100))
    arguments = {"learner": learner, "environment": ENV, "n_polls": 100, **bad}
    if "environment" in bad and isinstance(bad["environment"], TraceEnvironment):
        arguments["n_polls"] = bad.get("n_polls")
    before = pickle.dumps(vars(learner)) if isinstance(learner, LAKG) else None
    with pytest.raises((ValueError, TypeError), match=named):
        simulate(arguments.pop("learner"), arguments.pop("environment"), **arguments)
    if before is not None:
        assert pickle.dumps(vars(learner)) == before


BAD_AMOUNTS = [[], [0.0], [0.0, 0.0], [nan, 1.0], [inf, 1.0], [-1.0, 2.0], [[1.0]], 3.0, None, "ab", ["a"], [1 + 2j],
               [1e308, 1e308], [1e-320], {1: 2}, [None, 1.0], [10**400], np.array(["2020"], dtype="M8[D]")]  # fmt: skip


@pytest.mark.parametrize("scheduler", [EDFScheduler, RandomScheduler])
@pytest.mark.parametrize("amounts", BAD_AMOUNTS, ids=repr)
def test_bad_amounts_are_refused(scheduler, amounts):
    with pytest.raises((ValueError, TypeError), match="amounts"):
        scheduler(amounts)


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
@pytest.mark.parametrize(
    ("call", "named"),
    [
        *((lambda s, n=n: s.next(n), "n must") for n in (-1, 1.5, None, "1", nan, True, 10**30)),
        *((lambda s, i=i: s.update(i, 1.0), "material") for i in (-1, 2, 0.0, None, "0", 10**30)),
        *((lambda s, x=x: s.update(0, x), "amount") for x in (-1.0, nan, inf, None, "1", [1.0], 10**400, 1e305)),
    ],
)
def test_bad_calls_of_schedulers_are_refused_and_change_nothing(kind, call, named):
    scheduler, other = kind([1.0, 2.0], random_state=0), kind([1.0, 2.0], random_state=0)
    with pytest.raises((ValueError, TypeError), match=named):
        call(scheduler)
    assert scheduler.next(50)[0].tolist() == other.next(50)[0].tolist()
    assert scheduler.amounts.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
def test_what_is_passed_in_is_copied(kind):
    amounts = np.array([1.0, 2.0])
    scheduler = kind(amounts, random_state=0)
    scheduler.update(0, 5.0)
    assert amounts.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [BernoulliEnvironment, PollingEnvironment])
@pytest.mark.parametrize("unchanged", [[], [0.5], [nan, 0.5], [1.5, 0.5], [-0.1, 0.5], [[0.5, 0.5]], "ab", None, 0.5, [1j, 0]],
                         ids=repr)  # fmt: skip
def test_bad_rate_environments_are_refused(kind, unchanged):
    with pytest.raises((ValueError, TypeError), match="unchanged"):
        kind(unchanged)


@pytest.mark.parametrize("switch_every", [0, -1, 1.5, "2", nan, 10**30])
def test_bad_switching_is_refused(switch_every):
    with pytest.raises((ValueError, TypeError), match="switch_every"):
        PollingEnvironment([0.5, 0.5], switch_every=switch_every)


@pytest.mark.parametrize("amounts", [[1.0], [1.0, -1.0], [nan, 1.0], "ab", None])
def test_values_of_bad_amounts_are_refused(amounts):
    with pytest.raises((ValueError, TypeError), match="amounts"):
        BernoulliEnvironment([0.5, 0.5]).value(amounts)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([0, 1, 0], [0.0, 1.0]), "items and times"),
        (([0, 1], [0.0, nan]), "times"),
        (([0, 1], [0.0, inf]), "times"),
        (([0, 1], ["monday", "tuesday"]), "times"),
        (([0, 1], np.array(["2020-01-01", "NaT"], dtype="M8[s]")), "times"),
        (([0, 1, 0], [5.0, 1.0, 2.0]), "times must ascend.*2 after 5"),
        ((["a", 1, "a"], [5.0, 1.0, 2.0]), "times must ascend.*'a'|identifiers"),
        (([0, 0], [0.0, 1.0]), "items"),
        (([], []), None),
        (([0, None], [0.0, 1.0]), "items"),
        (([0, nan], [0.0, 1.0]), "items"),
        (([[0, 1]], [[0.0, 1.0]]), "items|times"),
        (([0, 1], [1.0, 1.0]), "stop"),
        (([0, 1], [0.0, 1.0], 5.0), "stop"),
        (([0, 1], [0.0, 1.0], nan), "start"),
        (([0, 1], [0.0, 1.0], 0.0, inf), "stop"),
        (([0, 1], [0.0, 1.0], 0.0, "late"), "stop"),
        (([{}, []], [0.0, 1.0]), None),
    ],
    ids=repr,
)
def test_bad_traces_are_refused(arguments, named):
    with pytest.raises((ValueError, TypeError), match=named):
        TraceEnvironment(*arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1, 0.5, 1.0), "n must"), ((2.5, 0.5, 1.0), "n must"), ((10, 1.5, 1.0), "alpha"), ((10, nan, 1.0), "alpha"),
        ((10, 0.5, -1.0), "beta"), ((10, 0.5, inf), "beta"), ((10, 0.5, 1.0, -1), "n_perturbations"),
        ((10, 0.5, 1.0, 5, "x"), "random_state"), ((10, 0.5, 1.0, 10**30), "n_perturbations"),
    ],
)  # fmt: skip
def test_bad_zipf_environments_are_refused(arguments, named):
    with pytest.raises((ValueError, TypeError), match=named):
        zipf_unchanged(*arguments)


# ---- fuzz: nothing but ValueError and TypeError, ever --------------------------------------------------------

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=3),
    st.complex_numbers(), st.decimals(), st.fractions(), st.datetimes(), st.just(object()), st.just(pd.NA), st.just(pd.NaT),
    st.lists(st.floats(), max_size=4), st.dictionaries(st.integers(), st.floats(), max_size=2),
    st.sampled_from([10**400, -(10**400), np.float32(1), np.int8(3), np.array(1.0), np.array([1]), range(3), {1, 2}, int]),
)  # fmt: skip
DTYPE = (
    hnp.floating_dtypes() | hnp.integer_dtypes() | hnp.boolean_dtypes() | hnp.unicode_string_dtypes(max_len=3)
    | hnp.complex_number_dtypes() | hnp.datetime64_dtypes() | hnp.timedelta64_dtypes() | hnp.byte_string_dtypes(max_len=3)
)  # fmt: skip
ARRAY = DTYPE.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)))
MIXED = st.lists(st.lists(ODD, min_size=0, max_size=3), max_size=5)
SLOW = settings(deadline=None, max_examples=250, suppress_health_check=list(HealthCheck))
ALLOWED = (ValueError, TypeError)


@SLOW
@given(st.sampled_from(sorted(LEARNERS)), ARRAY | MIXED | ODD, ARRAY | st.lists(ODD, max_size=5) | ODD, st.data())
@pytest.mark.filterwarnings("ignore")
def test_logs_of_any_kind_never_do_worse_than_an_error(name, log, target, data):
    learner = clone(LEARNERS[name]).fit(X, Y)
    before = state(learner)
    method = data.draw(st.sampled_from(["fit", "partial_fit"]))
    try:
        getattr(learner, method)(log, target)
    except ALLOWED:
        assert state(learner) == before
    else:
        amounts = learner.allocate(3.0)
        assert np.isfinite(amounts).all() and amounts.sum() == pytest.approx(3.0)


@SLOW
@given(st.integers(2, 6), st.data())
@pytest.mark.filterwarnings("ignore")
def test_logs_nearly_right_never_do_worse_than_an_error(n, data):
    """Two columns and the right length: what gets past the first checks."""
    material = data.draw(hnp.arrays(data.draw(DTYPE), n) | st.lists(ODD, min_size=n, max_size=n))
    elapsed = data.draw(hnp.arrays(data.draw(DTYPE), n) | st.lists(st.floats(0), min_size=n, max_size=n))
    target = data.draw(st.lists(st.sampled_from([0, 1, True, 1.0, np.int8(0)]), min_size=n, max_size=n))
    learner = clone(LEARNERS[data.draw(st.sampled_from(sorted(LEARNERS)))])
    try:
        frame = pd.DataFrame({0: list(material), 1: list(elapsed)})
    except Exception:
        return
    try:
        learner.fit(frame if data.draw(st.booleans()) else frame.to_numpy(), target)
    except ALLOWED:
        assert not hasattr(learner, "materials_")
    else:
        assert learner.materials_.size == learner.allocate().size >= 2
        assert np.isfinite(learner.amounts_).all()


@SLOW
@given(st.sampled_from([LAKG, HTRAA, ProportionalPolicy, OptimalPolicy, EstimatorPolicy]), st.data())
@pytest.mark.filterwarnings("ignore")
def test_parameters_of_any_kind_never_do_worse_than_an_error(kind, data):
    names = [name for name in kind().get_params() if name != "phase"]
    chosen = data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    learner = kind(**{name: data.draw(ODD) for name in chosen})
    if isinstance(learner.get_params().get("resolution"), int) and learner.resolution > 10_000:
        return  # fine, but slow
    try:
        learner.fit(X, Y)
    except ALLOWED:
        assert not hasattr(learner, "materials_")
    else:
        assert np.isfinite(learner.allocate()).all()


@SLOW
@given(st.sampled_from([EDFScheduler, RandomScheduler]), ARRAY | ODD | st.lists(ODD, max_size=3), ODD, ODD, ODD)
@pytest.mark.filterwarnings("ignore")
def test_schedulers_never_do_worse_than_an_error(kind, amounts, n, material, amount):
    for arguments in ([amounts], [[1.0, 0.5, 0.0], material]):
        try:
            scheduler = kind(*arguments)
        except ALLOWED:
            continue
        for call in (lambda s: s.update(material, amount), lambda s: s.update(0, amount), lambda s: s.next(7)):
            try:
                call(scheduler)
            except ALLOWED:
                continue
        materials, times = scheduler.next(20)
        assert np.isfinite(times).all() and (scheduler.amounts[materials] > 0).all()


@SLOW
@given(st.sampled_from([BernoulliEnvironment, PollingEnvironment, TraceEnvironment]), ARRAY | ODD, ARRAY | ODD, ODD, ODD)
@pytest.mark.filterwarnings("ignore")
def test_environments_never_do_worse_than_an_error(kind, first, second, start, stop):
    try:
        environment = kind(first, second, start, stop) if kind is TraceEnvironment else kind(first, switch_every=start)
    except ALLOWED:
        return
    learner = LAKG(resolution=50) if kind is not TraceEnvironment else LAKG(capacity=9 / (environment.stop - environment.start))
    try:
        history = simulate(learner, environment, 5)
    except ALLOWED:
        return
    assert np.isfinite(history.amounts).all()


@SLOW
@given(st.sampled_from(["n_polls", "scheduler", "n_runs", "n_jobs", "record_every", "random_state", "progress"]), ODD)
@pytest.mark.filterwarnings("ignore")
def test_simulations_never_do_worse_than_an_error(name, value):
    if isinstance(value, int) and value > 1000 and name in ("n_polls", "n_runs"):
        return
    try:
        history = simulate(LAKG(resolution=100), ENV, **{"n_polls": 20, name: value})
    except ALLOWED:
        return
    assert np.isfinite(history.value).all()


@SLOW
@given(ODD | ARRAY, ODD | ARRAY, ODD, ODD)
@pytest.mark.filterwarnings("ignore")
def test_the_stationary_distribution_never_does_worse_than_an_error(p1, p2, resolution, update):
    for arguments in ((p1, p2, 5), ([0.5] * 5, [0.5] * 5, resolution), ([0.5] * 5, [0.5] * 5, 5, update)):
        if isinstance(arguments[2], int) and arguments[2] > 10**6:
            continue
        try:
            pi = traa_stationary_distribution(*arguments)
        except ALLOWED:
            continue
        assert pi.sum() == pytest.approx(1) and (pi >= 0).all()


def test_messages_say_what_was_given_and_what_is_allowed():
    with pytest.raises(ValueError, match=re.escape("capacity must be finite and positive, got 0")):
        LAKG(capacity=0).fit(X, Y)
    with pytest.raises(ValueError, match=re.escape("resolution must be an integer in [2, ")) as caught:
        LAKG(resolution=1).fit(X, Y)
    assert caught.value.args[0].endswith("got 1")
    with pytest.raises(ValueError, match="must be one of .*reward-penalty.*got 'RP'"):
        HTRAA(update="RP").fit(X, Y)
