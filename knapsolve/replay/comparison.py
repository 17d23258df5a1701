"""Several policies on one change log, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from knapsolve._validation import check_choice, check_integer, check_same_length, check_vector
from knapsolve.environments import TraceEnvironment
from knapsolve.replay.log import HALF_UNLESS_SAID, Time, as_moments, as_split, as_trace
from knapsolve.replay.policies import POLICIES
from knapsolve.replay.result import PolicyReplay, ReplayResult
from knapsolve.replay.trace_replay import TraceReplay


def replay(
    log: Any,
    capacity: float | str | None = None,
    policies: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    polls_per_change: float | None = None,
    start: Time | None = None,
    stop: Time | None = None,
    split: Time | None = HALF_UNLESS_SAID,
    scheduler: str = "edf",
    n_runs: int = 1,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: bool = False,
) -> ReplayResult:
    """Replay a change log to several policies at the same number of polls.

    Parameters
    ----------
    log : (items, times), rows, data frame or TraceEnvironment
        Which item changed when, in any unit of time, ascending within each item; dates, also ISO strings, in seconds
        since 1970. Rows are a list of (item, time); of exactly two parts a list of tuples of two is rows, all else is
        two columns. A data frame has a column ``item`` and one of ``time`` and ``timestamp``; one of ``changed`` that
        holds a 0 makes it a log of polls, which is refused.
    capacity : float or str, optional
        Polls per unit of the log's time, per second where times are dates; or, of a log in seconds, text such as
        ``"20/day"`` or ``"5000/hour"``.
    policies : iterable of policies, or mapping of names to policies, optional
        Keys of `POLICIES`, or learners, which go by the names that a mapping gives them, else by their class; by
        default the renewal index and its rivals. Names must differ.
    polls_per_change : float, optional
        The same budget as polls per recorded change of the test stretch; one of the two must be given.
    start, stop : float, str or datetime, optional
        The stretch of time, from the first to the last change by default. Dates and ISO strings are for logs in seconds
        since 1970.
    split : float, str, datetime or None, default="50%"
        Train from `start` to `split`, a moment or a share of the stretch, and count results from `split` to `stop`;
        None counts everything. See `TraceReplay`.
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
        Polls, changes detected, detected share, freshness, harmonic penalty and mean age of each policy; print
        or plot it.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, before any polling.

    References
    ----------
    Pandey, Ramamritham and Chakrabarti, "Monitoring the dynamic web to respond to
    continuous queries", WWW 2003.

    Kolobov, Peres, Lu and Horvitz, "Staying up to date with online content changes using reinforcement
    learning for scheduling", NeurIPS 2019 (harmonic penalty).

    Examples
    --------
    >>> from knapsolve.datasets import load_debian_uploads
    >>> from knapsolve.replay import replay
    >>> result = replay(load_debian_uploads(), "20/day", ["uniform", "optimal"],
    ...                 start="2019-07-06", split="2021-07-01", random_state=0)
    >>> result.difference("optimal", "uniform", "detected_share").low > .1
    True
    """
    replayer = TraceReplay(
        log,
        capacity,
        polls_per_change=polls_per_change,
        start=start,
        stop=stop,
        split=split,
        scheduler=scheduler,
        random_state=random_state,
    )
    check_integer("n_bootstrap", n_bootstrap, low=100)
    check_integer("n_runs", n_runs, low=1)
    if policies is None:
        policies = default_policies(replayer.split is not None)
    named = _by_name(policies)
    for policy in named.values():
        if isinstance(policy, str):
            check_choice("policies", policy, POLICIES)
        replayer.learner(policy)
    runs = [replayer.run(p, name=name, n_runs=n_runs, progress=progress) for name, p in named.items()]
    return replayer.compare(runs, n_bootstrap)


def _by_name(policies: Any) -> dict[str, Any]:
    """The policies by their names, in order."""
    if isinstance(policies, Mapping):
        pairs = list(policies.items())
    else:
        each = [policies] if isinstance(policies, str) or not isinstance(policies, Iterable) else policies
        pairs = [(policy if isinstance(policy, str) else type(policy).__name__, policy) for policy in each]
    if not pairs:
        raise ValueError("policies must name at least one policy, got none")
    names = [name for name, _ in pairs]
    strange = [name for name in names if not isinstance(name, str) or not name]
    if strange:
        raise TypeError(f"policies must be named by text that is not empty, got {strange[0]!r}")
    if len(set(names)) < len(names):
        shown = ", ".join(map(repr, names))
        raise ValueError(f"policies must have different names, got {shown}: give each one its own by a mapping")
    return dict(pairs)


def default_policies(training: bool) -> list[str]:
    """Names of the policies that are compared when none is named."""
    return [name for name, kind in POLICIES.items() if kind.by_default and (training or not kind.needs_training)]


def measure_polls(
    log: Any,
    items: Any,
    times: Any,
    *,
    start: Time | None = None,
    stop: Time | None = None,
    split: Time | None = HALF_UNLESS_SAID,
    name: str = "measured",
) -> PolicyReplay:
    """What polls would have found that were made otherwise: by a crawler, or by another program's plan.

    Parameters
    ----------
    log : (items, times), rows, data frame or TraceEnvironment
        Which item changed when, as for `replay`.
    items : array-like of shape (n_polls,)
        Which item was polled.
    times : array-like of shape (n_polls,)
        When, in the log's unit or as dates, ascending.
    start, stop : float, str or datetime, optional
        The stretch of time; all copies are current at its start. From the first to the last change by default.
    split : float, str, datetime or None, default="50%"
        Polls and what copies are like count from here on, as for `replay`: a moment or a share of the stretch; None
        counts everything. By default a TraceEnvironment's own ``count_from`` if it lies within the stretch.
    name : str, default="measured"
        What to call it.

    Returns
    -------
    run : PolicyReplay
        Counts and means of each item, in sorted order.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    Kolobov, Peres, Lu and Horvitz (NeurIPS 2019).

    Examples
    --------
    >>> from knapsolve.replay import measure_polls
    >>> log = (["a", "b"], [2., 9.])
    >>> run = measure_polls(log, ["a", "b", "a"], [1., 2., 4.], start=0., split=None, stop=10.)
    >>> run.item_detections.tolist(), run.item_fresh.tolist(), run.item_age.tolist()
    ([1.0, 0.0], [0.8, 0.9], [0.2, 0.05])
    """
    whole = as_trace(log, start, stop)
    since = as_split(log, split, whole)
    trace = TraceEnvironment(whole.materials[whole.items], whole.times, whole.start, whole.stop, since)
    moments = check_vector("times", as_moments(times), low=trace.start, high=trace.stop)
    if (np.diff(moments) < 0).any():
        where = int(np.argmax(np.diff(moments) < 0)) + 1
        raise ValueError(f"times must ascend, got {moments[where]:.15g} after {moments[where - 1]:.15g}")
    known = {item: number for number, item in enumerate(trace.materials.tolist())}
    polled = np.asarray(items).tolist()
    check_same_length(items=polled, times=moments)
    strange = next((item for item in polled if item not in known), None)
    if strange is not None:
        raise ValueError(f"items must be items of the log, got {strange!r}")
    world = trace._core()
    codes = np.fromiter((known[item] for item in polled), dtype=np.int64, count=len(polled))
    world.poll_all(codes, moments)
    account, span = world.close(trace.stop), trace.stop - trace.count_from
    found, polls = account["detections"].astype(float), account["polls"].astype(float)
    fresh, penalty, age = (account[each] / span for each in ("fresh", "penalty", "age"))
    made, seen = np.array([polls.sum()], dtype=np.intp), np.array([found.sum()])
    return PolicyReplay(name, polls, found, account["carried"].astype(float), fresh, penalty, age, made, seen)
