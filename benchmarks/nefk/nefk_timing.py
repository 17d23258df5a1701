"""The problem whose solves are timed, and how: the least of several times, in turns."""

import time

import numpy as np


def problem(n, seed=0):
    generator = np.random.default_rng(seed)
    return np.exp(1.5 * generator.standard_normal(n)), np.exp(generator.standard_normal(n)), 0.3 * n


def best(work, repeats=5, clock=time.perf_counter):
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def best_of_each(works, repeats=7, clock=time.perf_counter):
    """Least seconds of each work, taken in turns so that a busy machine is so for all of them."""
    times = np.array([[best(work, 1, clock) for work in works] for _ in range(repeats)])
    return times.min(axis=0)
