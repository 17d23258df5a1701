"""Agreement with an arbitrary-precision solver on small random problems of every family."""

import mpmath as mp
import numpy as np
import pytest
from nefk_oracle import FAMILIES, assert_optimal, exact_solution, random_parameters, solve


@pytest.fixture(autouse=True)
def _seventy_digits():
    with mp.workdps(70):
        yield


def bounds(kind, n, capacity, generator):
    """Lower and upper bounds around the even share, feasible for the capacity."""
    if kind == "none":
        return np.zeros(n), np.full(n, np.inf)
    share = capacity / n
    return share * generator.uniform(0.0, 0.9, n), share * generator.uniform(1.05, 3.0, n)


@pytest.mark.parametrize("kind", ["none", "bounds"])
@pytest.mark.parametrize("capacity", [1e-6, 0.3, 4.0, 1e4])
@pytest.mark.parametrize("family", FAMILIES)
def test_amounts_equal_those_of_a_seventy_digits(family, capacity, kind):
    if family == "exponential" and capacity > 100:
        capacity = 60.0  # beyond, the price underflows
    if family in ("detection", "freshness") and capacity < 1e-3:
        capacity = 0.2  # below, the price is within exp(-1 / capacity) of the largest slope: too near for any digits
    generator = np.random.default_rng([len(family), int(np.log2(capacity) + 99)])
    for n in (2, 5):
        p, w = random_parameters(family, n, generator), np.exp(generator.standard_normal(n))
        low, high = bounds(kind, n, capacity, generator)
        result = solve(family, p, capacity, weights=w, lower=low, upper=high)
        exact, price = exact_solution(family, p, w, low, high, capacity, result.price)
        expected = np.array([float(x) for x in exact])
        np.testing.assert_allclose(result.amounts, expected, rtol=1e-12, atol=1e-15 * capacity)
        assert abs(result.price - float(price)) <= 1e-14 * max(abs(result.price), w.max() * (family == "quadratic"))
        assert_optimal(family, p, result, capacity, w, low, high)


@pytest.mark.parametrize("family", ["freshness", "detection"])
def test_weights_that_differ_in_the_thirty_third_bit_are_told_apart(family):
    w, rate = np.array([1.0, 1.0 + 2.0**-33, 1.0]), np.ones(3)
    for capacity in (1e-4, 1e-2):  # the item of more weight takes all
        result = solve(family, rate, capacity, weights=w)
        np.testing.assert_allclose(result.amounts, [0, capacity, 0], rtol=1e-12)
    for capacity in (0.1, 1.0):
        result = solve(family, rate, capacity, weights=w)
        exact, _ = exact_solution(family, rate, w, np.zeros(3), np.full(3, np.inf), capacity, result.price)
        np.testing.assert_allclose(result.amounts, [float(x) for x in exact], rtol=1e-6)  # 1e-16 of the price
        assert result.amounts[1] - result.amounts[0] == pytest.approx(float(exact[1] - exact[0]), rel=1e-4)
        assert_optimal(family, rate, result, capacity, w)
