"""A criterion by a table of its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

import knapsolve._core.nefk as core
from knapsolve._validation import check_vector, shown
from knapsolve.nefk.array_passes import ArrayPasses
from knapsolve.nefk.criterion import Criterion, as_real, check_amounts, check_prices

Array = NDArray[np.float64]


class Tabulated(Criterion):
    """A derivative known on a grid: made non-increasing, straight between grid points, level before the first.

    Parameters
    ----------
    grid : array-like of shape (m,)
        Increasing amounts, the first not negative. No item can take more than the last.
    values : array-like of shape (m,) or (n, m)
        f' at the grid points, of all items or of each. Where it rises, neighbours are pooled to their mean
        (isotonic regression by pooling adjacent violators).

    Notes
    -----
    Pooled pieces are level: items whose level pieces meet the price share in proportion to their lengths. Where all
    take the last amount, the price is minus infinity, or 0 if capacity may be left over.

    References
    ----------
    R. E. Barlow et al., "Statistical Inference under Order Restrictions", Wiley (1972).

    Examples
    --------
    >>> from knapsolve.criteria import Tabulated
    >>> float(Tabulated([0.0, 1.0, 2.0], [3.0, 1.0, 0.0]).inverse(2.0))
    0.5
    """

    _shape = core.QUADRATIC  # its total is piecewise linear in the price, which may be negative

    def __init__(self, grid: ArrayLike, values: ArrayLike) -> None:
        self._grid = check_vector("grid", grid, low=0.0)
        if self._grid.size < 2 or not (np.diff(self._grid) > 0).all():
            raise ValueError(f"grid must be at least two increasing amounts, got {grid!r}")
        given = np.asarray(values, dtype=np.float64)
        if given.ndim not in (1, 2) or given.shape[-1] != self._grid.size:
            raise ValueError(f"values must have shape (m,) or (n, m) with m = {self._grid.size}, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"values must be finite, got {shown(given[~np.isfinite(given)][0])}")
        rows = np.array(np.atleast_2d(given))
        for row in np.flatnonzero((np.diff(rows, axis=1) > 0).any(axis=1)):
            rows[row] = isotonic_regression(rows[row], increasing=False).x
        self._rows = rows
        pieces = 0.5 * (rows[:, 1:] + rows[:, :-1]) * np.diff(self._grid)
        first = rows[:, :1] * self._grid[0]
        self._integral = np.concatenate([first, first + np.cumsum(pieces, axis=1)], axis=1)
        self._single = given.ndim == 1

    def __repr__(self) -> str:
        return f"Tabulated(<{self._grid.size} points>, <{1 if self._single else len(self._rows)} items>)"

    def _passes(self, problem: Any, n_jobs: int) -> Any:
        return ArrayPasses(problem)

    @property
    def limit(self) -> float:
        """The largest amount an item can take."""
        return float(self._grid[-1])

    def _columns(self) -> dict[str, Any]:
        return {} if self._single else {"values": self._rows}

    def _spread(self, values: ArrayLike, name: str) -> tuple[Array, tuple[int, ...], Any]:
        given = as_real(name, values)
        shape = given.shape if self._single else np.broadcast_shapes(given.shape, (len(self._rows),))
        if len(shape) > 1:
            raise ValueError(f"{name} must be a number or one-dimensional, got shape {given.shape}")
        flat = np.broadcast_to(given, shape).ravel()
        return flat, shape, np.zeros(flat.size, dtype=np.intp) if self._single else np.arange(flat.size)

    def _amounts(self, x: ArrayLike) -> tuple[Array, tuple[int, ...], Any]:
        spread = self._spread(x, "x")
        check_amounts(spread[0])
        return spread

    def _piece(self, x: Array, row: Any) -> tuple[Any, Array, Array]:
        """Index of the grid point before x (clipped), the distance past it and the slope of f' after it."""
        k = np.clip(np.searchsorted(self._grid, x, side="right") - 1, 0, self._grid.size - 2)
        tilt = (self._rows[row, k + 1] - self._rows[row, k]) / (self._grid[k + 1] - self._grid[k])
        return k, np.maximum(x - self._grid[k], 0.0), tilt

    def value(self, x: ArrayLike) -> Array:
        """Value f(x), the integral of the derivative from 0; -inf beyond the grid."""
        x, shape, row = self._amounts(x)
        k, past, tilt = self._piece(x, row)
        past = np.minimum(past, self.limit)  # beyond the grid it does not count
        inside = self._integral[row, k] + past * (self._rows[row, k] + 0.5 * tilt * past)
        inside = np.where(x < self._grid[0], self._rows[row, 0] * x, inside)
        return np.where(x > self.limit, -np.inf, inside).reshape(shape)

    def derivative(self, x: ArrayLike) -> Array:
        """Derivative f'(x) after pooling; -inf beyond the grid."""
        x, shape, row = self._amounts(x)
        k, past, tilt = self._piece(x, row)
        inside = np.where(x < self._grid[0], self._rows[row, 0], self._rows[row, k] + tilt * past)
        return np.where(x > self.limit, -np.inf, inside).reshape(shape)

    def inverse(self, price: ArrayLike) -> Array:
        """Largest amounts up to which f' is above `price`."""
        price, shape, _ = self._spread(price, "price")
        check_prices(price)
        return self._answer(price)[0].reshape(shape)

    def _answer(self, price: Array) -> tuple[Array, Array]:
        """Amounts (n,) at prices (n,), and -dx/dprice (n,)."""
        row = np.zeros(price.size, dtype=np.intp) if self._single else np.arange(price.size)
        m = self._grid.size
        if self._single:
            above = m - np.searchsorted(self._rows[0, ::-1], price, side="right")
        else:
            above = (self._rows > price[:, None]).sum(axis=1)
        k = np.clip(above, 1, m - 1)
        fall = self._rows[row, k - 1] - self._rows[row, k]
        inside = (above > 0) & (above < m)
        slope = np.where(inside, (self._grid[k] - self._grid[k - 1]) / np.where(inside, fall, 1.0), 0.0)
        past = np.where(inside, self._rows[row, k - 1] - price, 0.0)
        x = np.minimum(self._grid[k - 1] + past * slope, self._grid[k])
        return np.where(above == 0, 0.0, np.where(above == m, self.limit, x)), slope
