"""The crawlers' rules as a crawler may run them, in a queue or each page on its own, at the budgets of docs/replay.md.

`AdaptiveIntervalPolicy` scales all intervals online so that the budget is met. Two other readings, by brute force on
the Debian uploads, with intervals clipped to `low` and `high` times the mean interval at the budget:

- queue: whatever the intervals add up to, each poll goes to the item most overdue, relative to its interval;
- free: each item is polled when its interval is over, whatever the others do; the bounds are scaled once so that the
  test stretch has the budget's number of polls. Intervals begin at the mean or at the longest: where polls are few,
  that is not forgotten when the test begins.
"""

from bisect import bisect_right
from functools import partial
from math import sqrt

import numpy as np

from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import TraceEnvironment
from knapsolve.replay import measure_polls

START, SPLIT, STOP = (np.datetime64(day, "s").astype(float) for day in ("2019-07-06", "2021-07-01", "2023-01-01"))
BUDGETS = (1.5, 6.0, 30.0)  # polls per change of the test stretch
BOUNDS = ((0.01, 20.0), (0.03, 5.0), (0.1, 10.0), (0.2, 4.0))
RULES = {
    "stormcrawler": lambda interval, low, changed: (interval + low) / 2 if changed else 1.5 * interval,
    "nutch": lambda interval, low, changed: 0.8 * interval if changed else 1.2 * interval,
}
TOLERANCE = 0.003  # of the number of polls that run freely


def queue(changes, rule, bounds, slot, seed):
    """Items and times of polls, one a slot, from START to STOP; `changes` are each item's, ascending."""
    rng = np.random.default_rng(seed)
    n = len(changes)
    low, high = np.array(bounds) * n * slot
    interval = np.full(n, n * slot)
    last = START - rng.random(n) * n * slot
    times = np.arange(START + rng.random() * slot, STOP, slot)
    items = np.empty(times.size, dtype=np.intp)
    for number, time in enumerate(times):
        k = int(np.argmax((time - last) / interval))
        before, now = np.searchsorted(changes[k], (last[k], time), side="right")
        interval[k] = min(max(RULES[rule](interval[k], low, now > before), low), high)
        items[number], last[k] = k, time
    return items, times


def free(changes, rule, bounds, slot, seed, longest=False):
    """As `queue`, each item by itself; the scale of the bounds is found by bisection on the number of test polls."""
    mean, wanted = len(changes) * slot, (STOP - SPLIT) / slot
    short, long = 0.01, 100.0
    for _ in range(60):
        scale = sqrt(short * long)
        items, times = at_own_pace(changes, rule, scale * mean * np.array(bounds), np.inf if longest else mean, seed)
        made = int((times > SPLIT).sum())
        if abs(made - wanted) <= TOLERANCE * wanted:
            return items, times
        short, long = (scale, long) if made > wanted else (short, scale)
    raise RuntimeError(f"{rule} makes {made} polls at scale {scale:g}, not {wanted:g}")


def at_own_pace(changes, rule, bounds, first, seed):
    """Items and times of polls, each an interval after the item's last; the first is `first`, within the bounds."""
    phases = np.random.default_rng(seed).random(len(changes))
    low, high = bounds.tolist()
    items, times = [], []
    for k, when in enumerate(changes):
        interval, known = min(max(first, low), high), 0
        time = START + phases[k] * interval
        while time < STOP:
            items.append(k)
            times.append(time)
            now = bisect_right(when, time)
            interval = min(max(RULES[rule](interval, low, now > known), low), high)
            known = now
            time += interval
    order = np.argsort(times, kind="stable")
    return np.array(items)[order], np.array(times)[order]


READINGS = {  # with the bounds and the number of runs of each
    "queue": (queue, BOUNDS, 3),
    "free": (free, BOUNDS[:1], 12),
    "free, from longest": (partial(free, longest=True), BOUNDS[:1], 12),
}


def main():
    log = load_debian_uploads(stop=None)
    names, codes = np.unique(log.items, return_inverse=True)
    when = np.asarray(log.times, dtype="datetime64[s]").astype(float)
    changes = [np.sort(when[(codes == k) & (when > START)]).tolist() for k in range(names.size)]
    n_changes = int(TraceEnvironment(log.items, log.times, START, STOP, SPLIT).n_changes.sum())
    print(f"{names.size} packages, {n_changes} changes; detected share and freshness: means (deviations) of runs")
    for name, (reading, all_bounds, runs) in READINGS.items():
        print(f"\n{name:20}{'bounds':>8}" + "".join(f"{each:>29g}" for each in BUDGETS))
        for rule in RULES:
            for bounds in all_bounds:
                cells = []
                for budget in BUDGETS:
                    slot = (STOP - SPLIT) / (budget * n_changes)
                    rows = []
                    for seed in range(runs):
                        items, times = reading(changes, rule, bounds, slot, seed)
                        run = measure_polls(log, names[items], times, start=START, stop=STOP, split=SPLIT)
                        rows.append((run.item_detections.sum() / n_changes, run.item_fresh.mean()))
                    (found, fresh), (spread, doubt) = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
                    cells.append(f"{found:9.3f} ({spread:.3f}) {fresh:.3f} ({doubt:.3f})")
                print(f"{rule:20}{'{:g}-{:g}'.format(*bounds):>8}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
