"""The index of a million sites, from age and from content, beside numpy."""

import numpy as np
import pytest

from knapsolve import whittle_index
from knapsolve.restless import inverse_whittle_index

N = 10**6


@pytest.fixture(scope="module")
def sites():
    random = np.random.default_rng(0)
    return {"arrival_rate": random.lognormal(0, 1, N), "decay_rate": random.lognormal(-3, 1, N)}


@pytest.fixture(scope="module")
def age():
    return np.random.default_rng(1).integers(0, 1000, N).astype(float)


def numpy_from_age(age, arrival_rate, decay_rate):
    ceiling, left = arrival_rate / decay_rate, np.exp(-decay_rate * age)
    return ceiling * (1 - left - age * -np.expm1(-decay_rate) * left)


def numpy_from_state(state, arrival_rate, decay_rate):
    ceiling, loss = arrival_rate / decay_rate, -np.expm1(-decay_rate)
    zeta = np.ceil(np.log1p(-state / ceiling) / -decay_rate)
    return zeta * (loss * state - ceiling * loss) + ceiling * (1 - np.exp(-decay_rate * zeta))


@pytest.mark.benchmark(group="unit: a million random numbers")
def test_unit(benchmark):
    out, random = np.empty(N), np.random.default_rng(0)
    benchmark(lambda: random.random(out=out))


@pytest.mark.benchmark(group="index from age")
def test_from_age(benchmark, sites, age):
    benchmark(lambda: whittle_index(age=age, **sites))


@pytest.mark.benchmark(group="index from age")
def test_from_age_by_numpy(benchmark, sites, age):
    benchmark(lambda: numpy_from_age(age, **sites))


@pytest.mark.benchmark(group="index from content")
def test_from_state(benchmark, sites, age):
    state = sites["arrival_rate"] / sites["decay_rate"] * 0.001 * age
    benchmark(lambda: whittle_index(state, **sites))


@pytest.mark.benchmark(group="index from content")
def test_from_state_by_numpy(benchmark, sites, age):
    state = sites["arrival_rate"] / sites["decay_rate"] * 0.001 * age
    benchmark(lambda: numpy_from_state(state, **sites))


@pytest.mark.benchmark(group="age at which an index is reached")
def test_inverse(benchmark, sites):
    price = 0.5 * sites["arrival_rate"] / sites["decay_rate"]
    benchmark(lambda: inverse_whittle_index(price, **sites))
