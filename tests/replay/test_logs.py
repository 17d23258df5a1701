"""Change logs in all their forms: rows in any order, data frames, dates however written."""

import datetime

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from knapsolve.replay import TraceReplay, measure_polls, replay
from knapsolve.replay.comparison import default_policies
from tests.replay.logs import DAY, bursty_log


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter():
    items, times = bursty_log(12, 100, seed=4)
    policies = [name for name in default_policies(True) if name != "gpoks"]  # dear, and told what the others are
    results = [
        replay((items[rows], times[rows]), 5, policies, start=0, split=40, random_state=1)
        for rows in (slice(None), np.lexsort((times, items)), np.lexsort((items[::-1], times)),
                     np.concatenate([np.flatnonzero(items == name) for name in np.unique(items)[::-1]]))
    ]  # fmt: skip
    for other in results[1:]:
        assert other.items.tolist() == sorted(set(items.tolist()))
        assert other.table() == results[0].table()


def test_items_of_mixed_kinds_are_refused():
    with pytest.raises(TypeError, match="one kind"):
        TraceReplay((np.array(["b", 3, "a", 3], dtype=object), [1.0, 2.0, 3.0, 4.0]), 2, start=0)


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize("time", ["time", "timestamp"])
def test_a_data_frame_is_a_log(frame, time):
    items, times = bursty_log(7, 60, seed=1)
    whole = frame({time: times, "extra": times, "item": items.tolist()})
    expected = replay((items, times), 2, ["uniform"], random_state=0)
    assert replay(whole, 2, ["uniform"], random_state=0).table() == expected.table()


@pytest.mark.parametrize(
    "as_rows",
    [
        lambda items, times: list(zip(items, times)),
        lambda items, times: [list(row) for row in zip(items, times)],
        lambda items, times: [(item, str(time)) for item, time in zip(items, times)],
        lambda items, times: np.array([items, times], dtype=object).T,
        lambda items, times: np.column_stack([np.array(items).astype("U9"), times]),
        lambda items, times: [items, times],
        lambda items, times: np.array([items, times], dtype=object),
    ],
    ids=["tuples", "lists", "text", "objects", "array of text", "list of columns", "array of columns"],
)
def test_rows_are_a_log_as_columns_are(as_rows):
    items, times = bursty_log(7, 60, seed=1)
    items, times = [f"i{each}" for each in items], times.tolist()
    expected = replay((items, times), 2, ["uniform"], random_state=0)
    found = replay(as_rows(items, times), 2, ["uniform"], random_state=0)
    assert found.table() == expected.table() and found.items.tolist() == expected.items.tolist()


def test_of_two_rows_a_list_of_tuples_is_a_log():
    found = TraceReplay([("a", 1.0), ("b", 9.0)], 2.0, start=0.0, random_state=0)
    assert found.items.tolist() == ["a", "b"] and found.stop == 9.0
    assert measure_polls([(1, 2.0), (3, 4.0)], [3], [4.0], start=0.0).item_detections.tolist() == [0.0, 1.0]
    assert TraceReplay([(1, 3, 1), (2.0, 4.0, 5.0)], 2.0, start=0.0, random_state=0).items.tolist() == [1, 3]
    for columns in ([[1, 3], [2.0, 4.0]], ((1, 3), (2.0, 4.0)), ([1, 3], (2.0, 4.0)), np.array([(1, 3), (2.0, 4.0)])):
        assert TraceReplay(columns, 2.0, start=0.0, random_state=0).items.tolist() == [1, 3]
        assert TraceReplay(columns, 2.0, start=0.0, random_state=0).stop == 4.0
    for public in (replay, TraceReplay):
        assert "list of tuples of two is rows, all else is two columns" in " ".join(public.__doc__.split())


@pytest.mark.parametrize(
    ("log", "error", "message"),
    [
        ([("a", 1.0), ("b", 2.0, 3.0), ("a", 3.0)], ValueError, "a time in each row, got 3 values in row 1"),
        ([("a", 1.0), ("b",), ("a", 3.0)], ValueError, "an item and a time in each row, got 1 values in row 1"),
        ([("a", 1.0), "bc", ("a", 3.0)], TypeError, "rows of an item and a time, .* got str in row 1"),
        ([("a", 1.0), ("b", 2.0), None], TypeError, "rows of an item and a time, .* got NoneType in row 2"),
        ([("a", 1.0), ("b", "soon"), ("a", 3.0)], ValueError, r"times\[1\] must be a number or an ISO date"),
        ([("a", 1.0), ("b", "2021-07-01"), ("a", 3.0)], ValueError, "numbers or dates .* got .* position 1"),
        ([("a", 1.0), ("b", None), ("a", 3.0)], (ValueError, TypeError), "times must"),
        ([("a", 1.0), ("b", 2.0), ("a", 0.5)], ValueError, "got 0.5 at position 2 after 1 for 'a'"),
        ([("a", 1.0)], ValueError, "at least 2 different items"),
        ([], ValueError, "must"),
        ("log.csv", TypeError, "log must be .* got str in row 0"),
        ({"a": [1.0], "b": [2.0], "c": [3.0]}, TypeError, "log must be .* got str in row 0"),
        (np.ones((3, 3)), ValueError, "got 3 values in row 0"),
        (np.array(7.0), TypeError, "log must be .* got ndarray"),
    ],
)
def test_rows_that_are_none_are_refused(log, error, message):
    with pytest.raises(error, match=message):
        TraceReplay(log, 2.0)


