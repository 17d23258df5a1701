"""GPOKS a poll, a draw, an update, beside refitting scikit-learn's regressor, in one run.

Targets, on a machine where numpy's `Generator.random(out=a)` costs 1.6 ns a number: update with mean 3 us, truncated
draw 20 us, a poll of two materials 40 us, of 512 materials 40 us. Times are those of the thread, minima of trials.
"""

import time

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from knapsolve import GPOKS, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

PAIR = BernoulliEnvironment([0.75, 0.25])
MANY = BernoulliEnvironment(zipf_unchanged(512, 0.9, 1.5))


def least(action, trials):
    """Seconds of this thread that the fastest trial took."""
    times = []
    for _ in range(trials):
        start = time.thread_time()
        action()
        times.append(time.thread_time() - start)
    return min(times)


def unit():
    """Nanoseconds of one of numpy's random numbers, now."""
    generator, numbers = np.random.default_rng(0), np.empty(10**5)
    return least(lambda: generator.random(out=numbers), 40) / numbers.size * 1e9


def a_poll(world, polls, trials, **parameters):
    """Microseconds of a poll of a learner that has made as many before, without the start of a simulation."""
    learner = GPOKS(**parameters)
    simulate(learner, world, polls, record_every=polls, random_state=0)

    def cost(n):
        return least(lambda: simulate(learner, world, n, record_every=n, random_state=1), trials)

    return (cost(polls) - cost(1)) / (polls - 1) * 1e6


def refit(t, trials=3):
    """Microseconds of fitting scikit-learn's regressor to t polls and drawing one curve."""
    rng = np.random.default_rng(0)
    x, y, grid = rng.random((t, 1)), rng.integers(0, 2, t), np.arange(1, 100)[:, None] / 100

    def refit_and_draw():
        GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(x, y).sample_y(grid, random_state=0)

    return least(refit_and_draw, trials) * 1e6


@pytest.mark.benchmark(group="gpoks")
def test_costs_reach_their_targets(benchmark, capsys):
    learner = GPOKS()
    simulate(learner, PAIR, 500, random_state=0)
    rough = GPOKS(kernel=WhiteKernel(1.0), n_materials=2, scale="linear").fit([[0, 2.0], [1, 2.0]], [1, 0])
    generator = np.random.default_rng(0)
    rows = {
        "update with mean": (a_poll(PAIR, 400, 40, draw="mean", monotone=False) / 2, 3.0),
        "truncated draw": (least(lambda: learner.sample_curves(0, 200, generator), 40) / 200 * 1e6, 20.0),
        "white-noise draw": (least(lambda: rough.sample_curves(0, 4, generator), 5) / 4 * 1e6, 40_000.0),
        "a poll, two materials": (a_poll(PAIR, 200, 40), 40.0),
        "a poll, 512 materials": (a_poll(MANY, 2000, 8), 40.0),
    }
    rejected = a_poll(PAIR, 200, 20, sampler="rejection", max_tries=300)
    scale = 1.6 / unit()
    with capsys.disabled():
        print(f"\nnumpy's random number: {1.6 / scale:.2f} ns; times scaled to 1.6 ns")
        for name, (cost, target) in rows.items():
            verdict = "pass" if cost * scale <= target else "MISS"
            print(f"  {name:<24}{cost * scale:8.2f} us   target {target:g} us   {verdict}")
        print(f"  the same by rejection, at most 300 tries a draw: {rejected * scale:.2f} us")
        for t in (100, 1000):
            cost = refit(t)
            ratio = cost / rows["a poll, two materials"][0]
            print(f"  scikit-learn, t = {t:<6}{cost * scale:10.0f} us   {ratio:.0f}x a poll")
    benchmark.pedantic(lambda: a_poll(PAIR, 200, 1), rounds=1)
