"""A criterion by any vectorised derivative."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import knapsolve._core.nefk as core
from knapsolve._validation import shown
from knapsolve.nefk.array_passes import ArrayPasses
from knapsolve.nefk.criterion import Criterion, as_real, check_amounts, check_prices

Array = NDArray[np.float64]
FIRST_NODE, SPACING, NODES = -3.75, 0.125, 5990  # of the quadrature, as far as amounts have doubles
LONGEST, ROUNDING = 100.0, 1e-17  # how much longer than a term what is left may go on; of a sum, that is nothing
HALVINGS = 200  # more than the order of doubles has
PROBES = (1 / 64, 1 / 8, 1.0, 8.0, 64.0)  # amounts over an even share at which derivatives must not have risen
FURTHEST = 1e300  # amount at which a derivative is looked at
RISE, LEAST_RISE = 1e-4, 1e-6  # which rounding may do, over the derivative there and at first


class FromDerivative(Criterion):
    """Any concave criterion, by its derivative.

    Parameters
    ----------
    function : callable
        f'(x) of amounts x (n,), one per item: non-increasing in each, infinite at 0 if need be. Looked at before a
        solve at a few amounts between the bounds: a ValueError says where it rises.
    value : callable, default=None
        f(x) of amounts x (n,); by default the integral of the derivative from 0.

    Notes
    -----
    The slow path: each price takes some tens of calls of the function.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.criteria import FromDerivative
    >>> FromDerivative(lambda x: 1.0 / (1.0 + x)).inverse(np.array([0.5, 0.25])).round(12)
    array([1., 3.])
    """

    _shape = core.QUADRATIC
    limit = np.inf

    def __init__(self, function: Callable[[Array], Array], value: Callable[[Array], Array] | None = None) -> None:
        for name, given in (("function", function), ("value", value)):
            if not callable(given) and not (name == "value" and given is None):
                raise TypeError(f"{name} must be callable, got {given!r}")
        self._function, self._value = function, value

    def __repr__(self) -> str:
        return f"FromDerivative({self._function!r})"

    def _columns(self) -> dict[str, Any]:
        return {}

    def _passes(self, problem: Any, n_jobs: int) -> Any:
        self._check_falls(problem)
        return ArrayPasses(problem)

    def _check_falls(self, problem: Any) -> None:
        """Refuse derivatives that rise between some amounts within the bounds."""
        lower, upper = (np.broadcast_to(np.asarray(at, np.float64), problem.n) for at in (problem.lower, problem.upper))
        counts = (np.broadcast_to(problem.weights, problem.n) > 0.0) & (lower < upper)
        most = problem.capacity if math.isfinite(problem.capacity) else 1.0
        shares = {min(probe * most / max(problem.n, 1), most) for probe in PROBES}
        x, slope = lower, self._call(lower)
        noise = LEAST_RISE * np.where(np.isfinite(slope), np.abs(slope), 0.0)
        for amount in sorted(shares | {most, FURTHEST}):
            more = np.maximum(x, np.minimum(amount, np.minimum(upper, FURTHEST)))
            steep = self._call(more)
            rises = counts & (steep > slope + RISE * np.where(np.isfinite(slope), np.abs(slope), 0.0) + noise)
            if rises.any():
                i = int(np.argmax(rises))
                raise ValueError(
                    f"function must not rise in x, got {shown(slope[i])} at x = {shown(x[i])} "
                    f"and {shown(steep[i])} at x = {shown(more[i])} of item {i}"
                )
            x, slope = more, steep

    def _amounts(self, x: ArrayLike) -> Array:
        given = as_real("x", x)
        check_amounts(given)
        return given

    def _call(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            slope = np.asarray(self._function(x))
            try:
                if slope.dtype.kind not in "biufO":
                    raise TypeError
                slope = slope.astype(np.float64, copy=False)
            except (TypeError, ValueError):
                raise TypeError(f"function must return real numbers, got an array of {slope.dtype}") from None
        if slope.shape != x.shape:
            raise ValueError(f"function must return shape {x.shape}, got {slope.shape}")
        if np.isnan(slope).any():
            raise ValueError(f"function must not return NaN, got one at x = {shown(x[np.isnan(slope)][0])}")
        return slope

    def derivative(self, x: ArrayLike) -> Array:
        """Derivative f'(x) at amounts `x` (n,)."""
        given = self._amounts(x)
        return self._call(np.atleast_1d(given)).reshape(given.shape)

    def value(self, x: ArrayLike) -> Array:
        """Value f(x): as given, or the integral of the derivative from 0 to x, at most 1e300.

        By the trapezoidal rule in w of x / (1 + exp(w - exp(-w))), which finds what lies at any scale of amounts.
        """
        given = self._amounts(x)
        if self._value is not None:
            return np.asarray(self._value(np.atleast_1d(given)), dtype=np.float64).reshape(given.shape)
        amounts = np.minimum(np.atleast_1d(given), FURTHEST)
        total, first = np.zeros(amounts.size), self._call(np.zeros(amounts.size))
        for step in range(NODES):
            w = FIRST_NODE + SPACING * step
            v, width = w - math.exp(-w), SPACING * (1.0 + math.exp(-w))
            near = math.exp(-abs(v))
            node, rest = (near if v > 0.0 else 1.0) / (1.0 + near), (1.0 if v > 0.0 else near) / (1.0 + near)
            slope = self._call(amounts * node)
            term = width * node * rest * np.where((amounts * node > 0.0) & (slope < np.inf), slope, 0.0)
            total += term
            left = np.where(np.isfinite(first), node * first, term / SPACING * LONGEST)
            if v > 0.0 and ((total != 0.0) & (np.abs(left) <= ROUNDING * np.abs(total)) | (amounts <= 0.0)).all():
                break
        return (total * amounts).reshape(given.shape)

    def inverse(self, price: ArrayLike) -> Array:
        """Largest amounts up to which f' is above `price`; infinite where it always is."""
        given = as_real("price", price)
        check_prices(given)
        return self._answer(np.atleast_1d(given))[0].reshape(given.shape)

    def _answer(self, price: Array) -> tuple[Array, Array]:
        """Amounts (n,) at prices (n,), and about -dx/dprice (n,)."""
        x = _last_above(self._call, price)
        near = np.where(np.isfinite(x), x, 1.0)
        step = 1e-5 * np.maximum(near, 1e-300)
        fall = self._call(np.maximum(near - step, 0.0)) - self._call(near + step)
        with np.errstate(all="ignore"):
            slope = np.where((x > 0) & (fall > 0) & np.isfinite(fall) & np.isfinite(x), 2.0 * step / fall, 0.0)
        return x, slope


