"""Identifiers become codes in order of first appearance, with or without Arrow, and are found again."""

import pickle
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knapsolve import LAKG
from knapsolve._identifiers import Positions, encode, factorize, locate

COLUMNS = {
    "integers": np.array([5, 3, 5, 9, 3]),
    "floats": np.array([0.5, -1.0, 0.5]),
    "whole floats": np.array([7.0, -2.0, 7.0, -0.0, 3.0, 0.0]),
    "small unsigned": np.array([3, 250, 3, 0, 250], dtype=np.uint8),
    "large integers": np.array([2**62, 2**62 + 1, 2**62]),
    "strings": np.array(["b", "a", "b", "cc"]),
    "objects": np.array(["b", "a", "b"], dtype=object),
    "tuples": [("x", 1), ("y", 2), ("x", 1)],
    "mixed numbers": np.array([3, 1, 3, 2.5], dtype=object),
    "zeros": np.array([1.0, -0.0, 0.0, -0.0]),
    "trailing NULs": np.array(["a\0", "a", "a\0\0", "a"], dtype=object),
    "inner NULs": np.array(["a\0b", "a", "a\0b"], dtype=object),
    "bytes": np.array([b"a\0", b"a", b"a\0"], dtype=object),
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


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("values", [["a", b"a"], [b"a", "b"], ["a", 1], [1.5, "1.5"], [None, b"a", "a"]])
def test_mixed_kinds_of_identifiers_are_refused(values, arrow, monkeypatch):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TypeError, match=r"must be of one kind, got .* beside "):
        factorize(np.array(values, dtype=object))


