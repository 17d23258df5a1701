"""Columns out of arrays and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_frame(X: Any) -> bool:
    """Whether `X` is a data frame (pandas, polars, pyarrow): it has named columns."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "__getitem__"))


def column_names(X: Any) -> list[Any]:
    """Names of a data frame's columns."""
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def as_table(X: Any) -> Any:
    """A data frame or an array as it is; rows in lists as an array, or ValueError where they are not equally long."""
    if is_frame(X) and not isinstance(getattr(X, "shape", (None,))[0], int):  # polars and dask say nothing or a promise
        raise TypeError(f"X must be in memory, got {type(X).__module__}.{type(X).__name__}: collect or compute it")
    if is_frame(X) or hasattr(X, "shape"):
        return X
    try:
        return np.asarray(X)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
        row = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
        got = "" if row is None else f", got {lengths[0]} in row 0 and {lengths[row]} in row {row}"
        raise ValueError(f"X must have a single value in each column, equally many columns in each row{got}") from None


def take_column(X: Any, key: int | str, role: str) -> Any:
    """The column of `X` that `key` (an index or a name) says; `role` is the parameter named in errors."""
    if is_frame(X):
        names = column_names(X)
        if key in names:
            return X[key]
        if isinstance(key, (int, np.integer)) and -len(names) <= key < len(names):
            return X[names[key]]
        raise ValueError(f"{role} must name or number a column of X, got {key!r}; X has {names}")
    if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
        raise ValueError(f"{role}={key!r} names a column, but X is an array: give a column number or a data frame")
    if not -X.shape[1] <= key < X.shape[1]:
        raise ValueError(f"{role} must number a column of X, got {key!r}; X has {X.shape[1]} columns")
    return X[:, key]
