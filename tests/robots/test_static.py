import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from knapsolve import mm1k_cost, optimal_load, optimal_robots

mpmath.mp.dps = 60
BUFFERS = [2, 3, 10, 1000, 10**6]
LOADS = [
    1e-8,
    0.1,
    0.9,
    1 - 1e-7,
    1 - 1e-12,
    1 - 2.0**-53,
    1.0,
    1 + 2.0**-52,
    1 + 1e-9,
    1 + 1e-6,
    1.1,
    3.0,
    1e5,
]
weights = st.floats(1e-3, 1e3)
rates = st.floats(1e-2, 1e2)


def exact_cost(load, buffer, weight, rate):
    load, weight, rate = mpmath.mpf(load), mpmath.mpf(weight), mpmath.mpf(rate)
    if load == 1:
        return (weight + rate) / (buffer + 1)
    return (1 - load) * (weight + rate * load ** (buffer + 1)) / (1 - load ** (buffer + 1))


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("weight", [1e-3, 1.0, 50.0])
def test_cost_is_exact_to_rounding_near_load_one_and_for_huge_buffers(buffer, weight):
    ours = mm1k_cost(np.array(LOADS), buffer, weight, 0.7)
    for load, cost in zip(LOADS, ours):
        exact = exact_cost(load, buffer, weight, 0.7)
        assert abs(cost - exact) <= 2e-15 * exact


@pytest.mark.parametrize("buffer", [2, 3, 5, 10, 1000, 10**6])
def test_optimal_load_solves_the_stationarity_equation(buffer):
    n = buffer + 1
    for weight in [1e-30, 1e-6, 0.01, 0.5, 0.999, 1.0, 1.0000001, 1 + 3 / buffer, 2.5, 1e4, 1e20]:
        load = float(optimal_load(buffer, weight))
        g = mpmath.mpf(weight)

        def equation(
            t, g=g
        ):  # of t = (K + 1) log rho: the paper's R(rho) / rho^(K + 1), with its double zero at 1
            return (
                mpmath.expm1(t) + n * mpmath.expm1(-t / n) - g * (mpmath.expm1(-t) - n * mpmath.expm1(-t / n))
            )

        low, high = (n * mpmath.log(mpmath.mpf(load) * (1 + side * mpmath.mpf(4e-14))) for side in (-1, 1))
        assert equation(low) * equation(high) < 0 or abs(load - 1) < 1e-12


@given(st.integers(2, 40), weights, rates)
def test_optimal_load_minimises_the_cost(buffer, weight, rate):
    load = optimal_load(buffer, weight, rate)
    found = minimize_scalar(
        lambda u: mm1k_cost(math.exp(u), buffer, weight, rate),
        bounds=(-8, 8),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert mm1k_cost(load, buffer, weight, rate) <= found.fun * (1 + 1e-12)


@given(st.integers(2, 10**6), weights, rates)
def test_optimal_load_is_on_the_side_of_one_that_the_weight_says(buffer, weight, rate):
    turning = rate * (buffer + 2) / buffer
    load = optimal_load(buffer, weight, rate)
    if weight < turning * (1 - 1e-9):
        assert load < 1
    elif weight > turning * (1 + 1e-9):
        assert load > 1
    assert optimal_load(buffer, turning, rate) == pytest.approx(1, abs=1e-15)


@given(st.integers(2, 1000), weights, st.floats(1.0, 10.0), rates)
def test_optimal_load_never_falls_with_the_weight(buffer, weight, factor, rate):
    assert optimal_load(buffer, weight * factor, rate) >= optimal_load(buffer, weight, rate) * (1 - 1e-14)


@given(st.floats(0.02, 2.0), st.integers(2, 30), weights, rates)
def test_optimal_robots_is_the_best_whole_number(arrival_rate, buffer, weight, rate):
    n, cost = optimal_robots(arrival_rate, buffer, weight, rate)
    numbers = np.arange(1, 2 * n + 20)
    costs = mm1k_cost(numbers * arrival_rate / rate, buffer, weight, rate)
    assert cost == pytest.approx(costs.min(), rel=1e-13)
    assert mm1k_cost(n * arrival_rate / rate, buffer, weight, rate) == pytest.approx(cost, rel=1e-14)


def test_infinite_buffer_is_the_limit_of_large_ones():
    assert optimal_load(np.inf, 3.0) == 1.0
    for load in (0.3, 0.99, 1.0, 1.5):
        assert mm1k_cost(load, np.inf, 2.0, 0.7) == pytest.approx(mm1k_cost(load, 10**7, 2.0, 0.7), abs=1e-6)
    ratio = np.linspace(0.6, 9.4, 50)
    assert (optimal_robots(1 / ratio, np.inf, 2.0)[0] == optimal_robots(1 / ratio, 10**6, 2.0)[0]).all()


def test_parameters_broadcast_and_scalars_stay_scalars():
    n, cost = optimal_robots(np.array([[0.01], [0.1]]), [5, 10, 15], 0.4)
    assert n.shape == cost.shape == (2, 3)
    assert n[1, 2] == optimal_robots(0.1, 15, 0.4)[0]
    assert np.ndim(optimal_load(5, 1.0)) == 0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mm1k_cost(-0.1, 5, 1.0), "load"),
        (lambda: mm1k_cost(np.nan, 5, 1.0), "load"),
        (lambda: mm1k_cost(0.5, 1, 1.0), "buffer"),
        (lambda: mm1k_cost(0.5, 2.5, 1.0), "buffer"),
        (lambda: optimal_load(5, 0.0), "starvation_weight"),
        (lambda: optimal_load(5, [1.0, -1.0]), "starvation_weight"),
        (lambda: optimal_load(5, 1.0, 0.0), "service_rate"),
        (lambda: optimal_robots(0.0, 5, 1.0), "arrival_rate"),
        (lambda: optimal_robots(np.inf, 5, 1.0), "arrival_rate"),
        (lambda: optimal_robots(1e-300, 5, 1.0), "arrival_rate"),
        (lambda: optimal_robots([0.1, 0.2], [5, 5, 5], 1.0), "shapes"),
        (lambda: optimal_robots(1e300, 5, 1.0, 1e-300), "arrival_rate / service_rate"),
        (lambda: optimal_robots(1.0, 5, 1e300, 1e-300), "starvation_weight / service_rate"),
        (lambda: optimal_load(2, 1e-308, 1e308), "starvation_weight / service_rate"),
        (lambda: mm1k_cost(1e300, 5, 1.0, 1e300), "the cost must be finite"),
    ],
)
def test_bad_parameters_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.mark.parametrize("value", ["0.5", None, 1 + 2j, [[1], [2, 3]], True])
def test_what_is_no_number_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        mm1k_cost(value, 5, 1.0)
