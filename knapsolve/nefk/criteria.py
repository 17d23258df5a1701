"""Concave criteria f(x) of an amount x: value, derivative, and the amount at which the derivative is a price.

Each closed form names a family of csrc/nefk_shapes.h and holds its parameter, one number or one per item.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knapsolve._core import nefk as core
from knapsolve._validation import check_column
from knapsolve.nefk.passes import Passes

CEILING = 1e250  # stands for an amount without end, so that sums stay finite
LARGEST = 1e140  # parameters and weights beyond this would overflow exact products


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
        columns = (core.Column(x) for x in (self._parameter, problem.weights, problem.lower, problem.upper))
        items = core.Items(self._shape, *columns, CEILING, problem.groups)
        return Passes(items, problem.n, n_jobs, problem.groups, len(problem.caps))

    def _take(self, which: Any) -> Criterion:
        """The criterion of some of the items."""
        part = copy(self)
        if isinstance(self._parameter, np.ndarray):
            part._parameter = np.ascontiguousarray(self._parameter[which])
        return part

    def _items(self) -> core.Items:
        """The items in the form that the kernels read, without weights or bounds."""
        columns = (core.Column(values) for values in (self._parameter, 1.0, 0.0, np.inf))
        return core.Items(self._shape, *columns, np.inf)

    def _like(self, values: ArrayLike, name: str) -> tuple[NDArray[np.float64], tuple[int, ...]]:
        """`values` stretched to one per item, and the shape of the answer."""
        given = np.asarray(values, dtype=np.float64)
        shape = np.broadcast_shapes(given.shape, np.shape(self._parameter))
        if len(shape) > 1:
            raise ValueError(f"{name} must be a number or one-dimensional, got shape {given.shape}")
        return np.ascontiguousarray(np.broadcast_to(given, shape or (1,)).ravel()), shape

    def _worth(self, amounts: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x, shape = self._like(amounts, "x")
        if not (x >= 0).all():
            raise ValueError(f"x must be non-negative, got {x[~(x >= 0)][0]!r}")
        value, slope = np.empty_like(x), np.empty_like(x)
        if x.size:
            core.worth(self._items(), 0, x.size, x, value, slope)
        return value.reshape(shape), slope.reshape(shape)

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
            raise ValueError(f"price must be finite, got {prices[~np.isfinite(prices)][0]!r}")
        x = np.empty_like(prices)
        if x.size:
            core.respond(self._items(), core.Column(prices), 0, x.size, x)
        return x.reshape(shape)


class Detection(Criterion):
    """Detected changes x (1 - exp(-rate / x)) when a change is lost at the next one (rate = -ln q).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Changes per unit of time. 0 (q = 1) never gets anything; infinity (q = 0) makes the item linear.

    References
    ----------
    f'(x) = P(2, rate / x), the regularised incomplete gamma function.

    Examples
    --------
    >>> from knapsolve.criteria import Detection
    >>> float(Detection(1.0).derivative(1.0).round(6))
    0.264241
    """

    _shape = core.DETECTION
    _allowed: ClassVar[dict[str, Any]] = {"low": 0.0, "high": LARGEST, "or_infinite": True}

    def __init__(self, rate: ArrayLike) -> None:
        super().__init__(rate)


class Freshness(Criterion):
    """Share of time that a copy is current under periodic polls: (x / rate) (1 - exp(-rate / x)).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Changes per unit of time, in the unit of time of the amounts.

    References
    ----------
    J. Cho and H. Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28 (2003).

    Examples
    --------
    >>> from knapsolve.criteria import Freshness
    >>> float(Freshness(2.0).value(1.0).round(6))
    0.432332
    """

    _shape = core.FRESHNESS

    def __init__(self, rate: ArrayLike) -> None:
        super().__init__(rate)


class PoissonFreshness(Criterion):
    """Share of time that a copy is current under polls at random times: x / (x + rate).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Changes per unit of time.

    References
    ----------
    Y. Azar et al., "Tractable near-optimal policies for crawling", PNAS 115 (2018).

    Examples
    --------
    >>> from knapsolve.criteria import PoissonFreshness
    >>> float(PoissonFreshness(1.0).value(3.0))
    0.75
    """

    _shape = core.POISSON

    def __init__(self, rate: ArrayLike) -> None:
        super().__init__(rate)


class Harmonic(Criterion):
    """Harmonic staleness, negated: log(x / (x + rate)). No item with a positive rate ever gets nothing.

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Changes per unit of time.

    References
    ----------
    A. Kolobov et al., "Staying up to date with online content changes using reinforcement learning for
    scheduling", NeurIPS 2019.

    Examples
    --------
    >>> from knapsolve.criteria import Harmonic
    >>> float(Harmonic(1.0).derivative(1.0))
    0.5
    """

    _shape = core.HARMONIC

    def __init__(self, rate: ArrayLike) -> None:
        super().__init__(rate)


class Logarithmic(Criterion):
    """Water filling: log(1 + x / scale).

    Parameters
    ----------
    scale : float or array-like of shape (n,)
        Amount that is worth log 2; positive.

    Examples
    --------
    >>> from knapsolve.criteria import Logarithmic
    >>> float(Logarithmic(2.0).derivative(0.0))
    0.5
    """

    _shape = core.LOGARITHMIC
    _name = "scale"
    _allowed: ClassVar[dict[str, Any]] = {"low": 0.0, "high": LARGEST, "low_open": True}

    def __init__(self, scale: ArrayLike) -> None:
        super().__init__(scale)


class Power(Criterion):
    """Power x^exponent / exponent with an exponent between 0 and 1, both excluded.

    Parameters
    ----------
    exponent : float or array-like of shape (n,)
        Exponent of the value; f'(x) = x^(exponent - 1).

    Examples
    --------
    >>> from knapsolve.criteria import Power
    >>> float(Power(0.5).inverse(0.5).round(12))
    4.0
    """

    _shape = core.POWER
    _name = "exponent"
    _allowed: ClassVar[dict[str, Any]] = {"low": 0.0, "high": 1.0, "low_open": True, "high_open": True}

    def __init__(self, exponent: ArrayLike) -> None:
        super().__init__(exponent)


class Exponential(Criterion):
    """Saturating exponential 1 - exp(-rate x).

    Parameters
    ----------
    rate : float or array-like of shape (n,)
        Share of what is left that a unit of capacity takes.

    Examples
    --------
    >>> from knapsolve.criteria import Exponential
    >>> float(Exponential(2.0).derivative(0.0))
    2.0
    """

    _shape = core.EXPONENTIAL

    def __init__(self, rate: ArrayLike) -> None:
        super().__init__(rate)


class LogExponential(Exponential):
    """The exponential whose price is given by its logarithm, for prices that would underflow."""

    _shape = core.LOG_EXPONENTIAL


class Quadratic(Criterion):
    """Quadratic x - curvature x^2 / 2; with a weight w, w x - (w curvature) x^2 / 2.

    Parameters
    ----------
    curvature : float or array-like of shape (n,)
        Loss of slope per unit of capacity; 0 makes the item linear. To maximise w x - d x^2 / 2 give
        the curvature d / w and the weight w.

    Examples
    --------
    >>> from knapsolve.criteria import Quadratic
    >>> float(Quadratic(0.5).derivative(1.0))
    0.5
    """

    _shape = core.QUADRATIC
    _name = "curvature"

    def __init__(self, curvature: ArrayLike) -> None:
        super().__init__(curvature)


class Linear(Criterion):
    """Linear x: the classical fractional knapsack, greedy by weight.

    Examples
    --------
    >>> from knapsolve.criteria import Linear
    >>> float(Linear().value(3.0))
    3.0
    """

    _shape = core.QUADRATIC
    _name = "curvature"

    def __init__(self) -> None:
        super().__init__(0.0)

    def __repr__(self) -> str:
        return "Linear()"
