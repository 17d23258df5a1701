"""One number, one flag, one name out of several."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import numpy as np

from knapsolve._validation.messages import interval, shown

LEAST_AMOUNT = 1e-301  # of a schedule: periods of less would not be finite
DURATION = "divide it by numpy.timedelta64(1, 'h') for hours"


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
    """Return `value`, a number or an array of no dimension, as a float within the interval, or raise naming `name`."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.timedelta64, timedelta)):  # numpy's are integers of whatever unit
        raise TypeError(f"{name} must be a real number, got {shown(value)}: {DURATION}")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if operator.gt(value, 0) else -math.inf
    inside = (number > low or (not low_open and number == low)) and (
        number < high or (not high_open and number == high)
    )
    if math.isnan(number) or (finite and math.isinf(number)) or not inside:
        raise ValueError(f"{name} must be {interval(low, high, low_open, high_open, finite)}, got {shown(value)}")
    return number


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int within [low, high], or raise naming `name`."""
    if isinstance(value, (bool, np.bool_, np.timedelta64)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        allowed = f"at least {low}" if high is None else f"in [{low}, {high}]" if low is not None else f"at most {high}"
        raise ValueError(f"{name} must be an integer {allowed}, got {shown(value)}")
    return number


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`, or raise naming `name`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {sorted(choices)}, got {shown(value)}")
    if value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {shown(value)}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_progress(progress: object) -> None:
    """Raise unless `progress` is None, True, False or callable."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress must be True, False or a function of (done, total), got {progress!r}")


def check_after(start: float, stop: Any) -> float:
    """Return the moment `stop`, later than `start`, as a float."""
    moment = check_real("stop", stop)
    if not moment > start:
        raise ValueError(f"stop must be after start={start:.15g}, got {moment:.15g}")
    return moment


def check_column_key(role: str, key: Any) -> None:
    """Raise unless `key` can number or name a column; `role` is the parameter that holds it."""
    if not isinstance(key, (int, np.integer, str)):
        raise TypeError(f"{role} must be a column's number or name, got {key!r}")


def check_capacity(capacity: Any) -> float:
    """Return the capacity (polls per unit of time) as a positive float."""
    check_real("capacity", capacity, low=0, low_open=True)
    return check_real("capacity", capacity, low=1e-300, high=1e300)


def check_amount(amount: Any) -> float:
    """Return one amount of a schedule, non-negative; one too small to have a period as the least that has one."""
    amount = check_real("amount", amount, low=0, high=1e301)
    return max(amount, LEAST_AMOUNT) if amount > 0 else amount


def check_jobs(n_jobs: Any) -> None:
    """Raise unless `n_jobs` is None or an integer other than 0."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs) == 0:
        raise ValueError("n_jobs must be None, positive, or negative (that many less than the processors), got 0")


def check_kernel(name: str, kernel: Any) -> None:
    """Raise unless `kernel` is None or a kernel object as scikit-learn's."""
    needed = ("theta", "bounds", "clone_with_theta", "diag")
    if kernel is not None and (isinstance(kernel, type) or not all(hasattr(kernel, each) for each in needed)):
        raise TypeError(f"{name} must be None or a kernel of sklearn.gaussian_process.kernels, got {shown(kernel)}")
