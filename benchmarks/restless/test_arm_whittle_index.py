"""The index of a finite arm beside the reference package."""

import contextlib
import io

import numpy as np
import pytest

from knapsolve.restless import arm_whittle_index


def arm(n):
    random = np.random.default_rng(0)
    P0, P1 = random.random((n, n)), random.random((n, n))
    return P0 / P0.sum(1, keepdims=True), P1 / P1.sum(1, keepdims=True), np.zeros(n), random.random(n)


@pytest.mark.parametrize("n", [100, 500, 1000])
def test_ours(benchmark, n):
    benchmark.group = f"arm of {n} states"
    problem = arm(n)
    benchmark.pedantic(lambda: arm_whittle_index(*problem), rounds=3)


@pytest.mark.parametrize("n", [100, 500, 1000])
def test_markovianbandit(benchmark, n):
    reference = pytest.importorskip("markovianbandit.markovianbandit")
    benchmark.group = f"arm of {n} states"
    problem = arm(n)

    def solve():
        with contextlib.redirect_stdout(io.StringIO()):
            reference.RestlessBandit.from_P0_P1_R0_R1(*problem).whittle_indices(discount=1)

    benchmark.pedantic(solve, rounds=3, warmup_rounds=1)
    np.seterr(divide="warn", invalid="warn")
