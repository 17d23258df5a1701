"""Logs of polls as `knapsolve allocate` reads them, beside plain Python and numpy: `pytest -s benchmarks/rates`."""

import numpy as np
import pyarrow
import pytest
from test_timetable_speed import seconds

from knapsolve.cli.source import Source
from knapsolve.cli.values import as_times, order_by_item
from knapsolve.replay.log import iso_seconds

N_ROWS = 1_000_000


@pytest.mark.parametrize("end", ["", "Z", "+02:00"])
def test_a_million_dates(end):
    dates = [f"{date}{end}" for date in np.datetime_as_string(np.arange(N_ROWS).astype("M8[s]"))]
    column = pyarrow.array(dates)
    ours = seconds(lambda: as_times(Source("log"), column, None), 5)
    theirs = seconds(lambda: np.fromiter(map(iso_seconds, dates), dtype=float, count=N_ROWS), 2)
    print(f"\n{N_ROWS} dates, {dates[0]}: {ours:.3f} s; datetime.fromisoformat {theirs:.2f} s ({theirs / ours:.0f}x)")


def test_a_million_rows_in_order_of_item():
    codes = np.random.default_rng(0).integers(0, N_ROWS // 6, N_ROWS)
    ours = seconds(lambda: order_by_item(codes), 10)
    theirs = seconds(lambda: np.argsort(codes, kind="stable"), 5)
    ratio = theirs / ours
    print(f"\n{N_ROWS} rows in order of item: {1e3 * ours:.0f} ms; stable argsort {1e3 * theirs:.0f} ms ({ratio:.1f}x)")
