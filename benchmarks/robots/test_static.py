"""A million parameter sets of the static functions."""

import numpy as np
import pytest

from knapsolve import mm1k_cost, optimal_load, optimal_robots

N = 1_000_000


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    return {
        "lam": rng.uniform(0.001, 0.1, N),
        "load": rng.uniform(0.1, 3.0, N),
        "buffer": rng.integers(2, 1000, N).astype(float),
        "weight": rng.uniform(0.1, 10, N),
        "rate": rng.uniform(0.1, 10, N),
    }


def test_cost(benchmark, sets):
    benchmark(mm1k_cost, sets["load"], sets["buffer"], sets["weight"], sets["rate"])


def test_optimal_load(benchmark, sets):
    benchmark(optimal_load, sets["buffer"], sets["weight"], sets["rate"])


def test_optimal_robots(benchmark, sets):
    benchmark(optimal_robots, sets["lam"], sets["buffer"], sets["weight"], sets["rate"])
