"""Identifiers become codes in order of first appearance, with or without Arrow."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve._frames import factorize

COLUMNS = {
    "integers": np.array([5, 3, 5, 9, 3]),
    "floats": np.array([0.5, -1.0, 0.5]),
    "strings": np.array(["b", "a", "b", "cc"]),
    "objects": np.array(["b", "a", "b"], dtype=object),
    "tuples": [("x", 1), ("y", 2), ("x", 1)],
    "mixed": np.array(["b", 1, "b", 2.5], dtype=object),
    "pandas": pd.Series(["b", "a", "b"]),
    "categories": pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["a", "unseen", "b"])),
    "polars": pl.Series(["b", "a", "b"]),
    "chunks": pa.chunked_array([["b", "a"], ["c", "b"]]),
    "category chunks": pa.chunked_array(
        [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", "d"]).dictionary_encode()]
    ),
    "no chunks": pa.chunked_array([], type=pa.string()),
}


def by_hand(values):
    known = {}
    return [known.setdefault(v, len(known)) for v in values], list(known)


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_codes_follow_the_first_appearance(values, arrow, monkeypatch):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    plain = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    if isinstance(values, list):
        boxed = np.empty(len(values), dtype=object)
        boxed[:] = values
        values = boxed
    codes, uniques = factorize(values)
    assert (codes.tolist(), uniques.tolist()) == by_hand(plain)
    assert codes.dtype == np.intp


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9), max_size=50) | st.lists(st.text(max_size=3), max_size=50))
def test_any_list_is_encoded_as_by_hand(values):
    codes, uniques = factorize(np.array(values))
    assert (codes.tolist(), uniques.tolist()) == by_hand(np.array(values).tolist())


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(
    "values", [[1.0, np.nan, 2.0], np.array(["a", None, "b"], dtype=object), pd.Series(["a", pd.NA, "b"])]
)
def test_missing_identifiers_have_the_code_minus_one(values, arrow, monkeypatch):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    if not arrow and isinstance(values, pd.Series):
        values = np.array(["a", np.nan, "b"], dtype=object)
    assert factorize(values)[0].tolist()[1] == -1
