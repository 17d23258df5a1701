"""How many robots to deploy when their number is fixed: the M/M/1/K queue."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._core.mm1k import best_loads, best_numbers, costs
from knapsolve._validation import check_array, check_vector, check_whole

MOST_ROBOTS = 2.0**53  # beyond this not every whole number is a float


def _parameter(name: str, values: Any, check: Any = check_vector, **allowed: Any) -> np.ndarray:
    """`values` as a float array of any shape, checked element by element."""
    array = check_array(name, values)
    return check(name, array.ravel(), **allowed).reshape(array.shape)


def _buffer(values: Any) -> np.ndarray:
    """Buffers: whole numbers from 2 to infinity."""
    return _parameter("buffer", values, check_whole, low=2.0, finite=False)


def _positive(name: str, values: Any) -> np.ndarray:
    return _parameter(name, values, low=0.0, low_open=True)


def _check_ratio(name: str, values: np.ndarray, rates: np.ndarray) -> None:
    """Refuse what leaves the floating-point range in units of the service rate."""
    with np.errstate(over="ignore", under="ignore"):
        check_vector(f"{name} / service_rate", values / rates, low=1e-300, high=1e300)


def _broadcast(*arrays: np.ndarray) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The common shape, and each array as a contiguous vector of that many entries."""
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise ValueError(f"shapes must broadcast, got {[a.shape for a in arrays]}") from error
    return shape, [np.ascontiguousarray(np.broadcast_to(a, shape)).ravel() for a in arrays]


def mm1k_cost(load: Any, buffer: Any, starvation_weight: Any, service_rate: Any = 1.0) -> Any:
    """Cost per unit time of a fixed number of robots: starvation and lost pages of an M/M/1/K queue.

    Parameters
    ----------
    load : float or array_like
        Arrival rate of all robots together over the service rate, rho >= 0.
    buffer : int or array_like
        Places K in the queue with the one in service, at least 2; ``inf`` for the large-buffer limit.
    starvation_weight : float or array_like
        Cost gamma > 0 per unit time with an empty queue.
    service_rate : float or array_like, default 1.0
        Pages per unit time that the server finishes, mu > 0.

    Returns
    -------
    float or ndarray
        gamma P(X = 0) + lam N P(X = K) per unit time, in the broadcast shape of the parameters.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range or the shapes clash.

    References
    ----------
    J. Talim, Z. Liu, P. Nain and E. G. Coffman, "Controlling robots of Web search engines", 1999, equation
    (4).

    Examples
    --------
    >>> from knapsolve import mm1k_cost
    >>> round(float(mm1k_cost(1.0, 5, 1.4)), 12)
    0.4
    """
    shape, vectors = _broadcast(
        _parameter("load", load, low=0.0),
        _buffer(buffer),
        _positive("starvation_weight", starvation_weight),
        _positive("service_rate", service_rate),
    )
    out = np.empty(vectors[0].size)
    costs(*vectors, out)
    check_vector("the cost", out)
    return out.reshape(shape)[()]


def optimal_load(buffer: Any, starvation_weight: Any, service_rate: Any = 1.0) -> Any:
    """Load of least cost: below, at or above 1 as gamma is below, at or above mu (K + 2) / K.

    Parameters
    ----------
    buffer : int or array_like
        Places K in the queue with the one in service, at least 2; ``inf`` has optimal load 1.
    starvation_weight : float or array_like
        Cost gamma > 0 per unit time with an empty queue.
    service_rate : float or array_like, default 1.0
        Pages per unit time that the server finishes, mu > 0.

    Returns
    -------
    float or ndarray
        rho*, without unit, in the broadcast shape of the parameters.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range or the shapes clash.

    References
    ----------
    Talim, Liu, Nain and Coffman, 1999, Lemma 1 and equation (6).

    Examples
    --------
    >>> from knapsolve import optimal_load
    >>> round(float(optimal_load(5, 1.4)), 12)
    1.0
    """
    shape, vectors = _broadcast(
        _buffer(buffer),
        _positive("starvation_weight", starvation_weight),
        _positive("service_rate", service_rate),
    )
    _check_ratio("starvation_weight", vectors[1], vectors[2])
    out = np.empty(vectors[0].size)
    best_loads(*vectors, out)
    return out.reshape(shape)[()]


def optimal_robots(arrival_rate: Any, buffer: Any, starvation_weight: Any, service_rate: Any = 1.0) -> tuple[Any, Any]:
    """Number of robots of least cost when it is fixed for good.

    Parameters
    ----------
    arrival_rate : float or array_like
        Pages per unit time that one robot brings, lam > 0.
    buffer : int or array_like
        Places K in the queue with the one in service, at least 2. ``inf`` gives the paper's approximation for
        large buffers, the better of the two whole numbers about mu / lam.
    starvation_weight : float or array_like
        Cost gamma > 0 per unit time with an empty queue.
    service_rate : float or array_like, default 1.0
        Pages per unit time that the server finishes, mu > 0.

    Returns
    -------
    n : int or ndarray of int
        Optimal numbers of robots, at least 1; the fewer of two that cost the same.
    cost : float or ndarray
        Their costs per unit time.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range, the shapes clash, or the optimal number is beyond 2**53.

    References
    ----------
    Talim, Liu, Nain and Coffman, 1999, Proposition 1, equation (8), and equation (16).

    Examples
    --------
    >>> from knapsolve import optimal_robots
    >>> n, cost = optimal_robots(0.05, 10, [0.4, 1.2, 2.4])
    >>> n.tolist(), cost.round(5).tolist()
    ([17, 20, 22], [0.1022, 0.2, 0.28347])
    """
    shape, vectors = _broadcast(
        _positive("arrival_rate", arrival_rate),
        _buffer(buffer),
        _positive("starvation_weight", starvation_weight),
        _positive("service_rate", service_rate),
    )
    _check_ratio("arrival_rate", vectors[0], vectors[3])
    _check_ratio("starvation_weight", vectors[2], vectors[3])
    number, least = np.empty(vectors[0].size), np.empty(vectors[0].size)
    best_numbers(*vectors, number, least)
    if not (number < MOST_ROBOTS).all():
        place = np.argmin(number < MOST_ROBOTS)
        worst = ", ".join(f"{vector[place]:g}" for vector in vectors)
        names = "arrival_rate, buffer, starvation_weight and service_rate"
        raise ValueError(f"{names} must need fewer than 2**53 robots, got {worst}")
    check_vector("the cost", least)
    return number.astype(np.int64).reshape(shape)[()], least.reshape(shape)[()]
