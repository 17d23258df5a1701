"""How many robots to deploy when service times are general: the M/G/1/K queue by its embedded chain."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from knapsolve._validation import check_integer, check_real
from knapsolve.robots.service import ErlangMixture, QuadratureService, check_service

MOST_PLACES = 100_000  # a cost takes O(buffer^2): seconds


def _chain_cost(rate: float, buffer: int, weight: float, service: ErlangMixture | QuadratureService) -> float:
    """Cost of an arrival rate, from the numbers of pages that departures leave behind.

    With T(k) the probability of more than k arrivals during a service, crossings of level j balance:
    p(j + 1) P(no arrival) = p(0) T(j) + sum_{i=1..j} p(i) T(j + 1 - i), all terms positive.
    """
    load = rate * service.mean
    tail = service.overflow(rate, buffer)
    idle = 1.0 - tail[0] if tail[0] < 0.5 else _no_arrival(rate, service)
    p = np.zeros(buffer)
    p[0] = 1.0
    for j in range(buffer - 1):
        if idle * 1e280 < p[j]:  # the queue is all but never empty
            return rate - 1.0 / service.mean
        p[j + 1] = (p[0] * tail[j] + p[1 : j + 1] @ tail[j:0:-1]) / idle
        if p[j + 1] > 1e200:
            p[: j + 2] /= p[j + 1]
    empty = p[0] / p.sum()
    return (weight * empty + rate * (empty + load - 1.0)) / (empty + load)


def _no_arrival(rate: float, service: ErlangMixture | QuadratureService) -> float:
    """P(no arrival during a service), without taking it from 1."""
    if isinstance(service, QuadratureService):
        return float(np.exp(-rate * service.nodes) @ service.weights)
    total = 0.0
    for stages, mean, weight in zip(service.stages, service.means, service.weights, strict=True):
        exponent = -rate * mean if np.isinf(stages) else -stages * np.log1p(rate * mean / stages)
        total += weight * float(np.exp(exponent))
    return total


def _checked(
    arrival_rate: Any, buffer: Any, starvation_weight: Any, service: Any
) -> tuple[float, int, float, ErlangMixture | QuadratureService]:
    """The queue that these parameters describe, or an error that names the wrong one."""
    rate = check_real("arrival_rate", arrival_rate, low=0.0, low_open=True)
    places = check_integer("buffer", buffer, low=2, high=MOST_PLACES)
    weight = check_real("starvation_weight", starvation_weight, low=0.0, low_open=True)
    times = check_service(service)
    check_real("arrival_rate * mean service time", rate * times.mean, low=1e-12, high=1e12)
    check_real("starvation_weight * mean service time", weight * times.mean, low=1e-9, high=1e12)
    return rate, places, weight, times


def mg1k_cost(arrival_rate: float, buffer: int, starvation_weight: float, service: Any) -> float:
    """Cost per unit time of a fixed arrival rate at a server with general service times.

    Parameters
    ----------
    arrival_rate : float
        Pages per unit time that all robots bring together, > 0.
    buffer : int
        Places K in the queue with the one in service, from 2 to 100,000.
    starvation_weight : float
        Cost gamma per unit time with an empty queue; times the mean service time, from 1e-9 to 1e12.
    service : (mean, squared coefficient of variation) or frozen scipy.stats distribution
        Service time of a page, in time units. Two moments stand for the usual fit of Erlang or exponential
        parts.

    Returns
    -------
    float
        gamma P(X = 0) + arrival_rate P(X = K), per unit time.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    References
    ----------
    H. Takagi, "Queueing Analysis", volume 2, 1993, Section 5.1 (the embedded chain of the M/G/1/K queue).

    Examples
    --------
    >>> from knapsolve.robots import mg1k_cost
    >>> round(mg1k_cost(1.0, 5, 1.4, service=(1.0, 1.0)), 12)  # exponential: (gamma + mu) / (K + 1)
    0.4
    """
    return float(_chain_cost(*_checked(arrival_rate, buffer, starvation_weight, service)))


def mg1k_optimal_robots(arrival_rate: float, buffer: int, starvation_weight: float, service: Any) -> tuple[int, float]:
    """Number of robots of least cost when service times are general.

    The load is searched on a logarithmic grid and then by Brent's method; unlike for exponential times, that
    the cost has no other minimum is not proved.

    Parameters
    ----------
    arrival_rate : float
        Pages per unit time that one robot brings, > 0.
    buffer, starvation_weight, service
        As for `mg1k_cost`.

    Returns
    -------
    n : int
        Number of robots, at least 1.
    cost : float
        Its cost per unit time.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    References
    ----------
    Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", 1999, Section 5, which announces
    it.

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> from knapsolve.robots import mg1k_optimal_robots
    >>> n, cost = mg1k_optimal_robots(0.05, 10, 1.2, gamma(2.0, scale=0.5))
    >>> n, round(cost, 4)
    (20, 0.1584)
    """
    rate, buffer, weight, times = _checked(arrival_rate, buffer, starvation_weight, service)

    def cost(log_load: float) -> float:
        return _chain_cost(float(np.exp(log_load)) / times.mean, buffer, weight, times)

    grid = np.linspace(np.log(1e-3), np.log(1e3), 49)
    while (best := int(np.argmin([cost(u) for u in grid]))) in (0, len(grid) - 1):
        grid += np.sign(best - 1) * np.log(1e3)
    span = grid[best - 1], grid[best + 1]
    load = float(np.exp(minimize_scalar(cost, bounds=span, method="bounded", options={"xatol": 1e-10}).x))
    n = max(int(load / (rate * times.mean)), 1)
    costs = {m: _chain_cost(m * rate, buffer, weight, times) for m in range(max(n - 1, 1), n + 3)}
    n = min(costs, key=lambda m: costs[m])
    return n, float(costs[n])
