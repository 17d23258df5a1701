"""The policies on the files of any project that keeps a GNU ChangeLog: `python changelogs.py ChangeLog.gz ...`.

Each file named under a date changed then. The middle of the history is polled: the first half of its changes to learn
from, the second half to count. For each project and 1.5, 6 and 30 polls for each change, a row of what uniform polling,
Nutch, StormCrawler, harmonic amounts and the renewal index detected, and how fresh they kept the copies.
"""

import gzip
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.base import clone

from knapsolve import AdaptiveIntervalPolicy, RenewalIndexPolicy, UniformPolicy, simulate
from knapsolve.environments import TraceEnvironment
from knapsolve.learners import WindowedRatePolicy

HEAD = re.compile(r"(\d{4}-\d\d-\d\d)\s+\S")
ENTRY = re.compile(r"\s+\* ([^\s:(,]+(?:, [^\s:(,]+)*)")
DAY = 86_400.0
FEWEST = 1000  # changes that a history must hold


def read_changelog(path):
    """Files and times (seconds) of their changes, spread over the day at random."""
    opened = gzip.open if path.suffix == ".gz" else open
    files, times, day = [], [], None
    with opened(path, "rt", errors="replace") as lines:
        for line in lines:
            head, entry = HEAD.match(line), ENTRY.match(line)
            if head:
                try:
                    day = datetime.fromisoformat(head[1]).replace(tzinfo=UTC).timestamp()
                except ValueError:
                    day = None
            elif entry and day is not None:
                names = entry[1].split(", ")
                files += names
                times += [day] * len(names)
    pairs = sorted(set(zip(files, times)))
    jitter = np.random.default_rng(0).random(len(pairs)) * DAY
    return np.array([name for name, _ in pairs]), np.array([time for _, time in pairs]) + jitter


def compare(items, times, polls_per_change):
    """Detected share and freshness of each policy."""
    start, split, stop = np.quantile(times, [0.1, 0.5, 0.97])
    inside = (times > start) & (times <= stop)
    items, times = items[inside], times[inside]
    n, n_changes = np.unique(items).size, (times > split).sum()
    rate = polls_per_change * n_changes / (stop - split)
    first, last = (start - split) * rate, (stop - split) * rate
    policies = {
        "uniform": UniformPolicy(),
        "nutch": AdaptiveIntervalPolicy(),
        "stormcrawler": AdaptiveIntervalPolicy(rule="stormcrawler"),
        "harmonic": WindowedRatePolicy(window=96 * n, every=4 * n),
        "renewal": RenewalIndexPolicy(),
    }
    rows = {}
    for name, policy in policies.items():
        ends = (TraceEnvironment(items, (times - split) * rate, first, end) for end in (0.0, last))
        head, whole = (simulate(clone(policy), trace, random_state=0) for trace in ends)
        found = (whole.item_detections.sum() - head.item_detections.sum()) / n_changes
        fresh = (whole.item_fresh * (last - first) + head.item_fresh * first).mean() / last
        rows[name] = found, fresh
    return n, n_changes, rows


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    logs = {path: read_changelog(path) for path in map(Path, sys.argv[1:])}
    for polls_per_change in (1.5, 6, 30):
        ahead = []
        for path, (items, times) in logs.items():
            if times.size < FEWEST:
                continue
            n, n_changes, rows = compare(items, times, polls_per_change)
            cells = "  ".join(f"{name} {found:.3f} {fresh:.4f}" for name, (found, fresh) in rows.items())
            print(f"{path.parent.name} ({n} files, {n_changes} changes) {polls_per_change}: {cells}", flush=True)
            crawlers = max(rows["nutch"][0], rows["stormcrawler"][0])
            ahead.append((rows["renewal"][0] - crawlers, rows["renewal"][1] - rows["harmonic"][1]))
        found, fresh = np.array(ahead).T
        print(
            f"{polls_per_change} polls for each change, {found.size} projects: the renewal index detects more than "
            f"both crawlers' rules on {(found > 0).sum()} (mean {found.mean():+.3f}, worst {found.min():+.3f}), is "
            f"fresher than harmonic amounts on {(fresh > 0).sum()} (mean {fresh.mean():+.4f}, worst {fresh.min():+.4f})"
        )
