"""The closed loop: a learner, a scheduler and an environment; and the record of it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from knapsolve._core.python_roles import PythonEnvironment
from knapsolve._ensembles import run_groups, runs_side_by_side
from knapsolve._interrupt import Cancellation
from knapsolve._locks import Shared
from knapsolve._progress import report_progress
from knapsolve._replication import own, replicate
from knapsolve._validation import (
    check_capacity,
    check_choice,
    check_integer,
    check_jobs,
    check_progress,
    resolve_random_state,
    resolve_seed_sequence,
)
from knapsolve.environments.trace import TraceEnvironment
from knapsolve.history import History
from knapsolve.restless.crawling import simulate_ephemeral

N_RECORDS = 100  # by default
GOLDEN = 0.6180339887498949


def simulate(
    learner: Any,
    environment: Any,
    n_polls: int | None = None,
    *,
    scheduler: str = "edf",
    n_runs: int = 1,
    n_jobs: int | None = 1,
    record_every: int | None = None,
    random_state: Any = None,
    progress: bool | Callable[[int, int], None] = False,
) -> History:
    """Let a learner poll an environment.

    Eight or more runs of `LAKG` with random access, at rates that do not switch, are made side by side, on
    random numbers of their own: they are other runs than those of a smaller ensemble.

    Parameters
    ----------
    learner : estimator or object
        A knapsolve learner, or any object with ``capacity``, ``amount(i)`` (polls per unit of time of
        material i) and ``observe(i, elapsed, changed)``. A single run trains it in place, from the state that
        it is in; several runs train copies of it.
    environment : object
        From `knapsolve.environments`, or any object with ``n_materials`` and ``poll(i, time, amount)`` that
        returns ``(changed, elapsed)``; if it has ``value(amounts)``, that is recorded. In an
        `EphemeralEnvironment` a learner or `WhittlePolicy` decides which sites to crawl: see
        `knapsolve.restless.simulate_ephemeral`. Several runs poll copies of one that is written in Python, each
        from the state that it is in. Learners and environments written in Python that have ``start_run(generator)``
        are given a numpy Generator there, before the first poll of a run: random numbers of their own would be the
        same in all runs.
    n_polls : int, optional
        Number of polls; poll k takes place at time ``k / capacity``. Needed except for a `TraceEnvironment`,
        which is polled to its end by default. In an `EphemeralEnvironment`, the number of decisions.
    scheduler : {"edf", "random"}, default="edf"
        Earliest deadline first, or random access in proportion to the amounts. Index policies bring their own
        order whatever this says.
    n_runs : int, default=1
        Number of independent replications.
    n_jobs : int or None, default=1
        Replications at a time, in threads; ``joblib.parallel_config`` chooses other engines. The result does
        not depend on it.
    record_every : int, optional
        Polls between records; a hundred records by default. Where ranks switch, records are staggered over
        the phase of the switching.
    random_state : None, int, RandomState or Generator, default=None
        Source of every random number: two streams a run, one for learner and scheduler, one for the
        environment.
    progress : bool or callable, default=False
        Show a progress bar (needs rich), or call ``progress(polls_done, polls_in_all)`` now and then.

    Returns
    -------
    history : History
        Polls, values, detections and final amounts; or rewards, from an `EphemeralEnvironment`.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, or learner and environment do not fit; the learner is as it was.
    KeyboardInterrupt
        On Ctrl-C, within a fraction of a second; a learner in its single run keeps what it has learnt.
    RuntimeError
        If `progress` fits a learner that is in its single run. It may read it; other threads wait until the end.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), figure 1.

    Examples
    --------
    >>> from knapsolve import LAKG, simulate
    >>> from knapsolve.environments import BernoulliEnvironment, zipf_unchanged
    >>> environment = BernoulliEnvironment(zipf_unchanged(50, .9, 1.5))
    >>> history = simulate(LAKG(resolution=500), environment, 20_000, n_runs=4, random_state=0)
    >>> bool(history.mean()[-1] > .9)
    True
    """
    scheduler = check_choice("scheduler", scheduler, ("edf", "random"))
    n_runs = check_integer("n_runs", n_runs, low=1)
    check_jobs(n_jobs)
    check_progress(progress)
    if hasattr(environment, "crawl"):
        return _crawl(learner, environment, n_polls, record_every, n_runs, n_jobs, random_state, progress)
    capacity = _capacity_of(learner)
    n_polls = _check_polls(environment, n_polls, capacity)
    records = _record_points(n_polls, record_every, getattr(environment, "switch_every", None))
    resolve_random_state(random_state)
    _check_learner(learner, environment)
    learners = [learner] if n_runs == 1 else [copy.deepcopy(learner) for _ in range(n_runs)]
    runs = list(zip(learners, resolve_seed_sequence(random_state).spawn(n_runs)))
    # copies are the runs' own, and another thread may be writing them out for other processes
    turn = learner._whole_turn() if n_runs == 1 and isinstance(learner, Shared) else nullcontext()
    with turn, Cancellation() as cancellation, report_progress(progress, n_runs * n_polls) as advance:
        for each in learners:
            _begin(each, environment)
        if n_runs == 1:
            results = [replicate(*runs[0], environment, records, scheduler, capacity, cancellation, advance)]
        elif runs_side_by_side(learners[0], environment, scheduler, n_runs):
            results = run_groups(runs, environment, records, capacity, cancellation, advance, n_jobs)
        else:
            # in processes, learners are written to: no read-only memory maps
            parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", max_nbytes=None)
            tasks = (
                joblib.delayed(replicate)(*run, own(environment), records, scheduler, capacity, cancellation)
                for run in runs
            )
            results = []
            for result in parallel(tasks):
                results.append(result)
                advance(n_polls)
    for concern in {result.pop("concern", None) for result in results} - {None}:
        warnings.warn(concern, ConvergenceWarning, stacklevel=2)
    return _gather(records, results)


def _crawl(
    chooser: Any,
    environment: Any,
    n_steps: int | None,
    record_every: int | None,
    n_runs: int,
    n_jobs: int | None,
    random_state: Any,
    progress: bool | Callable[[int, int], None],
) -> History:
    """A simulation of crawling: about a hundred records by default, each over equally many decisions."""
    if n_steps is None:
        raise ValueError("n_polls must be given: the number of decisions")
    n_steps = check_integer("n_polls", n_steps, low=1, high=2**53)
    if record_every is None:
        record_every = next(k for k in range(max(1, n_steps // N_RECORDS), 0, -1) if n_steps % k == 0)
    with report_progress(progress, n_runs * n_steps) as advance:
        return simulate_ephemeral(
            chooser, environment, n_steps, n_runs=n_runs, n_jobs=n_jobs, record_every=record_every,
            random_state=random_state, on_run=lambda: advance(n_steps),
        )  # fmt: skip


def _gather(records: np.ndarray, results: list[dict[str, Any]]) -> History:
    """Stack the replications' records."""
    columns: dict[str, Any] = {}
    for key in results[0]:
        rows = [result[key] for result in results]
        columns[key] = None if rows[0] is None else np.array(rows)
    return History(polls=records, **columns)


