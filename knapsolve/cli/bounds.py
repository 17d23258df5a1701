"""Bounds of intervals and caps of hosts: as typed, whether they leave room for each other, and which of them bind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knapsolve.cli.output import counted
from knapsolve.cli.polls import PollLog
from knapsolve.replay.units import SECONDS, parse_capacity

SLACK = 1e-9  # relative, within which amounts are at their bounds

HostCap = tuple[str | None, float]  # host (None: any) and polls a second


@dataclass(frozen=True)
class Limits:
    """Bounds of intervals, and polls per unit of time of each host (n_hosts,) or None, in the log's unit of time."""

    shortest: float
    longest: float
    host_caps: np.ndarray | None


def parse_host_caps(texts: list[str]) -> list[HostCap]:
    """Caps as typed, at most one of each host and one of any."""
    caps: dict[str | None, float] = {}
    for text in texts:
        name, equals, cap = text.rpartition("=")
        polls, per = parse_capacity(cap, "--host-cap")
        host = name.strip().lower() if equals else None
        if host == "":
            raise ValueError(f"--host-cap must be such as 60/hour or example.org=10/hour, got {text!r}")
        if host in caps:
            raise ValueError(f"only one --host-cap can be given of {'any host' if host is None else host}, got {texts}")
        caps[host] = polls / SECONDS[per]
    return list(caps.items())


def caps_of_hosts(caps: list[HostCap], log: PollLog) -> np.ndarray:
    """Polls a second of each host (n_hosts,), infinite without a cap; a cap of one host goes before that of any."""
    limits = np.full(len(log.host_names), np.inf)
    place = {name.lower(): number for number, name in enumerate(log.host_names)}
    for host, cap in sorted(caps, key=lambda each: each[0] is not None):
        if host is None:
            limits[:] = cap
        elif host not in place:
            raise ValueError(f"--host-cap names {host!r}, which is no host of the log")
        else:
            limits[place[host]] = cap
    return limits


def check_room(log: PollLog, capacity: float, limits: Limits, scale: float, per: str) -> None:
    """Refuse a longest interval that needs more polls than the capacity or a host's cap; `scale` as of rows."""
    if limits.longest == np.inf:
        return
    needed = log.names.size / limits.longest
    if needed > capacity * (1 + SLACK):
        raise ValueError(
            f"--max-interval needs {needed / capacity:.4g} times the polls that --capacity allows: make it longer"
        )
    if limits.host_caps is None or log.hosts is None:
        return
    items = np.bincount(log.hosts[log.hosts >= 0], minlength=limits.host_caps.size)
    over = np.flatnonzero(items / limits.longest > limits.host_caps * (1 + SLACK))
    if over.size:
        host = over[0]
        each, allowed = items[host] / limits.longest / scale, limits.host_caps[host] / scale
        raise ValueError(
            f"--max-interval needs {each:.4g} polls {a(per)} of {log.host_names[host]} with its "
            f"{counted(int(items[host]), 'item')}, --host-cap allows {allowed:.4g}: change one of them"
        )


def what_binds(log: PollLog, amounts: np.ndarray, limits: Limits) -> str:
    """The options that keep amounts (n_items,) below what the capacity allows."""
    names = []
    if limits.host_caps is not None and log.hosts is not None:
        known = log.hosts >= 0
        totals = np.bincount(log.hosts[known], amounts[known], limits.host_caps.size)
        names += ["--host-cap"] if (totals >= limits.host_caps * (1 - SLACK)).any() else []
    if limits.shortest > 0 and amounts.max() * limits.shortest >= 1 - SLACK:
        names.append("--min-interval")
    return " and ".join(names)


def a(per: str) -> str:
    """`a day`, `an hour`."""
    return f"an {per}" if per == "hour" else f"a {per}"