@pytest.mark.parametrize(("dtype", "most"), [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)])
def test_floats_are_identifiers_as_far_as_they_tell_integers_apart(dtype, most):
    """20,000,001 and 20,000,000 are one number as float32: two materials would be one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes, _ = factorize(np.array([most - 1, most - 2, most - 1], dtype=dtype))
    assert codes.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="identifiers of 2\\*\\*"):
        factorize(np.array([1, most], dtype=dtype))


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("value", [2.0**53, -(2.0**60)])
def test_floats_that_stand_for_several_integers_are_refused(value, arrow, monkeypatch):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match="pass integers or strings"):
        factorize(np.array([1.0, value]))
    exact = np.array([2**60, 2**60 + 1, 2**60])
    assert factorize(exact)[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(
    "identifiers", [[0.0, 1.0, -0.0, 0.0], ["a", "b", "a\0", "a"], ["a\0", "a", "a", "b\0"], [b"a", b"b", b"a\0", b"a"]]
)
def test_a_cut_log_tells_identifiers_apart_like_the_whole(identifiers, arrow, monkeypatch):
    if not arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    X, y = np.array([[name, 1.0] for name in identifiers], dtype=object), [1, 0, 1, 0]
    if isinstance(identifiers[0], float):
        X = X.astype(float)
    whole, parts = LAKG(resolution=9).fit(X, y), LAKG(resolution=9).fit(X[:2], y[:2]).partial_fit(X[2:], y[2:])
    assert parts.materials_.tolist() == whole.materials_.tolist() == list(dict.fromkeys(identifiers))
    assert parts.states_.tolist() == whole.states_.tolist()


def test_the_next_part_of_a_log_must_have_identifiers_of_the_same_kind():
    learner = LAKG(resolution=9).fit(np.array([["a", 1.0], ["b", 1.0]], dtype=object), [0, 1])
    with pytest.raises(TypeError, match="one kind"):
        learner.partial_fit(np.array([[b"a", 1.0]], dtype=object), [0])


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (np.array([2**63 + 5, 2**63 + 7], np.uint64), np.array([3, -4])),
        (np.array([2**60 + 1, 2**60 + 3]), np.array([0.5, 2.0])),
        (np.array([3, -4]), np.array([2**63 + 5, 3], np.uint64)),
    ],
)
def test_numbers_of_several_kinds_stay_apart_as_they_come(known, new):
    learner = LAKG(material="m", elapsed="e", resolution=50)
    frames = [pd.DataFrame({"m": each, "e": 1.0}) for each in (known, new)]
    learner.fit(frames[0], [1, 0]).partial_fit(frames[1], [0, 1])
    expected = list(dict.fromkeys(known.tolist() + new.tolist()))
    assert learner.materials_.tolist() == expected
    reread = pickle.loads(pickle.dumps(learner))
    for each in (learner, reread):
        each.partial_fit(frames[0], [1, 0]).partial_fit(frames[1], [1, 0])
        assert each.materials_.tolist() == expected


def test_numbers_that_numpy_joins_exactly_stay_an_array_of_numbers():
    learner = LAKG(resolution=9).fit(np.array([[1, 1], [2, 1]]), [1, 0]).partial_fit(np.array([[2.5, 1.0]]), [1])
    assert learner.materials_.dtype == float


NUMBERS = st.integers(-9, 9) | st.sampled_from([-0.5, 0.5, 2.5, 2**62, 2**62 + 1, -(2**62)])
BATCHES = {
    "int64": (np.int64, st.integers(-9, 9) | st.sampled_from([2**62, 2**62 + 1])),
    "uint64": (np.uint64, st.integers(0, 9) | st.sampled_from([2**62 + 1, 2**63 + 1])),
    "int8": (np.int8, st.integers(-9, 9)),
    "float64": (np.float64, st.integers(-9, 9) | st.sampled_from([-0.5, 2.5, 2.0**52 + 1])),
    "float32": (np.float32, st.integers(-9, 9) | st.sampled_from([-0.5, 2.5])),
    "bool": (np.bool_, st.booleans()),
    "object": (object, NUMBERS),
}


@st.composite
def batches(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(BATCHES)), min_size=1, max_size=6))
    return [np.array(draw(st.lists(BATCHES[k][1], min_size=1, max_size=8)), dtype=BATCHES[k][0]) for k in kinds]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(batches())
@example([np.array([2**62, 2**62 + 1]), np.array([2**62 + 1], dtype=np.uint64)])
@example([np.array([2**62]), np.array([0.5]), np.array([2**62 + 1])])
def test_numbers_of_any_kinds_in_turn_are_found_as_python_compares_them(batches):
    by_hand, known, positions = {}, np.empty(0), None
    for batch in batches:
        codes, known, positions = encode(batch, known, positions)
        assert codes.tolist() == [by_hand.setdefault(value, len(by_hand)) for value in batch.tolist()]
        assert known.tolist() == list(by_hand)
        assert locate(batch, known).tolist() == codes.tolist()  # by new positions, as of a pickled learner
        again, joined, _ = encode(batches[-1], known, None)
        assert joined[again].tolist() == batches[-1].tolist()


@pytest.mark.parametrize("known", [[1, 2, 5], [5, 1, 2], ["b", "a", "c"]])
def test_positions_forget_what_came_last(known):
    more = np.array([7, 3]) if known[0] != "b" else np.array(["x", "d"])
    positions = Positions(np.array(known))
    positions.extend(more)
    assert positions.find(more[::-1]).tolist() == [4, 3]
    positions.shrink(4)
    assert (len(positions), positions.find(more).tolist()) == (4, [3, -1])
    assert positions.find(np.array(known)[::-1]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("known", [np.int64, np.int32, np.float64, np.uint16])
@pytest.mark.parametrize("given", [np.int64, np.int8, np.float64, np.float32])
def test_a_few_numbers_of_another_kind_are_found_without_a_copy_of_all_that_are_known(known, given):
    if np.dtype(known).kind == "u" and np.dtype(given).kind == "i":
        pytest.skip("numpy does not compare them exactly")
    positions, few = Positions(np.arange(50_000).astype(known)), np.array([77, -1, 14]).astype(given)
    positions.find(few)
    tracemalloc.start()
    found = positions.find(few)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.tolist(), peak < 10_000) == ([77, -1, 14], True)
