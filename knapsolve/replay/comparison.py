"""Several policies on one change log, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from knapsolve._validation import check_integer
from knapsolve.replay.policies import POLICIES
from knapsolve.replay.result import ReplayResult
from knapsolve.replay.trace_replay import TraceReplay


def replay(
    log: Any,
    capacity: float,
    policies: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    start: float | None = None,
    stop: float | None = None,
    split: float | None = None,
    scheduler: str = "edf",
    n_runs: int = 1,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: bool = False,
) -> ReplayResult:
    """Replay a change log to several policies at the same number of polls.

    Parameters
    ----------
    log : (items, times), data frame or TraceEnvironment
        Which item changed when, in any unit of time, ascending within each item. A data frame has a column
        ``item`` and one of ``time`` and ``timestamp``.
    capacity : float
        Polls per unit of the log's time.
    policies : iterable of str, or mapping of names to policies, optional
        Keys of `POLICIES`, or learners by the names to give them; by default all that the replay has
        a use for.
    start, stop, split : float, optional
        See `TraceReplay`: train from `start` to `split`, count results from `split` to `stop`.
    scheduler : {"edf", "random"}, default="edf"
        How amounts become polls.
    n_runs : int, default=1
        Runs of each policy with other random numbers, over which all counts are averaged.
    n_bootstrap : int, default=2000
        Number of resamples of the items for the intervals.
    random_state : None, int, RandomState or Generator, default=None
        Source of all random numbers.
    progress : bool, default=False
        Show a progress bar for each policy (needs rich).

    Returns
    -------
    result : ReplayResult
        Polls, changes detected, detected share and freshness of each policy; print or plot it.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, before any polling.

    References
    ----------
    Pandey, Ramamritham and Chakrabarti, "Monitoring the dynamic web to respond to
    continuous queries", WWW 2003.

    Examples
    --------
    >>> from knapsolve.datasets import load_debian_uploads
    >>> from knapsolve.replay import replay
    >>> result = replay(load_debian_uploads(), 20 / 86400, ["uniform", "optimal"],
    ...                 start=1625097600., stop=1672531200., random_state=0)
    >>> result.difference("optimal", "uniform", "detected_share").low > .1
    True
    """
    replayer = TraceReplay(
        log, capacity, start=start, stop=stop, split=split, scheduler=scheduler, random_state=random_state
    )
    check_integer("n_bootstrap", n_bootstrap, low=100)
    check_integer("n_runs", n_runs, low=1)
    if policies is None:
        policies = default_policies(split is not None)
    if isinstance(policies, str):
        policies = [policies]
    named = dict(policies) if isinstance(policies, Mapping) else {name: name for name in policies}
    if not named:
        raise ValueError("policies must name at least one policy, got none")
    for policy in named.values():
        replayer.learner(policy)
    runs = [replayer.run(p, name=name, n_runs=n_runs, progress=progress) for name, p in named.items()]
    return replayer.compare(runs, n_bootstrap)


def default_policies(training: bool) -> list[str]:
    """Names of all policies that mean something with or without a training stretch."""
    return [name for name, kind in POLICIES.items() if training or not kind.needs_training]
