"""What every criterion has: value, derivative, and the amount at which the derivative is a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import knapsolve._core.nefk as core
from knapsolve._validation import check_column, shown
from knapsolve.nefk.passes import Passes

CEILING = 1e250  # stands for an amount without end, so that sums stay finite
MUCH = 1e100  # times a capacity: shares of such jumps keep their digits
LARGEST = 1e140  # parameters and weights beyond this would overflow exact products


@dataclass(frozen=True, eq=False)
class Indexed:
    """A column (m,) of which entry k is values[place[k]]."""

    values: NDArray[Any]
    place: NDArray[np.uint32]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a listed column is no array until it is copied")
        entries = self.values[self.place]
        return entries if dtype is None else entries.astype(dtype, copy=False)


COLUMNS = (np.ndarray, Indexed)


def is_column(bound: Any) -> bool:
    """Whether a bound differs from item to item."""
    return isinstance(bound, COLUMNS)


def pick(values: NDArray[Any] | float, which: Any) -> Any:
    """Entries of a column (n,), by slice or positions (m,) from 0 to n - 1; one number, for all items, as it is."""
    if isinstance(values, Indexed):
        place = pick(values.place, which)
        return Indexed(values.values, place) if isinstance(which, slice) else values.values[place]
    if not isinstance(values, np.ndarray):
        return values
    if isinstance(which, slice):
        return np.ascontiguousarray(values[which])
    return values.take(which, mode="wrap")  # values[which] takes longer: it checks all positions first


def _compiled(column: Any) -> core.Column:
    """A column in the form that the kernels read."""
    return core.Column(column.values, column.place) if isinstance(column, Indexed) else core.Column(column)


def as_real(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """One number or an array of them."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must be a real number or an array of them, got {shown(values)}") from error


def check_amounts(x: NDArray[np.float64]) -> None:
    """Refuse negative amounts, and NaN."""
    if not (x >= 0).all():
        raise ValueError(f"x must be non-negative, got {shown(x[~(x >= 0)][0])}")


def check_prices(price: NDArray[np.float64]) -> None:
    """Refuse NaN."""
    if np.isnan(price).any():
        raise ValueError(f"price must not be NaN, got {shown(price[np.isnan(price)][0])}")


class Criterion:
    """A concave criterion with a closed form: a family of shapes and a parameter for each item."""

    _shape: ClassVar[int]
    _name: ClassVar[str] = "rate"
    _allowed: ClassVar[dict[str, Any]] = {"low": 0.0, "high": LARGEST}

    def __init__(self, parameter: ArrayLike) -> None:
        self._parameter = check_column(self._name, parameter, **self._allowed)

    def __repr__(self) -> str:
        shown = self._parameter if isinstance(self._parameter, float) else f"<{self._parameter.size} items>"
        return f"{type(self).__name__}({self._name}={shown})"

    def _columns(self) -> dict[str, Any]:
        """Every column of the criterion by name."""
        return {self._name: self._parameter}

    def _passes(self, problem: Any, n_jobs: int) -> Passes:
        """Who answers prices for all items of a problem."""
        bounds = problem.lower, problem.upper
        even = None if any(map(is_column, bounds)) else bounds
        return Passes(self._items_of(problem, problem.order), problem.n, n_jobs, even)

    def _items_of(self, problem: Any, order: NDArray[np.uint32] | None) -> core.Items:
        """A problem's items in some order, in the form that the kernels read."""
        columns = (self._parameter, problem.weights, problem.lower, problem.upper)
        ceiling = CEILING
        if self._shape == core.QUADRATIC and problem.capacity > 0.0:  # of linear items, amounts jump to it
            ceiling = min(ceiling, MUCH * problem.capacity)
        return core.Items(self._shape, *map(_compiled, columns), ceiling, order)

    def _take(self, which: Any) -> Criterion:
        """The criterion of some of the items."""
        return self._with(pick(self._parameter, which))

    def _with(self, parameter: NDArray[Any] | float) -> Criterion:
        """The criterion of another parameter, which is known to be allowed."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)  # copy.copy takes ten times as long
        other._parameter = parameter
        return other

    def _items(self) -> core.Items:
        """The items in the form that the kernels read, without weights or bounds."""
        columns = (core.Column(values) for values in (self._parameter, 1.0, 0.0, np.inf))
        return core.Items(self._shape, *columns, np.inf)

    def _like(self, values: ArrayLike, name: str) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """`values` stretched to one per item, and the shape of the answer."""
        given = as_real(name, values)
        own = np.shape(self._parameter)
        if given.ndim > 1:
            raise ValueError(f"{name} must be a number or one-dimensional, got shape {given.shape}")
        if own not in ((), (1,)) and given.shape not in ((), (1,), own):
            raise ValueError(f"{name} must be a number or have shape {own}, one for each item, got shape {given.shape}")
        shape = np.broadcast_shapes(given.shape, own)
        return np.ascontiguousarray(np.broadcast_to(given, shape or (1,)).ravel()), shape

    def _worth(self, amounts: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x, shape = self._like(amounts, "x")
        check_amounts(x)
        value, slope, endless = np.empty_like(x), np.empty_like(x), np.isinf(x)
        if x.size:
            core.worth(self._items(), 0, x.size, np.where(endless, CEILING, x), value, slope)
        if endless.any():
            self._set_limits(endless, value, slope)
        return value.reshape(shape), slope.reshape(shape)

    def _set_limits(self, endless: NDArray[np.bool_], value: NDArray[np.float64], slope: NDArray[np.float64]) -> None:
        """Limits of values and slopes (n,) where amounts have no end."""
        parameter = np.broadcast_to(np.asarray(self._parameter, dtype=np.float64), value.shape)[endless]
        if self._shape in (core.LOGARITHMIC, core.POWER):
            value[endless], slope[endless] = np.inf, 0.0
        elif self._shape == core.EXPONENTIAL:
            value[endless], slope[endless] = parameter > 0.0, 0.0
        elif self._shape == core.HARMONIC:
            value[endless], slope[endless] = 0.0, 0.0
        elif self._shape == core.QUADRATIC:
            value[endless] = np.where(parameter > 0.0, -np.inf, np.inf)
            slope[endless] = np.where(parameter > 0.0, -np.inf, 1.0)
        elif self._shape == core.DETECTION:
            value[endless], slope[endless] = parameter, np.isinf(parameter)
        else:
            value[endless], slope[endless] = 1.0, 0.0

    def value(self, x: ArrayLike) -> NDArray[np.float64]:
        """Value f(x) of amounts `x` (n,), in units of value."""
        return self._worth(x)[0]

    def derivative(self, x: ArrayLike) -> NDArray[np.float64]:
        """Derivative f'(x) at amounts `x` (n,), in value per unit of capacity; infinite where it is."""
        return self._worth(x)[1]

    def inverse(self, price: ArrayLike) -> NDArray[np.float64]:
        """Amounts x (n,) at which f'(x) is `price`; 0 where the price is above f'(0)."""
        prices, shape = self._like(price, "price")
        if not np.isfinite(prices).all():
            raise ValueError(f"price must be finite, got {shown(prices[~np.isfinite(prices)][0])}")
        x = np.empty_like(prices)
        if x.size:
            core.respond(self._items(), core.Column(prices), 0, x.size, x)
        return x.reshape(shape)
