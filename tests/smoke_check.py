"""What an installed knapsolve must do in an environment that holds nothing but its dependencies.

Run as `python -I smoke_check.py` by test_wheel.py; uses no file of the source tree. Prints one line.
"""

import importlib
import pkgutil
import sys
from pathlib import Path

import numpy as np

import knapsolve
from knapsolve import _core
from knapsolve._core.automata import KnapsackGame
from knapsolve._core.environments import Bernoulli
from knapsolve._core.loop import run
from knapsolve._core.schedulers import DeadlineOrder, RandomOrder


def imported() -> int:
    """Every public name resolves and every compiled module loads; return how many of the latter."""
    assert Path(knapsolve.__file__).is_relative_to(sys.prefix), knapsolve.__file__
    for name in knapsolve.__all__:
        getattr(knapsolve, name)
    modules = [importlib.import_module(f"knapsolve._core.{m.name}") for m in pkgutil.iter_modules(_core.__path__)]
    return len(modules)


def closed_loop() -> None:
    """The compiled loop over numpy's generators: amounts sum to the capacity, the busiest item gets most."""
    n, resolution = 8, 100
    shares = (np.arange(resolution + 1) / resolution) ** 1.3
    units = np.rint(shares * 2.0**55).astype(np.uint64)
    rate = 1.0 / np.arange(1, n + 1) ** 1.5
    for edf in (True, False):
        learner = KnapsackGame(np.full(n, 20, np.int32), n, shares, units, 1.0)
        scheduler = DeadlineOrder(DeadlineOrder.allocate(n)) if edf else RandomOrder()
        streams = [np.random.default_rng(seed) for seed in (1, 2)]
        environment = Bernoulli(rate.copy(), 0, np.cumsum(rate), np.arange(n, dtype=np.int32))
        scheduler.start(learner, streams[0])
        polls, detections = run(learner, scheduler, environment, 0, 200_000, 0.0, 1.0, *streams)
        amounts = learner.amounts()
        assert polls == 200_000
        assert 0 < detections < polls
        assert abs(amounts.sum() - 1.0) < 0.05, amounts.sum()
        assert amounts.argmax() == 0, amounts


def public_interface() -> None:
    """Learn from a poll log of strings, allocate, and simulate a whole ensemble."""
    rng = np.random.default_rng(0)
    log = np.empty((2000, 2), dtype=object)
    log[:, 0] = rng.choice(["often", "seldom", "never"], size=2000)
    log[:, 1] = 1.0
    changed = (rng.random(2000) < np.vectorize({"often": 0.9, "seldom": 0.3, "never": 0.0}.get)(log[:, 0])).astype(int)
    for Learner in (knapsolve.LAKG, knapsolve.HTRAA):
        learner = Learner(random_state=0).partial_fit(log, changed)
        amounts = dict(zip(learner.materials_, learner.allocate(capacity=10.0)))
        assert abs(sum(amounts.values()) - 10.0) < 1e-9
        assert amounts["often"] > amounts["never"], amounts
        environment = knapsolve.environments.PollingEnvironment(np.linspace(0.1, 0.95, 16))
        history = knapsolve.simulate(Learner(), environment, 5000, n_runs=2, random_state=0)
        assert np.isfinite(history.value).all()


if __name__ == "__main__":
    n_modules = imported()
    closed_loop()
    if "simulate" in knapsolve.__all__:
        public_interface()
    print(f"knapsolve {knapsolve.__version__}: {n_modules} compiled modules, numpy {np.__version__}")
