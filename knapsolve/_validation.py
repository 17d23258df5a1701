"""Every check of public input lives here; inner code trusts what passed.

Each function returns the checked value in the form the kernels want, or raises a
ValueError or TypeError that names the parameter, the offending value and what is allowed.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np


def check_real(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    finite: bool = True,
) -> float:
    """Return `value` as a float within the interval, or raise naming `name`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(value)
    inside = (number > low or (not low_open and number == low)) and (
        number < high or (not high_open and number == high)
    )
    if math.isnan(number) or (finite and math.isinf(number)) or not inside:
        raise ValueError(f"{name} must be {_interval(low, high, low_open, high_open, finite)}, got {value!r}")
    return number


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int within [low, high], or raise naming `name`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        allowed = f"at least {low}" if high is None else f"in [{low}, {high}]" if low is not None else f"at most {high}"
        raise ValueError(f"{name} must be an integer {allowed}, got {value!r}")
    return number


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`, or raise naming `name`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {sorted(choices)}, got {value!r}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {value!r}")
    return value


def check_vector(
    name: str,
    values: Any,
    *,
    size: int | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    finite: bool = True,
    dtype: Any = np.float64,
) -> np.ndarray:
    """Return `values` as a C-contiguous vector (size,) within the interval, or raise naming `name`."""
    try:
        vector = np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of real numbers, got {type(values).__name__}") from error
    if vector.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} must have {size} entries, got {vector.size}")
    above = vector > low if low_open else vector >= low
    below = vector < high if high_open else vector <= high
    good = above & below
    if finite:
        good &= np.isfinite(vector)
    if not good.all():
        where = int(np.argmin(good))
        allowed = _interval(low, high, low_open, high_open, finite)
        raise ValueError(f"{name} must be {allowed}, got {vector[where]!r} at position {where}")
    return vector


def resolve_random_state(random_state: Any) -> np.random.Generator:
    """Return the Generator that `random_state` (None, int, RandomState, Generator, ...) stands for.

    A Generator is used as it is, so that it goes on; a RandomState shares its bit generator.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    if random_state is not None and not isinstance(random_state, np.random.SeedSequence):
        random_state = check_integer("random_state", random_state, low=0)
    return np.random.default_rng(random_state)


def _interval(low: float, high: float, low_open: bool, high_open: bool, finite: bool) -> str:
    """Say in words which interval is allowed."""
    prefix = "finite and " if finite else ""
    if low == 0 and high == math.inf:
        return prefix + ("positive" if low_open else "non-negative")
    if high == math.inf and low == -math.inf:
        return "finite" if finite else "a number"
    if high == math.inf:
        return f"{prefix}{'greater than' if low_open else 'at least'} {low:g}"
    if low == -math.inf:
        return f"{prefix}{'less than' if high_open else 'at most'} {high:g}"
    return f"in {'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"


def check_column(
    name: str,
    values: Any,
    *,
    size: int | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    or_infinite: bool = False,
) -> float | np.ndarray:
    """Return one number as a float, an array as a contiguous float64 or float32 vector, or raise naming `name`.

    Unlike `check_vector` it makes no temporary arrays as long as the column, and keeps float32 as it is.
    """
    if np.ndim(values) == 0 and not isinstance(values, np.ndarray):
        if or_infinite and isinstance(values, float) and values == math.inf:
            return math.inf
        return check_real(name, values, low=low, high=high, low_open=low_open, high_open=high_open)
    dtype = np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64
    try:
        vector = np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number or an array of numbers, got {type(values).__name__}") from error
    if vector.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} must have {size} entries, got {vector.size}")
    low, high = np.float64(low), np.float64(high)  # so that a float32 column is compared in double
    for start in range(0, vector.size, 65536):
        part = vector[start : start + 65536]
        good = (part > low if low_open else part >= low) & (part < high if high_open else part <= high)
        if or_infinite:
            good |= part == math.inf
        if not good.all():
            where = int(np.argmin(good))
            allowed = _interval(low, high, low_open, high_open, True) + (" or infinite" if or_infinite else "")
            raise ValueError(f"{name} must be {allowed}, got {part[where]!r} at position {start + where}")
    return vector
