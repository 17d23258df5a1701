"""Whatever the boundary is given: nothing but ValueError and TypeError, ever, and the state untouched."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from knapsolve import (
    GPOKS,
    HTRAA,
    LAKG,
    EDFScheduler,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RandomScheduler,
    simulate,
    traa_stationary_distribution,
)
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment
from tests.learners.cases import LEARNERS, poll_log, state_bytes

X, Y = poll_log(30, 4)
ENV = BernoulliEnvironment([0.5, 0.6, 0.7, 0.8])


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.datetimes(),
    st.just(object()),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.lists(st.floats(), max_size=4),
    st.dictionaries(st.integers(), st.floats(), max_size=2),
    st.sampled_from(
        [10**400, -(10**400), np.float32(1), np.int8(3), np.array(1.0), np.array([1]), range(3), {1, 2}, int]
    ),
)
DTYPE = (
    hnp.floating_dtypes()
    | hnp.integer_dtypes()
    | hnp.boolean_dtypes()
    | hnp.unicode_string_dtypes(max_len=3)
    | hnp.complex_number_dtypes()
    | hnp.datetime64_dtypes()
    | hnp.timedelta64_dtypes()
    | hnp.byte_string_dtypes(max_len=3)
)
ARRAY = DTYPE.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)
MIXED = st.lists(st.lists(ODD, min_size=0, max_size=3), max_size=5)
SLOW = settings(deadline=None, max_examples=250, suppress_health_check=list(HealthCheck))
ALLOWED = (ValueError, TypeError)


@SLOW
@given(
    st.sampled_from(sorted(LEARNERS)), ARRAY | MIXED | ODD, ARRAY | st.lists(ODD, max_size=5) | ODD, st.data()
)
@pytest.mark.filterwarnings("ignore")
def test_logs_of_any_kind_never_do_worse_than_an_error(name, log, target, data):
    learner = clone(LEARNERS[name]).fit(X, Y)
    before = state_bytes(learner)
    method = data.draw(st.sampled_from(["fit", "partial_fit"]))
    try:
        getattr(learner, method)(log, target)
    except ALLOWED:
        assert state_bytes(learner) == before
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
        assert learner.materials_.size == learner.allocate().size >= 1
        assert np.isfinite(learner.amounts_).all()


@SLOW
@given(st.sampled_from([LAKG, HTRAA, GPOKS, ProportionalPolicy, OptimalPolicy, EstimatorPolicy]), st.data())
@pytest.mark.filterwarnings("ignore")
def test_parameters_of_any_kind_never_do_worse_than_an_error(kind, data):
    names = [name for name in kind().get_params() if name != "phase"]
    chosen = data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    learner = kind(**{name: data.draw(ODD) for name in chosen})
    given_now = learner.get_params()
    if any(isinstance(given_now.get(name), int) and given_now[name] > 10_000 for name in ("resolution", "n_materials")):
        return  # fine, but slow
    try:
        learner.fit(X, Y)
    except ALLOWED:
        assert not hasattr(learner, "materials_")
    else:
        assert np.isfinite(learner.allocate()).all()


@SLOW
@given(
    st.sampled_from([EDFScheduler, RandomScheduler]), ARRAY | ODD | st.lists(ODD, max_size=3), ODD, ODD, ODD
)
@pytest.mark.filterwarnings("ignore")
def test_schedulers_never_do_worse_than_an_error(kind, amounts, n, material, amount):
    for arguments in ([amounts], [[1.0, 0.5, 0.0], material]):
        try:
            scheduler = kind(*arguments)
        except ALLOWED:
            continue
        for call in (
            lambda s: s.update(material, amount),
            lambda s: s.update(0, amount),
            lambda s: s.next(7),
        ):
            try:
                call(scheduler)
            except ALLOWED:
                continue
        materials, times = scheduler.next(20)
        assert np.isfinite(times).all() and (scheduler.amounts[materials] > 0).all()


@SLOW
@given(
    st.sampled_from([BernoulliEnvironment, PollingEnvironment, TraceEnvironment]),
    ARRAY | ODD,
    ARRAY | ODD,
    ODD,
    ODD,
)
@pytest.mark.filterwarnings("ignore")
def test_environments_never_do_worse_than_an_error(kind, first, second, start, stop):
    try:
        environment = (
            kind(first, second, start, stop) if kind is TraceEnvironment else kind(first, switch_every=start)
        )
    except ALLOWED:
        return
    learner = (
        LAKG(resolution=50)
        if kind is not TraceEnvironment
        else LAKG(capacity=9 / (environment.stop - environment.start))
    )
    try:
        history = simulate(learner, environment, 5)
    except ALLOWED:
        return
    assert np.isfinite(history.amounts).all()


@SLOW
@given(
    st.sampled_from(["n_polls", "scheduler", "n_runs", "n_jobs", "record_every", "random_state", "progress"]),
    ODD,
)
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
