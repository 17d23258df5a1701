"""Nanoseconds a poll of the whole compiled loop, one thread, beside numpy's random numbers in the same run.

Budgets hold for a machine on which numpy's Generator.random(out=a) costs 1.6 ns a number: `scaled` is that.
"""

import time

import numpy as np
import pytest
from loops import LEARNERS, Loop

POLLS = 100_000


@pytest.fixture(scope="module")
def nanoseconds_a_random_number() -> float:
    """The machine's speed: the least of many fills of one array."""
    generator, out = np.random.default_rng(0), np.empty(POLLS)
    best = np.inf
    for _ in range(50):
        start = time.perf_counter()
        generator.random(out=out)
        best = min(best, time.perf_counter() - start)
    return best / POLLS * 1e9


@pytest.mark.parametrize("n", [500, 32_768])
@pytest.mark.parametrize("scheduler", ["random", "edf"])
@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_loop(benchmark, learner, scheduler, n, nanoseconds_a_random_number):
    loop = Loop(learner, scheduler, n)
    loop.poll(10 * POLLS)
    benchmark(loop.poll, POLLS)
    if benchmark.stats is None:  # disabled: it ran once
        return
    cost = benchmark.stats.stats.min / POLLS * 1e9
    scaled = cost * 1.6 / nanoseconds_a_random_number
    benchmark.extra_info.update(ns_a_poll=cost, scaled_ns_a_poll=scaled)
    print(f"\n{learner} {scheduler} n={n}: {cost:.1f} ns a poll, {scaled:.1f} scaled", end="")
