"""A step of the policy at a million sites and 1,000 crawls: calendar, brute force, numpy, in one run."""

import time

import numpy as np
import pytest

from knapsolve import WhittlePolicy
from knapsolve.restless import relaxed_bound

N, CRAWLS, STEPS = 10**6, 1000, 4000


@pytest.fixture(scope="module")
def sites():
    random = np.random.default_rng(0)
    return random.lognormal(0, 1, N), random.lognormal(-3, 1, N)


def seconds(action):
    """Processor time, so that other programs count little."""
    start = time.thread_time()
    action()
    return time.thread_time() - start


def numpy_steps(rate, decay, n_steps):
    ages, ceiling, loss = np.ones(N), rate / decay, -np.expm1(-decay)
    for _ in range(n_steps):
        left = np.exp(-decay * ages)
        index = ceiling * (1 - left - ages * loss * left)
        ages[np.argpartition(index, N - CRAWLS)[N - CRAWLS :]] = 0
        ages += 1


@pytest.mark.benchmark(group="policy step")
def test_a_calendar_step(benchmark, sites, capsys):
    """Amortised over 4,000 steps from scratch, placing all sites included."""
    random, out = np.random.default_rng(0), np.zeros(20_000)
    unit = min(seconds(lambda: random.random(out=out)) for _ in range(200)) / out.size * 1e9
    policies = {method: WhittlePolicy(*sites, CRAWLS, method=method) for method in ("calendar", "brute")}
    calendar = min(seconds(lambda: policies["calendar"].simulate(STEPS)) for _ in range(5)) / STEPS
    brute = min(seconds(policies["brute"].step) for _ in range(60))
    by_numpy = min(seconds(lambda: numpy_steps(*sites, 10)) for _ in range(3)) / 10
    with capsys.disabled():
        print(
            f"\nunit {unit:.2f} ns; a step: calendar {1e3 * calendar:.3f} ms "
            f"({1.6e3 * calendar / unit:.3f} at 1.6 ns), "
            f"brute force {1e3 * brute:.2f} ms ({brute / calendar:.0f}x), numpy {1e3 * by_numpy:.1f} ms "
            f"({by_numpy / calendar:.0f}x)"
        )
    benchmark.pedantic(lambda: policies["calendar"].simulate(STEPS), rounds=1)


@pytest.mark.benchmark(group="relaxed bound")
def test_relaxed_bound(benchmark, sites):
    benchmark.pedantic(lambda: relaxed_bound(*sites, CRAWLS), rounds=2)
