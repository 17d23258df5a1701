"""Capacities, times, splits and units as typed."""

import pytest

from knapsolve.cli.units import duration_in_words, parse_split, parse_time, times_in_words
from knapsolve.replay.units import parse_capacity, parse_unit


@pytest.mark.parametrize(
    ("text", "polls", "unit"),
    [("20/day", 20, "day"), ("1,000/day", 1000, "day"), ("1,234,567.5/day", 1234567.5, "day"),
     ("5000/hour", 5000, "hour"), ("3/week", 3, "week"), ("0.5/s", 0.5, "second"),
     ("1e3 / yr", 1000, "year"), ("2/Months", 2, "month"), ("7/min", 7, "minute"), ("9/ms", 9, "millisecond")]
)  # fmt: skip
def test_capacities_are_read_as_typed(text, polls, unit):
    assert parse_capacity(text) == (polls, unit)


def test_times_and_splits_are_read_as_typed():
    assert parse_time("--start", "2.5", "day") == 2.5
    assert parse_time("--start", "1970-01-03", "day") == 2
    assert parse_time("--start", "1970-01-01T01:00:00+01:00", "second") == 0
    assert parse_split("25%", 100, 200, "day") == 125
    assert parse_split("none", 100, 200, "day") is None
    assert parse_split("1970-01-02", 0, 200, "hour") == 24
    assert parse_unit("Weeks") == "week"


def test_dates_of_a_short_window_have_hours_and_minutes():
    start = 1.7e9  # 2023-11-14 22:13:20
    assert times_in_words("second", start, start + 9e4) == ["2023-11-14 22:13", "2023-11-15 23:13"]
    assert times_in_words("second", start, start + 9e6) == ["2023-11-14", "2024-02-27"]
    assert times_in_words("day", 3.0, 4.5) == ["3 days", "4.5 days"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(160, "2.7 minutes"), (160 * 86400, "160 days"), (5, "5 seconds"), (3600, "1 hour"), (61_000, "17 hours"),
     (86400 * 5000, "14 years"), (3.2e11, "10,140 years"), (0.0035, "3.5 milliseconds"), (2e-9, "2 nanoseconds"),
     (1e-30, "1e-21 nanoseconds"), (1e140, "3.2e+132 years")]
)  # fmt: skip
def test_lengths_of_time_are_said_in_a_unit_that_suits_them(seconds, words):
    assert duration_in_words(seconds) == words