def _capacity_of(learner: Any) -> float:
    capacity = getattr(learner, "capacity", None)
    if capacity is None or isinstance(learner, type):
        raise TypeError(f"learner must be a knapsolve learner or have capacity, amount and observe, got {learner!r}")
    return check_capacity(capacity)


def _check_polls(environment: Any, n_polls: int | None, capacity: float) -> int:
    """The number of polls, at most what a trace has time for."""
    plays = hasattr(environment, "_core") or callable(getattr(environment, "poll", None))
    if not (plays and hasattr(environment, "n_materials")) or isinstance(environment, type):
        raise TypeError(
            f"environment must be from knapsolve.environments or have n_materials and poll, got {environment!r}"
        )
    if not isinstance(environment, TraceEnvironment):
        if n_polls is None:
            raise ValueError("n_polls must be given unless the environment is a trace")
        return check_integer("n_polls", n_polls, low=1, high=2**53)
    most = (environment.stop - environment.start) * capacity * (1 + 1e-12)
    if not 1 <= most <= 2**53:
        raise ValueError(
            f"capacity must make 1 to 2**53 polls in {environment!r}, got {capacity:g} polls per unit of time"
        )
    return int(most) if n_polls is None else check_integer("n_polls", n_polls, low=1, high=int(most))


def _record_points(n_polls: int, record_every: int | None, switch_every: int | None) -> np.ndarray:
    """Ascending numbers of polls at which to record, the last one n_polls.

    Where ranks switch, sampling in step with the switching would always see the same phase of it, so the
    points move forward by a golden-ratio fraction of the smaller of both periods.
    """
    every = max(1, n_polls // N_RECORDS) if record_every is None else check_integer("record_every", record_every, low=1)
    points = np.arange(every, n_polls + 1, every)
    if switch_every is not None:
        shift = np.floor(np.arange(1, points.size + 1) * GOLDEN % 1 * min(switch_every, every)).astype(np.intp)
        points = np.maximum(points - shift, 1)
    return np.unique(np.append(points, n_polls)).astype(np.intp)


def _check_learner(learner: Any, environment: Any) -> None:
    """Refuse what cannot learn, or what knows other materials."""
    n = check_integer("environment.n_materials", environment.n_materials, low=1)
    if not hasattr(environment, "_core"):
        PythonEnvironment(environment, n)  # raises on a method that cannot be called
    if not hasattr(learner, "_begin"):
        missing = [name for name in ("amount", "observe") if not callable(getattr(learner, name, None))]
        if missing:
            raise TypeError(f"learner must have methods amount and observe, {type(learner).__name__} lacks {missing}")
    elif hasattr(learner, "materials_") and learner.materials_.size != n:
        raise ValueError(f"learner must know {n} materials, as the environment has, got {learner.materials_.size}")


def _begin(learner: Any, environment: Any) -> None:
    """Start a learner that has not seen anything yet on the environment's materials; check one that goes on."""
    if hasattr(learner, "_begin") and not hasattr(learner, "materials_"):
        learner._begin(environment.n_materials)
    elif hasattr(learner, "_check_all_parameters"):  # they may have been changed since it was fitted
        learner._check_all_parameters()
        learner._resize(environment.n_materials)
