"""Whose arrays are whose: copies that nobody writes to, and arrays that an object may write to."""

from __future__ import annotations

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
