"""What `partial_fit` of one row costs every learner, among few and many materials.

Beside it the same with nothing kept or put aside by rows: tables are made anew and the whole state is copied each time.
"""

import time
import warnings

import numpy as np

from knapsolve import ChangeRateEstimator, learners
from knapsolve.learners.base import PollLogLearner

SIZES = (500, 100_000)
LEARNERS = {
    "LAKG": lambda n: learners.LAKG(capacity=n / 10),
    "LAKG, 2**20 states": lambda n: learners.LAKG(capacity=n / 10, resolution=2**20),
    "HTRAA": lambda n: learners.HTRAA(capacity=n / 10),
    "HTRAA, 2**20, curved": lambda n: learners.HTRAA(capacity=n / 10, resolution=2**20, exponent=1.3),
    "GPOKS": lambda n: learners.GPOKS(capacity=n / 10, smallest=1e-3, n_points=20),
    "PlugInWhittle": lambda n: learners.PlugInWhittle(capacity=n // 10),
    "ChangeRateEstimator": lambda n: ChangeRateEstimator(),
} | {
    name: lambda n, name=name: getattr(learners, name)(capacity=n / 10)
    for name in ("AdaptiveIntervalPolicy", "EstimatorPolicy", "OptimalPolicy", "ProportionalPolicy", "RateAllocator",
                 "RenewalIndexPolicy", "UniformPolicy", "WindowedRatePolicy")
}  # fmt: skip


def cost(learner, n, seconds, anew=False):
    """Seconds that a row takes, the least of many."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        row, found = np.array([[len(times) % n, 3.0]]), np.array([len(times) % 2])
        if anew:
            learner.__dict__.pop("_kept", None)
        start = time.perf_counter()
        learner.partial_fit(row, found)
        times.append(time.perf_counter() - start)
    return min(times)


def plain_cost(learner, n, seconds):
    """The same with nothing kept."""
    kind = type(learner)
    by_rows = isinstance(learner, PollLogLearner) and learner._row_axes is not None
    plain = type(kind.__name__, (kind,), {"_row_axes": None}) if by_rows else kind
    learner.__class__ = plain
    try:
        return cost(learner, n, seconds, anew=True)
    finally:
        learner.__class__ = kind


def main(seconds=1.0):
    print("one row, microseconds" + "".join(f"{f'{n:,} materials':>19}{'nothing kept':>14}" for n in SIZES))
    rng = np.random.default_rng(0)
    warnings.simplefilter("ignore")
    for name, make in LEARNERS.items():
        cells = []
        for n in SIZES:
            X = np.column_stack([np.tile(np.arange(n), 2), rng.integers(1, 20, 2 * n)])
            learner = make(n).fit(X, rng.integers(0, 2, 2 * n))
            cells.append(f"{1e6 * cost(learner, n, seconds):19.1f}{1e6 * plain_cost(learner, n, seconds):14.1f}")
        print(f"{name:21}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
