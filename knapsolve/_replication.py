"""One run of the closed loop: a learner, a scheduler and an environment, and the record of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from knapsolve._core.loop import run as run_loop
from knapsolve._core.python_roles import PythonEnvironment, PythonLearner
from knapsolve._core.schedulers import DeadlineOrder, RandomOrder
from knapsolve._interrupt import Cancellation
from knapsolve.environments.rates import expected_detections
from knapsolve.environments.trace import TraceEnvironment

CHUNK = 65536  # polls between two looks at pending signals, unless the compiled learner has a `chunk`


def own(environment: Any) -> Any:
    """The environment of one of several runs: what is written in Python may keep state, so it is copied."""
    return environment if hasattr(environment, "_core") else copy.deepcopy(environment)


def replicate(
    learner: Any,
    seed: np.random.SeedSequence,
    environment: Any,
    records: np.ndarray,
    scheduler: str,
    capacity: float,
    cancellation: Cancellation,
    advance: Callable[[int], None] = lambda polls: None,
) -> dict[str, Any]:
    """One replication; returns the record of it."""
    streams = [np.random.default_rng(child) for child in seed.spawn(2)]
    learning = _compiled_learner(learner, environment.n_materials)
    world = (
        environment._core()
        if hasattr(environment, "_core")
        else PythonEnvironment(environment, environment.n_materials)
    )
    if hasattr(learning, "cancellation"):  # its polls may be long
        learning.cancellation = cancellation
    learning.start_run(streams[0])
    if hasattr(world, "start_run") and environment is not learner:
        world.start_run(streams[1])
    chunk = getattr(learning, "chunk", CHUNK)
    order = _order(learning, scheduler)
    order.start(learning, streams[0])
    start = environment.start if isinstance(environment, TraceEnvironment) else 0.0
    done, detections = 0, 0
    values: list[float] = []
    counts: list[int] = []
    for point in records.tolist():
        while done < point:
            stop = min(point, done + chunk)
            made, found = run_loop(learning, order, world, done, stop, start, 1 / capacity, *streams)
            done, detections = done + made, detections + found
            cancellation.check()
            advance(made)
        counts.append(detections)
        if hasattr(world, "rates"):
            values.append(expected_detections(_amounts(learning), world.rates()))
        elif hasattr(environment, "value"):
            values.append(float(environment.value(_amounts(learning))))
    result = {"value": values or None, "detections": counts, "amounts": _amounts(learning)}
    result["concern"] = getattr(learning, "concern", None)
    return result | (_account(world, environment) if hasattr(world, "close") else {})


def _amounts(learning: Any) -> np.ndarray:
    """Amounts held now; an exception of a learner written in Python is raised here."""
    amounts = learning.amounts()
    if learning.error is not None:
        raise learning.error
    return amounts


def _compiled_learner(learner: Any, n: int) -> Any:
    return learner._core() if hasattr(learner, "_core") else PythonLearner(learner, n)


def _order(learning: Any, scheduler: str) -> Any:
    """What says whom to poll next: the learner's own order, or one by its amounts."""
    if hasattr(learning, "own_order"):
        return learning.own_order()
    n = learning.n_materials
    return DeadlineOrder(n, DeadlineOrder.allocate(n)) if scheduler == "edf" else RandomOrder()


def _account(world: Any, environment: Any) -> dict[str, np.ndarray]:
    """What a trace counted by item: totals of its polls, and means over the time counted."""
    account, span = world.close(environment.stop), environment.stop - environment.count_from
    totals = {f"item_{name}": account[name] for name in ("polls", "detections", "carried")}
    return totals | {f"item_{name}": account[name] / span for name in ("fresh", "penalty", "age")}
