"""Every check of public input lives here; inner code trusts what passed.

Each function returns the checked value in the form the kernels want, or raises a
ValueError or TypeError that names the parameter, the offending value and what is allowed.
"""

from __future__ import annotations

import math
import numbers
import operator
import warnings
from collections.abc import Collection
from typing import Any, cast

import numpy as np
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

from knapsolve import _frames


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
        raise TypeError(f"{name} must be a real number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if operator.gt(value, 0) else -math.inf
    inside = (number > low or (not low_open and number == low)) and (
        number < high or (not high_open and number == high)
    )
    if math.isnan(number) or (finite and math.isinf(number)) or not inside:
        raise ValueError(f"{name} must be {_interval(low, high, low_open, high_open, finite)}, got {shown(value)}")
    return number


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int within [low, high], or raise naming `name`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        allowed = (
            f"at least {low}"
            if high is None
            else f"in [{low}, {high}]"
            if low is not None
            else f"at most {high}"
        )
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


def check_kernel(name: str, kernel: Any) -> None:
    """Raise unless `kernel` is None or a kernel object as scikit-learn's."""
    needed = ("theta", "bounds", "clone_with_theta", "diag")
    if kernel is not None and (isinstance(kernel, type) or not all(hasattr(kernel, each) for each in needed)):
        raise TypeError(f"{name} must be None or a kernel of sklearn.gaussian_process.kernels, got {shown(kernel)}")


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
    _refuse_masks(name, values)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufOUS":
            raise TypeError(f"its type is {given.dtype}")
        vector = given.astype(dtype, order="C", copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must be an array of real numbers, got {type(values).__name__}: {error}"
        ) from error
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
        raise ValueError(f"{name} must be {allowed}, got {shown(vector[where])} at position {where}")
    return vector


def check_array(name: str, values: Any) -> np.ndarray:
    """Return `values` as a C-contiguous float64 array of any shape, or raise naming `name`."""
    _refuse_masks(name, values)
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


def check_sites(
    arrival_rate: Any, decay_rate: Any, max_age: Any, *, plural: str = ""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrival rates, decay rates and maximum ages as vectors (n_sites,), or raise naming one."""
    arrival, decay = f"arrival_rate{plural}", f"decay_rate{plural}"
    rates = check_vector(arrival, arrival_rate, low=0.0)
    if rates.size == 0:
        raise ValueError(f"{arrival} must have at least one entry, got none")
    decays = check_vector(decay, decay_rate, size=rates.size, low=0.0, low_open=True)
    limits = np.asarray(max_age)
    if limits.ndim == 0:
        limits = limits[None]
    limits = check_whole("max_age", limits, low=1.0, finite=False)
    if limits.size not in (1, rates.size):
        raise ValueError(f"max_age must have 1 or {rates.size} entries, got {limits.size}")
    with np.errstate(over="ignore"):
        ceiling = rates / decays
    if not np.isfinite(ceiling).all():
        worst = int(np.argmin(np.isfinite(ceiling)))
        raise ValueError(
            f"{arrival} / {decay} must be within the floating-point range, got {shown(rates[worst])} / "
            f"{shown(decays[worst])} at position {worst}"
        )
    if rates.size >= 2**31:
        raise ValueError(f"{arrival} must have fewer than 2**31 entries, got {rates.size}")
    return rates, decays, np.ascontiguousarray(np.broadcast_to(limits, rates.shape))


def check_site_numbers(name: str, values: Any, n_sites: int) -> np.ndarray:
    """Return `values` as distinct int32 site numbers below n_sites, or raise naming `name`."""
    numbers = np.asarray(values)
    if numbers.size == 0:
        return np.empty(0, dtype=np.int32)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an array of site numbers, got dtype {numbers.dtype}")
    check_vector(name, numbers, low=0, high=n_sites - 1)
    if np.unique(numbers).size != numbers.size:
        raise ValueError(f"{name} must be distinct, got {shown(values)}")
    return np.ascontiguousarray(numbers, dtype=np.int32)


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


def resolve_seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the root that streams are spawned from; a Generator or RandomState spends 128 bits on it."""
    generator = resolve_random_state(random_state)
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return np.random.SeedSequence(generator.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    return cast(np.random.SeedSequence, generator.bit_generator.seed_seq)


def _refuse_masks(name: str, values: Any) -> None:
    """Raise on masked entries: as a plain array they would count with what lies beneath the mask."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked, got {np.ma.count_masked(values)} masked entries")


def shown(value: Any) -> str:
    """A value as it stands in an error message: numpy's scalars as Python's, long ones cut short."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}..."


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


def check_capacity(capacity: Any) -> float:
    """Return the capacity (polls per unit of time) as a positive float."""
    check_real("capacity", capacity, low=0, low_open=True)
    return check_real("capacity", capacity, low=1e-300, high=1e300)


def check_amounts(amounts: Any) -> np.ndarray:
    """Return a copy of the amounts (n_materials,), non-negative and not all zero."""
    vector = check_vector("amounts", amounts, low=0).copy()
    if not (vector > 0).any():
        raise ValueError(f"amounts must hold at least one positive number, got {vector.size} zeros")
    with np.errstate(over="ignore"):
        check_real("the sum of amounts", vector.sum(), low=1e-301, high=1e301)
    return vector


def check_amount(amount: Any) -> float:
    """Return one amount of a schedule, non-negative."""
    return check_real("amount", amount, low=0, high=1e301)


def check_states(states: np.ndarray, resolution: int) -> None:
    """Raise if automata stand in states that they no longer have."""
    if states.size and states.max() > resolution:
        raise ValueError(f"resolution must be at least {states.max()}, a state held, got {resolution}")


def check_jobs(n_jobs: Any) -> None:
    """Raise unless `n_jobs` is None or an integer other than 0."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs) == 0:
        raise ValueError(
            "n_jobs must be None, positive, or negative (that many less than the processors), got 0"
        )


def check_poll_log(
    X: Any, y: Any, material: int | str, elapsed: int | str
) -> tuple[Any, np.ndarray, np.ndarray]:
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
    gaps = _check_elapsed(np.asarray(_frames.take_column(X, elapsed, "elapsed")))
    materials = _frames.take_column(X, material, "material")
    if np.asarray(materials).dtype.kind == "f" and not np.isfinite(np.asarray(materials)).all():
        raise ValueError("material must not hold NaN or infinity (missing or infinite identifiers)")
    return materials, gaps


def _check_elapsed(values: np.ndarray) -> np.ndarray:
    gaps = check_vector("elapsed", values, low=-math.inf)
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
    array = np.asarray(_frames.as_table(X))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold identifiers and real elapsed times")
    if array.ndim != 2:
        raise ValueError(f"X must be 2-dimensional (n_polls, 2+), got shape {array.shape}. Reshape your data")
    return array


def check_crawl_log(
    X: Any, y: Any, material: int | str, elapsed: int | str
) -> tuple[Any, np.ndarray, np.ndarray]:
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


def _check_changed(y: Any, n_polls: int) -> np.ndarray:
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected", DataConversionWarning, stacklevel=5
        )
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {values.shape}")
    if values.size != n_polls:
        raise ValueError(f"y must have one entry for each of the {n_polls} polls in X, got {values.size}")
    try:
        good = (values == 0) | (values == 1)
    except TypeError:
        good = np.zeros(values.shape, dtype=bool)
    if not np.all(good):
        where = int(np.argmin(good))
        note = " (NaN or infinity)" if values.dtype.kind == "f" and not np.isfinite(values[where]) else ""
        raise ValueError(
            f"y must be 0 (unchanged) or 1 (changed){note}, got {shown(values[where])} at position {where}"
        )
    return np.ascontiguousarray(values, dtype=np.int8)


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
            raise ValueError(f"{name} must be {allowed}, got {shown(part[where])} at position {start + where}")
    return vector