def _last_above(function: Callable[[Array], Array], price: Array) -> Array:
    """Where a non-increasing function of x >= 0 comes down to `price` (n,), to neighbouring doubles.

    Keeps function(low) > price >= function(high); secant steps in turn with halvings in the order of doubles.
    """
    low, high = np.zeros(price.size), np.full(price.size, FURTHEST)
    at_low, at_high = function(low), function(high)
    answer = np.where(at_high > price, np.inf, np.where(at_low <= price, 0.0, high))
    open_ = (at_low > price) & (at_high <= price)
    for k in range(HALVINGS):
        open_ &= high.view(np.int64) - low.view(np.int64) > 1
        if not open_.any():
            break
        middle = (low.view(np.int64) + (high.view(np.int64) - low.view(np.int64)) // 2).view(np.float64)
        if k % 3 and k > 6:
            with np.errstate(all="ignore"):
                secant = low + (at_low - price) / (at_low - at_high) * (high - low)
            middle = np.where((secant > low) & (secant < high), secant, middle)
        value = function(np.where(open_, middle, 1.0))
        above = open_ & (value > price)
        below = open_ & ~above
        low, at_low = np.where(above, middle, low), np.where(above, value, at_low)
        high, at_high = np.where(below, middle, high), np.where(below, value, at_high)
    return np.where((answer > 0) & (answer < np.inf), high, answer)
