"""Columns as numbers: dates by Arrow are those of Python, and rows in order of item."""

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knapsolve.cli.source import Source
from knapsolve.cli.values import as_floats, as_times, order_by_item
from knapsolve.replay.log import iso_seconds

DATES = {
    "days": ["2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"],
    "seconds": ["2024-02-29T01:02:03", "2024-02-29 23:59:59"],
    "fractions": ["2024-02-29T01:02:03.1", "2262-01-01T01:02:03.123456"],
    "Greenwich": ["2024-02-29T01:02:03Z", "2024-02-29T01:02Z"],
    "zones": ["2024-02-29T01:02:03+02:00", "2024-02-29T01:02:03.25-0930"],
    "some zones": ["2024-02-29T01:02:03+02:00", "2024-02-29"],
    "blanks": [" 2024-02-29", "2024-03-01T10:00\t"],
    "Python's alone": ["20240229", "2024-W09-4T10", "2024-02-29T01:02:03,1234567"],
}


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_dates_are_read_as_python_reads_them(dates):
    read = as_times(Source("log"), pyarrow.chunked_array([dates]), None)
    assert read.values.tolist() == list(map(iso_seconds, dates))
    assert read.dates and read.unit == "second"


def test_numbers_may_have_blanks_around_them():
    assert as_floats(pyarrow.array([" 1", "2 ", "\t3e2"])).tolist() == [1.0, 2.0, 300.0]
    assert as_floats(pyarrow.array(["1", "x"])) is None


@given(st.lists(st.integers(0, 9)))
def test_rows_in_order_of_item_are_those_of_a_stable_sort(codes):
    codes = np.array(codes, dtype=np.intp)
    assert order_by_item(codes).tolist() == np.argsort(codes, kind="stable").tolist()
