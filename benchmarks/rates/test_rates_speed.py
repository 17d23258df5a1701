"""Speed of change rates: a poll in the closed loop, a fit, an allocation; beside Python twins.

    python benchmarks/rates/test_rates_speed.py

Figures are the smallest of many short trials, scaled to a machine on which numpy takes 1.6 ns for a random number.
"""

import copy
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from closed_loop import REFERENCE, best_of, random_number_cost, verdict

from knapsolve import ChangeRateEstimator, RateAllocator
from knapsolve._core.loop import run
from knapsolve._core.schedulers import DeadlineOrder
from knapsolve._identifiers import factorize
from knapsolve.environments import PollingEnvironment, zipf_unchanged

POLLS = 20_000
LOOPS = [  # n, estimator, criterion, target in ns a poll
    (500, "recursive", "detection", 75),
    (1_000_000, "recursive", "detection", 300),
    (500, "recursive", "harmonic", None),
    (1_000_000, "recursive", "harmonic", None),
    (500, "recursive", "freshness", None),
    (500, "recursive", "renewal", None),
    (500, "multiplicative", "detection", None),
    (500, "bayes", "detection", None),
]


def closed_loop(n, estimator="recursive", criterion="detection", even=False):
    """A function that makes some polls in the middle of a long run.

    Of Zipf pages a few get most polls and stay in the caches; where all change alike (`even`) each poll misses them.
    """
    allocator = RateAllocator(estimator=estimator, criterion=criterion)
    allocator._begin(n)
    rng = np.random.default_rng(0)
    unchanged = np.exp(-np.exp(rng.normal(size=n)) / n) if even else rng.permutation(zipf_unchanged(n, 0.9, 1.5))
    world = PollingEnvironment(unchanged)._core()
    learner, streams = allocator._core(), [np.random.default_rng(seed) for seed in (1, 2)]
    order = DeadlineOrder(n, DeadlineOrder.allocate(n))
    order.start(learner, streams[0])
    done = 0

    def polls(count=POLLS):
        nonlocal done
        run(learner, order, world, done, done + count, 0.0, 1.0, *streams)
        done += count

    polls(max(200_000, 2 * n))
    return polls


def log(n_polls, n_items, seed=0):
    """A poll log of items whose rates are Gamma distributed."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(1.0, 1.0, n_items)
    items = rng.integers(0, n_items, n_polls)
    gaps = rng.exponential(1.0, n_polls)
    return np.column_stack([items, gaps]), (rng.random(n_polls) < -np.expm1(-rates[items] * gaps)).astype(int)


def recursive_in_python(items, gaps, changed, n):
    """The recursive rule as one would write it: rates (n,)."""
    from tests.rates.twins import RecursiveTwin

    twins = [RecursiveTwin(1.0) for _ in range(n)]
    for i, e, v in zip(items.tolist(), gaps.tolist(), changed.tolist()):
        twins[i].learn(e, v, pooled=1.0)
    return twins


@pytest.mark.parametrize(("n", "estimator", "criterion", "target"), LOOPS)
def test_poll(benchmark, n, estimator, criterion, target):
    polls = closed_loop(n, estimator, criterion)
    benchmark.extra_info["polls"] = POLLS
    benchmark.pedantic(polls, rounds=50, iterations=1)


@pytest.mark.parametrize("estimator", ["mle", "recursive"])
def test_fit(benchmark, estimator):
    X, y = log(1_000_000, 100_000)
    benchmark.pedantic(lambda: ChangeRateEstimator(estimator).fit(X, y).rates_, rounds=3, iterations=1)


@pytest.mark.parametrize("criterion", ["detection", "freshness", "harmonic"])
def test_allocate(benchmark, criterion):
    allocator = RateAllocator(criterion=criterion).fit(*log(2_000_000, 1_000_000))
    benchmark.pedantic(allocator.allocate, rounds=5, iterations=1)


def main():
    print("recursive learner with EDF, ns a poll     scaled  target   (raw)")
    for n, estimator, criterion, target in LOOPS:
        cost = best_of(closed_loop(n, estimator, criterion), 100, POLLS)
        scaled = cost * REFERENCE / random_number_cost()
        word = verdict(scaled, target) if target else ""
        row = f"{scaled:8.1f} {target or '':>6}  {word:4s} {cost:8.1f}"
        print(f"{estimator:14s} {criterion:10s} n={n:<8d} {row}", flush=True)
    cost = best_of(closed_loop(1_000_000, even=True), 100, POLLS)
    scaled = cost * REFERENCE / random_number_cost()
    print(f"recursive detection, n=1000000, all pages alike: {scaled:.1f} ({cost:.1f} raw)", flush=True)
    X, y = log(20_000, 500)
    items, gaps = X[:, 0].astype(int), X[:, 1]
    twin = best_of(lambda: recursive_in_python(items, gaps, y, 500), 3, y.size)
    ours = best_of(lambda: ChangeRateEstimator("recursive").fit(X, y), 20, y.size)
    print(f"recursive rule in Python {twin:.0f} ns a poll, fit {ours:.0f}: {twin / ours:.0f} times", flush=True)
    scale = REFERENCE / random_number_cost()
    X, y = log(10_000_000, 1_000_000)
    for estimator in ("recursive", "mle"):
        cost = best_of(lambda estimator=estimator: ChangeRateEstimator(estimator).fit(X, y).rates_, 2, 1e9)
        row = f"{cost * scale:.2f} s, target 3, {verdict(cost * scale, 3)} ({cost:.2f} s raw)"
        print(f"fit {estimator} on 1e7 polls of 1e6 items: {row}", flush=True)
    fitted = ChangeRateEstimator("recursive").fit(X, y)
    copies = iter([copy.copy(fitted) for _ in range(5)])
    ours = best_of(lambda: next(copies).partial_fit(X[:1000], y[:1000]), 5, 1e6)
    hashed = best_of(lambda: dict(zip(fitted.materials_.tolist(), range(fitted.materials_.size))), 5, 1e6)
    print(
        f"the first 1,000 polls after a fit of 1e6 items: {ours:.1f} ms (a dict of all items: {hashed:.0f} ms)",
        flush=True,
    )
    for criterion in ("detection", "freshness", "poisson", "harmonic", "renewal"):
        allocator = RateAllocator(criterion=criterion).fit(X[:3_000_000], y[:3_000_000])
        cost = best_of(lambda allocator=allocator: allocator.allocate(3e5), 20, 1e6)
        row = f"{cost * scale:.1f} ms, target 50, {verdict(cost * scale, 50)} ({cost:.1f} ms raw)"
        print(f"allocate {criterion} at n=1e6, capacity 3e5: {row}", flush=True)
    names = np.array([f"https://example.org/{k}" for k in range(100_000)], dtype=object)
    pages = names[np.random.default_rng(0).integers(0, names.size, 2_000_000)]
    column = pyarrow.array(pages.tolist())
    cost = best_of(lambda: factorize(column), 3, 1e9)
    print(f"factorise 2e6 string identifiers: Arrow {cost * scale:.2f} s, target 1 ({cost:.2f} s raw)")


if __name__ == "__main__":
    main()
