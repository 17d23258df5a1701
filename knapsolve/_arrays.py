"""Whose arrays are whose: copies that nobody writes to, and arrays that an object may write to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a copy for reading alone."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def writeable(value: Any) -> Any:
    """Return `value` with copies of the arrays, in tuples and lists too, that are mapped from a file for reading."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.array(value)
    if type(value) in (tuple, list):
        return type(value)(writeable(each) for each in value)
    return value


def has_rows(arrays: dict[str, Any], n: int, axes: Mapping[str, int | None]) -> bool:
    """Whether all are whole arrays of n rows or more, along the axes that `set_aside` takes."""
    places = ((array, axes.get(name, 0)) for name, array in arrays.items())
    return all(
        isinstance(array, np.ndarray)
        and array.flags.c_contiguous
        and (axis is None or array.shape[axis : axis + 1] >= (n,))
        for array, axis in places
    )


def set_aside(arrays: dict[str, np.ndarray], rows: np.ndarray, axes: Mapping[str, int | None]) -> Callable[[], None]:
    """Copies of some rows of arrays, which the call puts back; rows lie along axis 0, or `axes` says (None: all)."""
    parts: list[tuple[np.ndarray, Any, np.ndarray]] = []
    for name, array in arrays.items():
        axis = axes.get(name, 0)
        place: Any = ... if axis is None else (slice(None),) * axis + (rows,)
        parts.append((array, place, array[place].copy()))

    def put_back() -> None:
        for array, place, values in parts:
            array[place] = values

    return put_back
