"""The closed loop for ephemeral content: who chooses the sites, and the environment they are in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np

import knapsolve._core.ephemeral as kernel
from knapsolve._interrupt import Cancellation
from knapsolve._validation import check_integer, resolve_seed_sequence
from knapsolve.history import History

__all__ = ["simulate_ephemeral"]


def simulate_ephemeral(
    chooser: Any,
    environment: Any,
    n_steps: int,
    n_crawls: int | None = None,
    *,
    n_runs: int = 1,
    n_jobs: int | None = 1,
    record_every: int = 1,
    random_state: Any = None,
    on_run: Callable[[], None] = lambda: None,
) -> History:
    """Let a policy or a learner crawl the sites of an environment.

    Parameters
    ----------
    chooser : WhittlePolicy, PlugInWhittle, LSPEWhittle or any object
        Any object with `allocate(n_crawls)` will do; if it has `partial_fit(X, y)` it is told the sites and
        ages (n_crawls, 2) and the contents (n_crawls,) of every step. A learner that knows nothing yet is
        started on the environment's sites; one that is fitted goes on. With several runs each has its own
        copy and the one given stays as it is; with one run the one given learns.
    environment : EphemeralEnvironment
        It is reset first; with several runs each has its own copy.
    n_steps : int
        Number of decisions, a multiple of `record_every`.
    n_crawls : int, optional
        Sites to crawl at a step; the chooser's `n_crawls` or `capacity` by default.
    n_runs : int, default=1
        Independent runs.
    n_jobs : int, default=1
        Threads; results do not depend on it.
    record_every : int, default=1
        Steps averaged in a record.
    random_state : None, int, Generator or RandomState, default=None
        Source of the seeds of the runs.
    on_run : callable, optional
        Called without arguments after each run.

    Returns
    -------
    history : History
        `reward` (n_runs, n_steps // record_every).

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described.
    KeyboardInterrupt
        On Ctrl-C, within a fraction of a second; a learner in its single run keeps what it has learnt.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), section V: the numerical experiments.

    Examples
    --------
    >>> from knapsolve import PlugInWhittle
    >>> from knapsolve.environments import EphemeralEnvironment
    >>> from knapsolve.restless import simulate_ephemeral
    >>> environment = EphemeralEnvironment([250] * 4, [0.7, 0.35, 0.7, 0.21])
    >>> history = simulate_ephemeral(PlugInWhittle(), environment, 2000, record_every=1000, random_state=0)
    >>> bool(history.reward[0, 1] > 460)
    True
    """
    n_runs = check_integer("n_runs", n_runs, low=1)
    every = check_integer("record_every", record_every, low=1)
    n_steps = check_integer("n_steps", n_steps, low=1)
    if n_steps % every:
        raise ValueError(f"n_steps must be a multiple of record_every={every}, got {n_steps}")
    if not hasattr(environment, "crawl") or isinstance(environment, type):
        raise TypeError(f"environment must be an EphemeralEnvironment, got {environment!r}")
    if n_crawls is None:
        n_crawls = getattr(chooser, "n_crawls", getattr(chooser, "capacity", 1))
    m = check_integer("n_crawls", n_crawls, low=1, high=environment.n_sites)
    seeds = resolve_seed_sequence(random_state).spawn(n_runs)
    pairs = [(chooser, environment) if n_runs == 1 else copy.deepcopy((chooser, environment)) for _ in range(n_runs)]
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", max_nbytes=None)
    rewards = []
    with Cancellation() as cancellation:
        tasks = (joblib.delayed(_run)(*pair, m, n_steps, every, seed, cancellation) for pair, seed in zip(pairs, seeds))
        for reward in parallel(tasks):
            rewards.append(reward)
            on_run()
    return History(np.arange(every, n_steps + 1, every), reward=np.array(rewards))


def _run(
    chooser: Any,
    environment: Any,
    m: int,
    n_steps: int,
    every: int,
    seed: np.random.SeedSequence,
    cancellation: Cancellation,
) -> np.ndarray:
    """One run; returns its rewards (n_steps // every,)."""
    worlds, choices = seed.spawn(2)
    if hasattr(chooser, "_chooser") or hasattr(chooser, "_book"):
        with chooser._whole_turn(), environment._lock:
            environment.reset(np.random.default_rng(worlds))
            _start(chooser, environment.n_sites, choices)
            reward = np.zeros(n_steps // every)
            core = chooser._chooser(m) if hasattr(chooser, "_chooser") else chooser._core()
            with environment._random.bit_generator.lock:
                kernel.run(core, environment._world(), m, reward, every, cancellation.check)
            return reward
    environment.reset(np.random.default_rng(worlds))
    _start(chooser, environment.n_sites, choices)
    reward = np.zeros(n_steps // every)
    for step in range(n_steps):
        sites = np.asarray(chooser.allocate(m))
        ages = environment.ages_[sites]
        contents = environment.crawl(sites)
        if hasattr(chooser, "partial_fit"):
            chooser.partial_fit(np.column_stack([sites, ages]), contents)
        reward[step // every] += contents.sum() / every
        cancellation.check()
    return reward


def _start(chooser: Any, n_sites: int, seed: np.random.SeedSequence) -> None:
    """Begin with the environment's sites."""
    if hasattr(chooser, "_chooser"):
        if chooser.n_sites != n_sites:
            raise ValueError(f"the policy must have {n_sites} sites, as the environment has, got {chooser.n_sites}")
        chooser.reset()
    elif not hasattr(chooser, "_book"):
        if not callable(getattr(chooser, "allocate", None)):
            raise TypeError(f"chooser must have a method allocate(n_crawls), got {chooser!r}")
    elif not hasattr(chooser, "materials_"):
        chooser._begin(n_sites)
        if chooser.random_state is None and hasattr(chooser, "_seed"):
            chooser._seed = np.uint64(np.random.default_rng(seed).integers(2**63))
    elif chooser.materials_.size != n_sites:
        raise ValueError(
            f"the learner must know {n_sites} sites, as the environment has, got {chooser.materials_.size}"
        )
    else:  # it goes on: its parameters may have been changed since it was fitted
        chooser._check_all_parameters()
        chooser._resize(n_sites)
