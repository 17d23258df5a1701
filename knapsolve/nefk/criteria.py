"""Concave criteria f(x) of an amount x in closed form.

Each names a family of csrc/nefk_shapes.h and holds its parameter, one number or one per item.
"""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

import knapsolve._core.nefk as core
from knapsolve.nefk.criterion import LARGEST, Criterion


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
