"""The next polls with their times: exact budget, jitter, and a least gap between polls of one host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from knapsolve._core.slots import serve_slots
from knapsolve._validation import check_after, check_capacity, check_real, check_vector, resolve_random_state

MOST_POLLS = 1e8  # of one timetable: some 3 GB while it is made


class Timetable(NamedTuple):
    """Polls in time order: which item (n_polls,), intp, and when (n_polls,)."""

    items: np.ndarray
    times: np.ndarray


def timetable(
    amounts: Any,
    last: Any,
    start: float,
    stop: float,
    *,
    jitter: float = 1.0,
    hosts: Any = None,
    host_gaps: Any = None,
    random_state: Any = None,
) -> Timetable:
    """When to poll what, from `start` to `stop`.

    The capacity, ``sum(amounts)``, makes slots of equal length, one poll a slot. An item is due once its interval
    ``1 / amount`` has passed since its last poll; of all items the one due first gets the slot. It is due again an
    interval after it was due, or after `start` if that is later, but not before half an interval after its slot: polls
    missed before the start, or while others went first, are not made up. Within its slot a poll takes place at random,
    so that many clients with one timetable do not knock at the same time. Polls of one host that would come too close,
    to each other or to the host's last before the start, wait; where they would wait past `stop`, they and those of
    the host right before them take place earlier than their slots instead, as far as the gaps allow.

    Parameters
    ----------
    amounts : array-like of shape (n_items,)
        Polls per unit of time.
    last : array-like of shape (n_items,)
        Time of each item's last poll, at most `start`.
    start, stop : float
        The stretch of time.
    jitter : float, default=1.0
        Share of the slot in which the poll takes place: 0, on the beat; 1, anywhere in the slot.
    hosts : array-like of int of shape (n_items,), optional
        Number of each item's host; -1 for none.
    host_gaps : array-like of shape (n_hosts,), optional
        Least time between two polls of a host, in the unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Source of the jitter.

    Returns
    -------
    timetable : Timetable
        Items and times, ascending. Polls for which hosts' gaps leave no room before `stop` are left out.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described.

    References
    ----------
    Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time environment", JACM 20(1), 1973.

    Examples
    --------
    >>> from knapsolve.schedulers import timetable
    >>> items, times = timetable([2.0, 1.0], last=[-1.0, -0.5], start=0.0, stop=2.0, jitter=0.0)
    >>> items.tolist(), times.round(2).tolist()
    ([0, 0, 1, 0, 0, 1], [0.0, 0.33, 0.67, 1.0, 1.33, 1.67])
    """
    rate = check_vector("amounts", amounts, low=0)
    capacity = check_capacity(float(rate.sum()))
    start = check_real("start", start)
    stop = check_after(start, stop)
    before = check_vector("last", last, size=rate.size, high=start)
    jitter = check_real("jitter", jitter, low=0, high=1)
    n_slots = check_real("the number of polls", (stop - start) * capacity, high=MOST_POLLS)
    items = _serve(rate, before, start, int(n_slots * (1 + 1e-12)), capacity)
    offset = resolve_random_state(random_state).random(items.size) * jitter
    times = start + (np.arange(items.size) + offset) / capacity
    if hosts is not None:
        times = _spaced(items, times, np.asarray(hosts), host_gaps, before, start, stop)
    order = np.argsort(times, kind="stable")
    kept = order[times[order] < stop]
    return Timetable(items[kept], times[kept])


def _serve(rate: np.ndarray, last: np.ndarray, start: float, n_slots: int, capacity: float) -> np.ndarray:
    """The item of each slot: always the one due first."""
    known = np.flatnonzero(rate > 0)
    gap = np.zeros(rate.size)
    with np.errstate(over="ignore"):
        gap[known] = 1 / rate[known]
    due = (last + gap)[known]
    order = np.argsort(due, kind="stable")
    items = np.empty(n_slots, dtype=np.intp)
    serve_slots(due[order], known[order], gap, start, capacity, items)
    return items


def _spaced(
    items: np.ndarray,
    times: np.ndarray,
    hosts: np.ndarray,
    host_gaps: Any,
    last: np.ndarray,
    start: float,
    stop: float,
) -> np.ndarray:
    """Times, later where polls of a host would come closer than its gap, to each other or to the last before.

    Where that pushes the last ones past the stop, they and those before them come earlier again.
    """
    n = last.size
    if hosts.shape != (n,) or hosts.dtype.kind not in "iu":
        raise ValueError(f"hosts must be {n} integers, got {hosts.dtype} of shape {hosts.shape}")
    gaps = check_vector("host_gaps", host_gaps, low=0)
    if hosts.size and hosts.min() < -1:
        raise ValueError(f"hosts must be numbers of hosts, or -1 for none, got {hosts.min()}")
    if hosts.size and hosts.max() >= gaps.size:
        raise ValueError(f"host_gaps must have an entry for each host, {hosts.max() + 1}, got {gaps.size}")
    host = hosts[items]
    ready = np.full(gaps.size, -np.inf)
    np.maximum.at(ready, hosts[hosts >= 0], last[hosts >= 0])
    ready = np.maximum(ready + gaps, start)
    order = np.argsort(host, kind="stable")
    times = times.copy()
    for rows in np.split(order, np.flatnonzero(np.diff(host[order])) + 1):
        k = host[rows[0]] if rows.size else -1
        if k >= 0:
            beat = np.arange(rows.size) * gaps[k]
            early = np.maximum.accumulate(np.maximum(times[rows] - beat, ready[k]))
            over = early[-1] + beat[-1] - stop
            if over >= 0 and gaps[k] > 0:  # the last ones, whole gaps earlier, into time that the host had left
                early = np.minimum(early, max(ready[k], early[-1] - (over // gaps[k] + 1) * gaps[k]))
            times[rows] = early + beat
    return times
