"""An update of LSPE beside the same in numpy, whose products and solver are OpenBLAS's and LAPACK's."""

import numpy as np
import pytest
import scipy.linalg

from knapsolve._core.lspe import LSPE, update


def state(n):
    random = np.random.default_rng(0)
    arrays = np.zeros(n), np.eye(n), np.zeros((n, n)), np.zeros(n), np.zeros(3)
    return arrays, random.random((50, n)), random.random(50)


def numpy_update(arrays, before, after, reward, gain=0.05, delta=1e-6):
    weights, second, moves, rewards, numbers = arrays
    numbers[0] += 1
    step, residual = 1 / (numbers[0] + 1), reward - numbers[1]
    rewards += step * (before * residual - rewards)
    moves += step * (np.outer(before, after - before) - moves)
    second += step * (np.outer(before, before) - second)
    numbers[1] += step * residual
    factor = scipy.linalg.cho_factor(second @ second + delta * np.eye(len(second)))
    weights += gain * scipy.linalg.cho_solve(factor, second @ (rewards + moves @ weights))


@pytest.mark.parametrize("n", [14, 135, 495, 989])
@pytest.mark.parametrize("engine", ["knapsolve", "numpy"])
def test_update(benchmark, engine, n):
    benchmark.group = f"LSPE of {n} features"
    arrays, features, earned = state(n)
    evaluation = LSPE(*arrays, 0.05, 1e-6)
    moved = iter(range(10**9))

    def step():
        k = next(moved) % 49
        if engine == "numpy":
            numpy_update(arrays, features[k], features[k + 1], earned[k])
        else:
            update(evaluation, features[k], features[k + 1], earned[k])

    benchmark.pedantic(step, rounds=20 if n < 500 else 5, warmup_rounds=1)
