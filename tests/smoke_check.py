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
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged


def load_everything() -> int:
    """Every public name resolves and every compiled module loads; return how many of the latter."""
    assert Path(knapsolve.__file__).is_relative_to(sys.prefix), knapsolve.__file__
    for name in knapsolve.__all__:
        getattr(knapsolve, name)
    modules = [
        importlib.import_module(f"knapsolve._core.{m.name}") for m in pkgutil.iter_modules(_core.__path__)
    ]
    return len(modules)


def learn_from_a_log() -> None:
    """Item 0 changes at every poll, item 2 never: the amounts say so and sum to the capacity."""
    rng = np.random.default_rng(0)
    item = rng.integers(3, size=6000)
    changed = (rng.random(6000) < np.array([1.0, 0.3, 0.0])[item]).astype(int)
    for learner in (knapsolve.LAKG(random_state=0), knapsolve.HTRAA(random_state=0)):
        learner.partial_fit(np.column_stack([item, np.ones(6000)]), changed)
        amounts = dict(zip(learner.materials_.tolist(), learner.allocate(capacity=10.0)))
        assert abs(sum(amounts.values()) - 10.0) < 1e-9, amounts
        assert amounts[0] > amounts[2], amounts


def simulate_ensembles() -> None:
    """Learning beats equal shares in the loop, whatever polls next."""
    unchanged = zipf_unchanged(64, 0.9, 1.5)
    for make in (BernoulliEnvironment, PollingEnvironment):
        for scheduler in ("edf", "random"):
            history = knapsolve.simulate(
                knapsolve.LAKG(), make(unchanged), 100_000, scheduler=scheduler, n_runs=2, random_state=0
            )
            value = history.mean()
            assert np.isfinite(value).all()
            assert value[-1] > value[0], value


def replay_real_data() -> None:
    """The table of upload dates travels with the package."""
    items, times = knapsolve.datasets.load_debian_uploads()
    assert len(items) == len(times) > 10_000


if __name__ == "__main__":
    n_modules = load_everything()
    learn_from_a_log()
    simulate_ensembles()
    replay_real_data()
    print(f"knapsolve {knapsolve.__version__}: {n_modules} compiled modules, numpy {np.__version__}")
