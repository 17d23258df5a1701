"""Replications of Glimsdal and Granmo's experiments: two materials, every allocation kept.

The score of a run is the sum over polls of x_1 d_1(x_1) + x_2 d_2(x_2) at the amounts held for each poll.
"""

from __future__ import annotations

import copy
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from knapsolve._core.credit_order import CreditOrder, PresentDeadlineOrder
from knapsolve._core.loop import run as run_loop
from knapsolve._core.schedulers import DeadlineOrder, RandomOrder
from knapsolve.environments import BernoulliEnvironment
from knapsolve.learners import GPOKS, LAKG
from knapsolve.simulation import simulate

N_POLLS = 1000
CHECKPOINTS = (10, 100, N_POLLS)
N_JOBS = 2


def unit_values(amounts: np.ndarray, unchanged: Any) -> np.ndarray:
    """Value sum x d(x) of each allocation, (..., n) -> (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = -amounts * np.expm1(np.log(unchanged) / amounts)
    return np.where(amounts > 0, values, 0.0).sum(axis=-1)


def order_by(name: str, n: int) -> Any:
    """A scheduler of n materials."""
    if name == "edf":
        return DeadlineOrder(n, DeadlineOrder.allocate(n))
    return {"credit": CreditOrder, "present": PresentDeadlineOrder, "random": RandomOrder}[name]()


def one_run(learner: GPOKS, unchanged: Any, seed: np.random.SeedSequence, order: str, n_polls: int) -> np.ndarray:
    """Train a learner that has seen nothing in place; the amounts held for each poll, (n_polls, n)."""
    learner_stream, world_stream = (np.random.default_rng(child) for child in seed.spawn(2))
    n = len(unchanged)
    if not hasattr(learner, "materials_"):
        learner._begin(n)
    core, scheduler, trail = learner._core(), order_by(order, n), np.zeros((n_polls, n))
    core.start_run(learner_stream)
    core.keep_trail(trail)
    scheduler.start(core, learner_stream)
    world = BernoulliEnvironment(unchanged)._core()
    run_loop(core, scheduler, world, 0, n_polls, 0.0, 1.0, learner_stream, world_stream)
    return trail


def scores(learner: GPOKS, unchanged: Any, n_runs: int, seed: int, order: str = "present") -> np.ndarray:
    """Accumulated values of GPOKS at the checkpoints, (n_runs, 3)."""
    fresh = clone(learner)
    fresh._begin(len(unchanged))  # its grid and features serve every run

    def score(child: np.random.SeedSequence) -> np.ndarray:
        trail = one_run(copy.deepcopy(fresh), unchanged, child, order, N_POLLS)
        return unit_values(trail, unchanged).cumsum()[np.array(CHECKPOINTS) - 1]

    parallel = joblib.Parallel(n_jobs=N_JOBS, prefer="threads")
    return np.array(parallel(joblib.delayed(score)(child) for child in np.random.SeedSequence(seed).spawn(n_runs)))


def lakg_scores(unchanged: Any, n_runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """LAKG with 100 states, linear amounts, earliest deadline first: accumulated values and changes found.

    Both (n_runs, 3); the changes found have the values for expectation, and the noise of the polls beside.
    """
    learner, world = LAKG(resolution=100, exponent=1.0, n_materials=2), BernoulliEnvironment(unchanged)
    history = simulate(learner, world, N_POLLS, n_runs=n_runs, n_jobs=N_JOBS, record_every=1, random_state=seed)
    assert history.value is not None
    start = unit_values(np.full(2, 0.5), unchanged)  # held for the first poll
    values = np.column_stack([np.full(n_runs, start), history.value[:, :-1]])
    at = np.array(CHECKPOINTS) - 1
    return values.cumsum(axis=1)[:, at], history.detections[:, at].astype(float)
