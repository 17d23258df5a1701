"""Ensembles of one learner, eight replications at a time, where they can be advanced side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np

from knapsolve._core.lanes import WIDTH, KnapsackLanes
from knapsolve._interrupt import Cancellation
from knapsolve.environments.rates import BernoulliEnvironment, PollingEnvironment, expected_detections
from knapsolve.learners.lakg import LAKG

CHUNK = 8192  # polls of each replication between two looks at pending signals


def runs_side_by_side(learner: Any, environment: Any, scheduler: str, n_runs: int) -> bool:
    """Whether the three roles fit `run_together`, with enough replications to be worth it.

    Amounts must not vanish, or there might be nothing to poll.
    """
    return (
        n_runs >= WIDTH
        and scheduler == "random"
        and type(learner) is LAKG
        and type(environment) in (BernoulliEnvironment, PollingEnvironment)
        and environment.switch_every is None
        and bool(learner._tables()[1][1] > 0)
    )


def run_groups(
    runs: list[tuple[LAKG, np.random.SeedSequence]],
    environment: BernoulliEnvironment | PollingEnvironment,
    records: np.ndarray,
    capacity: float,
    cancellation: Cancellation,
    advance: Callable[[int], None],
    n_jobs: int | None,
) -> list[dict[str, Any]]:
    """All replications in groups of up to eight, each group a task; returns the record of each."""
    groups = [runs[first : first + WIDTH] for first in range(0, len(runs), WIDTH)]
    # in processes, learners are written to: no read-only memory maps
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", max_nbytes=None)
    tasks = (joblib.delayed(run_together)(group, environment, records, capacity, cancellation) for group in groups)
    results = []
    for group in parallel(tasks):
        results.extend(group)
        advance(len(group) * int(records[-1]))
    return results


def run_together(
    runs: list[tuple[LAKG, np.random.SeedSequence]],
    environment: BernoulliEnvironment | PollingEnvironment,
    records: np.ndarray,
    capacity: float,
    cancellation: Cancellation,
) -> list[dict[str, Any]]:
    """Up to eight replications; returns the record of each, as for a single one.

    A replication's numbers come from its own seed alone, so the grouping does not matter.
    """
    padding = [(copy.deepcopy(runs[-1][0]), runs[-1][1]) for _ in range(WIDTH - len(runs))]
    games = [learner._core() for learner, _ in runs + padding]
    words = np.array([seed.generate_state(4, np.uint64) for _, seed in runs + padding])
    worlds = [environment._core() for _ in games]
    lanes = KnapsackLanes(games, worlds, words, 1 / capacity)
    rates = worlds[0].rates()
    counts, values = [], []
    done = 0
    for point in records.tolist():
        while done < point:
            steps = min(point - done, CHUNK)
            found = lanes.run(steps)
            done += steps
            cancellation.check()
        counts.append(found)
        values.append([expected_detections(game.amounts(), rates) for game in games[: len(runs)]])
    return [
        {"value": value, "detections": count, "amounts": game.amounts()}
        for value, count, game in zip(np.array(values).T, np.array(counts).T, games[: len(runs)])
    ]
