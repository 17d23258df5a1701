"""Solving the control problem to a span of 1e-8, beside other packages and beside value iteration.

Times are printed as they are and scaled to a machine on which numpy's Generator.random(out=a) takes 1.6 ns a
number.
"""

import time
import tracemalloc

import numpy as np
import pytest
from rivals import mdpsolver_average, problem, quantecon_discounted

from knapsolve import solve_robot_control
from knapsolve._core.robot_control import RobotSolver

SIZES = [(16, 5), (100, 15), (300, 100), (1000, 300)]


def fastest(function, rounds):
    """Least time in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def scale():
    """How much slower this machine is than the one that targets are for."""
    numbers, rng = np.empty(10**6), np.random.default_rng(0)
    return fastest(lambda: rng.random(out=numbers), 20) * 1e9 / 1e6 / 1.6


def ours(robots, buffer):
    return lambda: solve_robot_control(*problem(robots, buffer), tol=1e-8)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_solve(benchmark, size):
    benchmark(ours(*size))


def test_targets():
    factor = scale()
    for size, target in zip(SIZES, (0.06e-3, 0.2e-3, 4e-3, 45e-3)):
        took = fastest(ours(*size), 40 if size[0] < 1000 else 10)
        print(f"{size}: {took * 1e3:.3f} ms, scaled {took / factor * 1e3:.3f} ms, target {target * 1e3:g} ms")


def test_memory_beyond_the_result():
    tracemalloc.start()
    control = ours(1000, 300)()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"(1000, 300): {(peak - control.bias.nbytes) / 1e6:.1f} MB beyond the result")


def test_worst_of_a_grid():
    factor, worst = scale(), (0.0, 0.0, 0.0)
    for rate in (0.3, 1.0, 2.0, 3.0):
        for weight in (0.1, 1.0, 10.0):
            took = fastest(lambda r=rate, w=weight: solve_robot_control(1000, 300, r / 1000, w, tol=1e-8), 2)
            worst = max(worst, (took, rate, weight))
    print(
        f"(1000, 300), worst of 12: {worst[0]:.3f} s, scaled {worst[0] / factor:.3f} s, "
        f"at lam N, gamma = {worst[1:]}"
    )


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_value_iteration_sweep(size):
    robots, buffer = size
    solver = RobotSolver(robots, buffer, 1 / robots, 1.02, 1 / robots)
    bias = np.zeros((robots + 1, buffer + 1))
    bias[0, 0] = np.inf
    other, sweeps = np.empty((robots + 3, buffer + 1)), max(20, int(2e7 / bias.size)) // 2 * 2
    took = fastest(lambda: solver.iterate_values(bias, 0.99999, 1e-300, sweeps, sweeps, other), 7)
    print(f"{size}: {took / sweeps / bias.size * 1e9:.3f} ns a state and sweep")


@pytest.mark.parametrize("rival", [mdpsolver_average, quantecon_discounted])
@pytest.mark.parametrize("size", SIZES[:2], ids=str)
def test_rivals(rival, size):
    fresh = rival(*size)
    fresh()()
    theirs, mine = min(fastest(fresh(), 1) for _ in range(3)), fastest(ours(*size), 20)
    print(
        f"{size}: {rival.__name__} {theirs * 1e3:.2f} ms, ours {mine * 1e3:.3f} ms, ratio {theirs / mine:.0f}"
    )
