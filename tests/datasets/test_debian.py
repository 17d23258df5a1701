"""The bundled uploads are what they are said to be."""

import numpy as np
import pytest

from knapsolve.datasets import load_debian_uploads


def test_the_whole_record_has_377_packages():
    items, times = load_debian_uploads(stop=None)
    assert len(set(items.tolist())) == 377
    assert np.isfinite(times).all()
    years = times.astype("M8[s]").astype("M8[Y]").astype(int) + 1970
    assert (years.min(), years.max()) == (1995, 2026)


def test_times_ascend_within_each_package():
    items, times = load_debian_uploads(stop=None)
    for item in set(items.tolist()):
        assert (np.diff(times[items == item]) >= 0).all()


@pytest.mark.parametrize("stop", [None, 1e9, 1.4e9, float("inf")])
def test_stop_cuts_the_record(stop):
    items, times = load_debian_uploads(stop=None)
    cut_items, cut_times = load_debian_uploads(stop=stop)
    keep = times <= (np.inf if stop is None else stop)
    assert cut_items.tolist() == items[keep].tolist()
    assert cut_times.tolist() == times[keep].tolist()


def test_the_default_ends_where_the_record_is_complete():
    _, times = load_debian_uploads()
    assert np.datetime64("2022-12-01") < times.max().astype("M8[s]") <= np.datetime64("2023-01-01")


@pytest.mark.parametrize("stop", ["2023", [1.0], True, float("nan")])
def test_bad_stops_are_named(stop):
    with pytest.raises((ValueError, TypeError), match="stop"):
        load_debian_uploads(stop)
