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
        raise ValueError(
            f"{role}={key!r} names a column, but X is an array: give a column number or a data frame"
        )
    if not -X.shape[1] <= key < X.shape[1]:
        raise ValueError(f"{role} must number a column of X, got {key!r}; X has {X.shape[1]} columns")
    return X[:, key]
