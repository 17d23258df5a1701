"""Vectors and arrays of numbers."""

from __future__ import annotations

import math
import numbers
from datetime import date, timedelta
from typing import Any

import numpy as np

from knapsolve._core.threads import work_through
from knapsolve._validation.messages import interval, shown
from knapsolve._validation.scalars import LEAST_AMOUNT, check_real

DURATIONS = (np.timedelta64, timedelta)
DATES = (np.datetime64, date)
TEXTS = (str, bytes)
PART, MANY = 65536, 1 << 21  # entries of a column that are looked at at once, and of which threads take a share
PER_HOUR = "of intervals, numpy.timedelta64(1, 'h') / interval is how often an hour"


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
    refuse_masks(name, values)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufOUS" or _stamps(given):
            raise TypeError(f"its type is {given.dtype}")
        vector = given.astype(dtype, order="C", copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        refuse_stamps(name, values)
        raise TypeError(f"{name} must be an array of real numbers, got {_culprit(values, error)}") from error
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
        allowed = interval(low, high, low_open, high_open, finite)
        raise ValueError(f"{name} must be {allowed}, got {shown(vector[where])} at position {where}")
    return vector


def refuse_stamps(name: str, values: Any, are_rates: bool = False) -> None:
    """Raise on durations and dates: as numbers they would count in whatever unit they are stored in."""
    try:
        given = np.asarray(values)
        kind = _stamps(given)
    except (TypeError, ValueError, OverflowError):  # they are wrong otherwise
        return
    if kind is not None:
        what = str(given.dtype)
        if given.dtype == object:
            place = next(k for k, value in enumerate(given.ravel().tolist()) if isinstance(value, kind))
            what = f"{shown(given.ravel()[place])} at position {place}"
        how = "divide them by" if issubclass(kind, DURATIONS) else "take the times between them, divided by"
        advice = PER_HOUR if are_rates else f"{how} numpy.timedelta64(1, 'h') for hours"
        raise TypeError(f"{name} must be real numbers, got {what}: {advice}")


def _stamps(values: np.ndarray) -> type | None:
    """The kind of durations or dates that are among the values."""
    kinds = {values.dtype.type} if values.dtype != object else set(map(type, values.ravel().tolist()))
    return next((kind for kind in kinds if issubclass(kind, DURATIONS + DATES)), None)


def refuse_texts(name: str, values: Any) -> None:
    """Raise on texts in place of numbers, perhaps of digits: they come of a column that is not what it is taken for."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return
    given = np.asarray(values, dtype=object).ravel().tolist()
    place = next((k for k, value in enumerate(given) if isinstance(value, TEXTS)), None)
    if place is not None:
        raise TypeError(f"{name} must be real numbers, got {shown(given[place])} at position {place}")


def _has_texts(values: np.ndarray) -> bool:
    """Whether texts are among the values, perhaps of digits."""
    return values.dtype.kind in "US" or (values.dtype == object and any(isinstance(x, TEXTS) for x in values.flat))


def _culprit(values: Any, error: Exception) -> str:
    """Which entry is no number, or a text, or else what the values are and why that is wrong."""
    entries = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "OUS" else values
    for is_wrong in (_is_no_number, lambda value: isinstance(value, TEXTS)):
        for place, value in enumerate(entries if isinstance(entries, list) else ()):
            if is_wrong(value):
                return f"{shown(value)} at position {place}"
    return f"{type(values).__name__}: {error}"


def _is_no_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return True
    return False


def check_array(name: str, values: Any) -> np.ndarray:
    """Return `values` as a C-contiguous float64 array of any shape, or raise naming `name`."""
    refuse_masks(name, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" and array.dtype != object:
            raise TypeError(f"dtype {array.dtype}")
        shape = array.shape
        return np.ascontiguousarray(array, dtype=np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a real number or an array of them, got {shown(values)}") from error


def check_whole(name: str, values: Any, *, low: float = 0.0, finite: bool = True) -> np.ndarray:
    """Return `values` as a float64 vector of whole numbers of at least `low`, or raise naming `name`."""
    vector = check_vector(name, values, low=low, finite=finite)
    broken = np.flatnonzero(vector != np.floor(vector))
    if broken.size:
        raise ValueError(f"{name} must be whole, got {shown(vector[broken[0]])} at position {broken[0]}")
    return vector


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
    n_jobs: int = 1,
) -> float | np.ndarray:
    """Return one number as a float, an array as a contiguous float64 or float32 vector, or raise naming `name`.

    Unlike `check_vector` it makes no temporary arrays as long as the column, and keeps float32 as it is.
    """
    refuse_masks(name, values)
    if _is_one(values):
        value = values.item() if isinstance(values, np.ndarray) else values
        return _check_one(name, value, or_infinite, low=low, high=high, low_open=low_open, high_open=high_open)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO" or _stamps(given) or _has_texts(given):
            raise TypeError(f"its type is {given.dtype}")
        vector = np.ascontiguousarray(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        refuse_stamps(name, values, are_rates=True)
        raise TypeError(f"{name} must be a number or an array of numbers, got {_culprit(values, error)}") from error
    if vector.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {vector.shape}")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} must have {size} entries, got {vector.size}")
    low, high = np.float64(low), np.float64(high)  # so that a float32 column is compared in double
    is_plain = vector.dtype == np.float64 and low == 0.0 < high and not (low_open or high_open)

    def first_bad(start: int) -> int:
        """Position of the first entry of a part that is not allowed, -1 if all are."""
        part = vector[start : start + PART]
        if is_plain and part.view(np.uint64).max() <= high.view(np.uint64):
            return -1  # bits of numbers from 0 up are in their order; those of -0 and of all others are above
        good = (part > low if low_open else part >= low) & (part < high if high_open else part <= high)
        if or_infinite:
            good |= part == math.inf
        return -1 if good.all() else start + int(np.argmin(good))

    starts = range(0, vector.size, PART)
    found = work_through(first_bad, starts, n_jobs) if vector.size >= MANY and n_jobs > 1 else map(first_bad, starts)
    where = next((k for k in found if k >= 0), -1)
    if where >= 0:
        allowed = interval(low, high, low_open, high_open, True) + (" or infinite" if or_infinite else "")
        raise ValueError(f"{name} must be {allowed}, got {shown(vector[where])} at position {where}")
    return vector


def _is_one(values: Any) -> bool:
    """Whether this is no array, nor like one."""
    try:
        return np.ndim(values) == 0
    except ValueError:  # lists of several lengths
        return False


def _check_one(name: str, value: Any, or_infinite: bool, **allowed: Any) -> float:
    """One number for a column, or raise naming `name`."""
    if isinstance(value, DURATIONS):
        raise TypeError(f"{name} must be real numbers, got {shown(value)}: {PER_HOUR}")
    if or_infinite and isinstance(value, float) and value == math.inf:
        return math.inf
    if or_infinite and isinstance(value, numbers.Real):
        try:
            return check_real(name, value, **allowed)
        except ValueError as error:
            raise ValueError(str(error).replace(", got ", " or infinite, got ", 1)) from None
    if isinstance(value, str):
        raise TypeError(f"{name} must be a number or an array of numbers, got {shown(value)}")
    return check_real(name, value, **allowed)


def check_same_length(**columns: Any) -> None:
    """Raise unless two columns, passed by name, have one length."""
    (first, a), (second, b) = columns.items()
    if len(a) != len(b):
        raise ValueError(f"{first} and {second} must have the same length, got {len(a)} and {len(b)}")


def check_amounts(amounts: Any) -> np.ndarray:
    """Return a copy of the amounts (n_materials,), non-negative and not all zero, as check_amount takes each."""
    vector = check_vector("amounts", amounts, low=0).copy()
    if not (vector > 0).any():
        raise ValueError(f"amounts must hold at least one positive number, got {vector.size} zeros")
    with np.errstate(over="ignore"):
        check_real("the sum of amounts", vector.sum(), low=LEAST_AMOUNT, high=1e301)
    vector[(vector > 0) & (vector < LEAST_AMOUNT)] = LEAST_AMOUNT
    return vector


def check_states(states: np.ndarray, resolution: int) -> None:
    """Raise if automata stand in states that they no longer have."""
    if states.size and states.max() > resolution:
        raise ValueError(f"resolution must be at least {states.max()}, a state held, got {resolution}")


def refuse_masks(name: str, values: Any, remedy: str = "") -> None:
    """Raise on masked entries: as a plain array they would count with what lies beneath the mask."""
    if np.ma.is_masked(values):
        first = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(values))[0].tolist()))
        where = (f", the first at position {first}" if first else "") + remedy
        raise ValueError(f"{name} must not be masked, got {np.ma.count_masked(values)} masked entries{where}")