@pytest.mark.parametrize("names", [("page", "time"), ("item", "when")])
def test_a_data_frame_with_other_columns_is_refused(names):
    frame = pd.DataFrame(dict(zip(names, (["a", "b"], [1.0, 2.0]))))
    with pytest.raises(TypeError, match="log must have columns 'item' and 'time'"):
        replay(frame, 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame, pyarrow.table, dict])
@pytest.mark.parametrize("changed", [[0, 0, 1, 1], [True, True, True, False], ["yes", "No", "yes", "yes"]], ids=str)
def test_a_log_of_polls_is_not_taken_for_one_of_changes(frame, changed):
    polls = {"item": ["a", "b", "a", "b"], "time": [1.0, 1.0, 2.0, 3.0], "changed": changed}
    message = r"log is a log of polls, some with changed = 0; .* or use knapsolve allocate"
    with pytest.raises(ValueError, match=message):
        replay(frame(polls), 2.0)
    with pytest.raises(ValueError, match=message):
        measure_polls(frame(polls), ["a"], [2.0])


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame, pyarrow.table])
def test_a_table_of_polls_that_all_found_a_change_is_a_log(frame):
    table = frame({"item": ["a", "b", "a", "b"], "time": [1.0, 1.0, 2.0, 3.0], "changed": [1, 1, 1, 1]})
    assert TraceReplay(table, 9.0, split=None).n_changes.tolist() == [1, 1]


def test_nothing_depends_on_the_unit_of_time():
    items, times = bursty_log(12, 100, seed=5)
    one = replay((items, times), 2.0, start=0, split=40, random_state=7)
    other = replay((items, times * 4096), 2.0 / 4096, start=0, split=40 * 4096, random_state=7)
    for name in one.runs:
        np.testing.assert_array_equal(one.runs[name].item_polls, other.runs[name].item_polls)
        np.testing.assert_array_equal(one.runs[name].item_detections, other.runs[name].item_detections)


@pytest.mark.parametrize(
    "as_written",
    [
        lambda days: f"2021-07-{1 + days:02}",
        lambda days: f"2021-07-{1 + days:02}T02:00+02:00",
        lambda days: datetime.date(2021, 7, 1 + days),
        lambda days: datetime.datetime(2021, 7, 1 + days, tzinfo=datetime.UTC),
        lambda days: np.datetime64(f"2021-07-{1 + days:02}"),
        lambda days: pd.Timestamp(f"2021-07-{1 + days:02}"),
    ],
    ids=["text", "zone", "date", "datetime", "numpy", "pandas"],
)
def test_dates_are_seconds_since_1970_however_they_are_written(as_written):
    first, days = 1625097600.0, [2, 3, 5, 9, 12]  # of 1 July 2021
    items = ["a", "b", "a", "b", "a"]
    numbers = (items, [first + DAY * each for each in days])
    stretch = [first + DAY * each for each in (0, 6, 15)]
    given = dict(zip(("start", "split", "stop"), stretch))
    expected = replay(numbers, 3 / DAY, ["uniform"], **given, random_state=0)
    given = dict(zip(given, map(as_written, (0, 6, 15))))
    for log in (numbers, (items, [as_written(each) for each in days])):
        found = replay(log, 3 / DAY, ["uniform"], **given, random_state=0)
        assert (found.start, found.split, found.stop) == tuple(stretch)
        assert found.table() == expected.table()


@pytest.mark.parametrize("name", ["start", "split", "stop"])
@pytest.mark.parametrize("value", ["yesterday", np.datetime64("NaT"), pd.NaT])
def test_what_is_no_date_is_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        replay((["a", "b", "a"], [1.0, 2.0, 3.0]), 1.0, ["uniform"], **{name: value})
    with pytest.raises((ValueError, TypeError), match="times"):
        replay((["a", "b", "a"], ["2021-07-01", value, "2021-07-03"]), 1.0, ["uniform"])


def test_numbers_that_are_text_are_the_numbers():
    items, times = ["a", "b", "a", "b"], ["20210701", "20210702", "20210711", "20210722.5"]
    found, expected = (
        TraceReplay((items, each), 1.0, start=20210700) for each in (times, [float(each) for each in times])
    )
    assert (found.start, found.stop) == (expected.start, expected.stop) == (20210700, 20210722.5)
