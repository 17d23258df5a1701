"""Timetables of a million polls, beside the same slots by Python's heapq: `pytest -s benchmarks/rates`."""

import time

import numpy as np
import pytest

from knapsolve.schedulers import timetable
from tests.schedulers.test_timetable import slots_by_heapq

N_POLLS = 1_000_000


def seconds(call, repeats):
    """Least time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize("n", [1_000, 100_000])
def test_a_million_polls(n):
    rng = np.random.default_rng(0)
    amounts, last = rng.lognormal(0, 1, n), -rng.random(n)
    stop = (N_POLLS + 0.5) / amounts.sum()
    ours = seconds(lambda: timetable(amounts, last, 0.0, stop, random_state=0), 3)
    theirs = seconds(lambda: slots_by_heapq(amounts.tolist(), last.tolist(), 0.0, N_POLLS), 1)
    ratio = theirs / ours
    print(f"\n{n} items, {N_POLLS} polls: {ours:.2f} s, jitter included; heapq {theirs:.2f} s ({ratio:.0f}x)")
