"""Seeded results that must not change by accident. Run `python -m tests.regenerate_golden` to renew them.

Each entry is a digest of one short run: detections and final amounts, bit for bit.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from knapsolve import (
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EDFScheduler,
    EstimatorPolicy,
    RandomScheduler,
    RenewalIndexPolicy,
    simulate,
)
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged

GOLDEN = Path(__file__).with_name("golden.json")
DAY = 86_400.0


def digest(*arrays):
    """Bytes of the arrays as float64, hashed; all of them are results of +, -, * and / alone."""
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(a, dtype=np.float64).tobytes() for a in arrays)
    ).hexdigest()[:24]


def learners():
    return {
        "lakg": LAKG(resolution=400, exponent=1.0),
        "htraa": HTRAA(resolution=100),
        "htraa-wide": HTRAA(resolution=5_000, update="inaction-penalty"),
        "htraa-deep": HTRAA(resolution=(9, 40, 700, 20, 5, 6), update="reward-inaction"),
    }


def compute():
    """All golden results by name."""
    results = {}
    unchanged = zipf_unchanged(50, 0.9, 1.0, n_perturbations=100, random_state=3)
    results["zipf_unchanged"] = digest(unchanged)
    environments = {
        "bernoulli": BernoulliEnvironment(unchanged),
        "pages": PollingEnvironment(unchanged),
        "switching": PollingEnvironment(unchanged, switch_every=70),
    }
    for name in learners():
        for world, environment in environments.items():
            for scheduler in ("edf", "random"):
                history = simulate(
                    learners()[name], environment, 5_000, scheduler=scheduler, n_runs=3, random_state=12
                )
                results[f"{name} {world} {scheduler}"] = digest(history.detections, history.amounts)
    items, times = load_debian_uploads()
    trace = TraceEnvironment(items, times / DAY, start=15_000.0, stop=15_400.0)
    results["debian uploads"] = digest(times, trace.n_changes)
    for name, learner in {"lakg": LAKG(resolution=900, exponent=1.0), "htraa": HTRAA(resolution=300)}.items():
        history = simulate(learner.set_params(capacity=20.0), trace, random_state=4)
        results[f"debian {name}"] = digest(history.detections, history.item_polls, history.item_detections)
    for name, learner in {"renewal": RenewalIndexPolicy(), "nutch": AdaptiveIntervalPolicy()}.items():
        history = simulate(learner.set_params(capacity=20.0), trace, random_state=4)
        results[f"debian {name}"] = digest(history.detections, history.item_polls, history.item_detections)
    history = simulate(
        EstimatorPolicy(phase=1_000, estimate="detection-rate"), environments["pages"], 3_000, random_state=1
    )
    results["estimator"] = digest(history.detections)
    amounts = np.random.default_rng(0).integers(1, 1000, 700) / 64
    results["edf"] = digest(*EDFScheduler(amounts, random_state=1).next(20_000))
    results["random access"] = digest(RandomScheduler(amounts, random_state=1).next(20_000)[0])
    return results


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(compute(), indent=1, sort_keys=True) + "\n")
