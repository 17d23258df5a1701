"""Logs of polls and of crawls: who was asked, how long after the last time, and what was found."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

from knapsolve import _frames
from knapsolve._validation.arrays import check_vector, check_whole, refuse_masks, refuse_stamps
from knapsolve._validation.messages import calls_from_outside, shown

SAME = {"material": ("item",)}  # other names of a column
MOMENTS = ("time", "timestamp", "date")


def check_poll_log(X: Any, y: Any, material: int | str, elapsed: int | str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the material column, elapsed (n_polls,) float64 and changed (n_polls,) int8 of a poll log."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: y must say 0 or 1 for each poll")
    materials, gaps = check_poll_columns(X, material, elapsed)
    return materials, gaps, _check_changed(y, gaps.size)


def check_poll_columns(X: Any, material: int | str, elapsed: int | str) -> tuple[Any, np.ndarray]:
    """Return the material column and elapsed (n_polls,) float64 of polls."""
    if not _frames.is_frame(X):
        X = _check_log_array(X)
    n_polls, n_columns = X.shape[0], X.shape[1]
    if n_columns < 2:
        raise ValueError(
            f"X must have a material and an elapsed column, got {n_columns} feature(s) "
            f"(shape=({n_polls}, {n_columns})) while a minimum of 2 is required."
        )
    if n_polls == 0:
        raise ValueError("X must hold at least one poll, got 0 sample(s) while a minimum of 1 is required.")
    _warn_of_names(X, material=material, elapsed=elapsed)
    gaps = _check_elapsed(np.asarray(_frames.take_column(X, elapsed, "elapsed")))
    materials = _frames.take_column(X, material, "material")
    if _place(X, material) == _place(X, elapsed):
        raise ValueError(f"material and elapsed must be different columns, got {material!r} and {elapsed!r}")
    if np.asarray(materials).dtype.kind == "f" and not np.isfinite(np.asarray(materials)).all():
        raise ValueError("material must not hold NaN or infinity (missing or infinite identifiers)")
    return materials, gaps


def _place(X: Any, key: int | str) -> int:
    """The position of a column that there is."""
    names = _frames.column_names(X) if _frames.is_frame(X) else []
    return names.index(key) if key in names else int(key) % X.shape[1]


def _warn_of_names(X: Any, **keys: int | str) -> None:
    """Say so where a data frame's names make it doubtful that the columns taken by number are meant."""
    if not _frames.is_frame(X):
        return
    names = _frames.column_names(X)
    for role, key in keys.items():
        if not isinstance(key, (int, np.integer)) or key in names or not -len(names) <= key < len(names):
            continue
        taken, doubt = names[key], ""
        better = next((name for name in (role, *SAME.get(role, ())) if name in names), taken)
        if better != taken:
            doubt = f"not {better!r}: if that is meant, say {role}={better!r}"
        elif role == "elapsed" and taken in MOMENTS:
            doubt = "which must hold how long ago each material's previous poll was, not when a poll was"
        if doubt:
            warnings.warn(f"{role}={key} takes the column {taken!r} of X, {doubt}", stacklevel=calls_from_outside())


def check_material_numbers(values: np.ndarray, n: int) -> np.ndarray:
    """Identifiers that are the integers 0 to n - 1 as indices, or raise."""
    try:
        indices = values.astype(np.intp)
        good = (indices == values) & (indices >= 0) & (indices < n)
    except (TypeError, ValueError) as error:
        raise TypeError(f"material must hold integers in [0, {n - 1}] when n_materials={n} is given") from error
    if not good.all():
        where = int(np.argmin(good))
        raise ValueError(
            f"material must be an integer in [0, {n - 1}] when n_materials={n} is given, got {shown(values[where])}"
        )
    return indices


def check_crawl_log(X: Any, y: Any, material: int | str, elapsed: int | str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the site column, ages (n_crawls,) and contents (n_crawls,) of a log of crawls."""
    outcomes = None if y is None else np.zeros(np.shape(y))
    materials, ages, _ = check_poll_log(X, outcomes, material, elapsed)
    contents = np.asarray(y)
    if contents.ndim == 2:
        contents = contents.ravel()
    if contents.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold real contents")
    contents = check_vector("y (content collected)", contents, size=ages.size, low=0.0, high=1e50)
    check_vector("elapsed (age)", ages, high=2.0**53)
    return materials, check_whole("elapsed (age)", ages), contents


def _check_elapsed(values: np.ndarray) -> np.ndarray:
    try:
        gaps = check_vector("elapsed", values, low=-math.inf)
    except ValueError as error:
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError(f"{error}: the first poll of a material has none, leave it out") from None
        raise
    if (gaps < 0).any():
        where = int(np.argmax(gaps < 0))
        raise ValueError(
            "Negative values in data: elapsed must be finite and non-negative, "
            f"got {shown(gaps[where])} at position {where}"
        )
    return gaps


def _check_log_array(X: Any) -> np.ndarray:
    if scipy.sparse.issparse(X):
        raise TypeError("X must be dense: sparse data was passed, convert it by X.toarray()")
    refuse_masks("X", X)
    array = np.asarray(_frames.as_table(X))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold identifiers and real elapsed times")
    if array.ndim != 2:
        raise ValueError(f"X must be 2-dimensional (n_polls, 2+), got shape {array.shape}. Reshape your data")
    return array


def _check_changed(y: Any, n_polls: int) -> np.ndarray:
    refuse_masks("y", y)
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=5)
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {values.shape}")
    if values.size != n_polls:
        raise ValueError(f"y must have one entry for each of the {n_polls} polls in X, got {values.size}")
    if values.dtype.kind in "mM":
        refuse_stamps("y", values)
    try:
        good = (values == 0) | (values == 1)
    except TypeError:  # some compare with nothing
        good = np.fromiter(map(_is_flag, values), dtype=bool, count=values.size)
    if not np.all(good):
        where = int(np.argmin(good))
        note = " (NaN or infinity)" if values.dtype.kind == "f" and not np.isfinite(values[where]) else ""
        raise ValueError(
            f"y must be 0 (unchanged) or 1 (changed){note}, got {shown(values[where])} at position {where}"
        )
    return np.ascontiguousarray(values, dtype=np.int8)


def _is_flag(value: Any) -> bool:
    try:
        return bool(value == 0 or value == 1)
    except (TypeError, ValueError):  # pandas.NA is neither, nor not
        return False
