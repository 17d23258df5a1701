"""A trace finds each recorded change once, at the first poll after it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import LAKG, UniformPolicy, simulate
from knapsolve.environments import TraceEnvironment

ITEMS, TIMES = list("abacab"), [1.0, 2.0, 3.0, 3.5, 8.0, 9.0]


def test_defaults_span_the_recording():
    trace = TraceEnvironment(ITEMS, TIMES)
    assert (trace.start, trace.stop) == (1.0, 9.0)
    assert trace.materials.tolist() == ["a", "b", "c"]
    assert trace.n_changes.tolist() == [2, 2, 1]  # the change at the start is known already
    assert "3 items" in repr(trace)


def test_rows_may_come_in_any_order_of_items():
    order = np.argsort(ITEMS, kind="stable")
    sorted_trace = TraceEnvironment(np.array(ITEMS)[order], np.array(TIMES)[order], 0.0, 9.0)
    trace = TraceEnvironment(ITEMS, TIMES, 0.0, 9.0)
    a, b = (simulate(LAKG(capacity=3.0), t, random_state=1) for t in (trace, sorted_trace))
    assert a.item_detections.tolist() == b.item_detections.tolist()


def test_dates_count_in_seconds():
    dates = pd.to_datetime(["1970-01-01 00:00:01", "1970-01-01 00:01:00"])
    for times in (dates.to_numpy(), dates.to_numpy().astype("M8[s]")):
        trace = TraceEnvironment(["a", "b"], times)
        assert (trace.start, trace.stop) == (1.0, 60.0)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "2h", "25s"])
def test_dates_of_any_year_and_unit_count_in_seconds(unit):
    dates = np.array(["1600-01-01", "1970-01-01", "2500-01-01"], dtype="M8[D]").astype(f"M8[{unit}]")
    trace = TraceEnvironment(["a", "b", "c"], dates)
    assert trace.times.tolist() == dates.astype("M8[s]").astype(float).tolist()


def test_nanoseconds_count_as_before():
    dates = np.array(["2021-07-01T00:00:00.123456789", "2021-07-02"], dtype="M8[ns]")
    assert TraceEnvironment(["a", "b"], dates).times.tolist() == (dates.astype(np.int64) / 1e9).tolist()


def test_dates_without_a_unit_or_beyond_all_days_are_refused():
    for dates in (np.array([1, 2]).view("M8"), np.array([1, 2**62]).view("M8[Y]")):
        with pytest.raises(ValueError, match="times must be dates"):
            TraceEnvironment(["a", "b"], dates)


def test_times_whose_squares_are_no_numbers_are_refused_and_ages_up_to_them_are_finite():
    for times in ([1.0, 1e200], [-1.1e140, 1.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match=r"^times must be"):
            TraceEnvironment(["a", "b"], times)
    for bounds in ({"start": -1e200}, {"stop": 1e200}):
        with pytest.raises(ValueError, match=r"^(start|stop) must be .*1e\+140"):
            TraceEnvironment(["a", "b"], [1.0, 2.0], **bounds)
    trace = TraceEnvironment(["a", "b"], [0.0, 1e140], start=-1e140)
    history = simulate(UniformPolicy(capacity=1e-139), trace, random_state=0)
    assert np.isfinite(history.item_age).all() and history.item_age.max() > 1e137


def test_between_cuts_the_recording():
    trace = TraceEnvironment(ITEMS, TIMES, 0.0).between(2.5, 8.0)
    assert (trace.start, trace.stop, trace.n_changes.tolist()) == (2.5, 8.0, [2, 0, 1])
    assert trace.n_materials == 3, "items without changes in the stretch are polled nevertheless"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 400)), min_size=2, max_size=80),
    st.floats(0.5, 8.0),
    st.sampled_from(["edf", "random"]),
)
def test_accounts_add_up(changes, capacity, scheduler):
    changes = sorted([(0, 0), (1, 0), *changes], key=lambda row: row[1])
    items, times = zip(*changes)
    trace = TraceEnvironment(items, [t / 4 for t in times], start=-1.0, stop=101.0)
    history = simulate(UniformPolicy(capacity=capacity), trace, scheduler=scheduler, random_state=0)
    n_polls = int(102 * capacity * (1 + 1e-12))
    assert history.polls[-1] == history.item_polls.sum() == n_polls
    assert history.item_detections.sum() == history.detections[0, -1]
    assert (history.item_detections[0] <= np.minimum(trace.n_changes, history.item_polls[0])).all()
    assert ((history.item_fresh >= 0) & (history.item_fresh <= 1 + 1e-12)).all()
    assert history.item_fresh[0][trace.n_changes == 0] == pytest.approx(1.0)


def test_what_is_before_count_from_is_not_counted_but_not_lost():
    trace = TraceEnvironment(ITEMS, TIMES, 0.0, 9.0, count_from=3.2)
    assert trace.n_changes.tolist() == [1, 1, 1]
    whole = simulate(UniformPolicy(capacity=3.0), TraceEnvironment(ITEMS, TIMES, 0.0, 9.0), random_state=0)
    late = simulate(UniformPolicy(capacity=3.0), trace, random_state=0)
    assert late.polls[-1] == whole.polls[-1] == 27 and late.detections[0, -1] == whole.detections[0, -1]
    assert late.item_polls.sum() == 27 - 9, "those up to 3.2 are left out"
    assert (late.item_detections <= whole.item_detections).all()
    assert late.item_carried.sum() <= 3 and whole.item_carried.sum() == 0


@pytest.mark.parametrize("count_from", [-1.0, 9.0, float("nan"), "soon"])
def test_a_count_from_outside_the_stretch_is_refused(count_from):
    with pytest.raises((ValueError, TypeError), match="count_from must"):
        TraceEnvironment(ITEMS, TIMES, 0.0, 9.0, count_from=count_from)
