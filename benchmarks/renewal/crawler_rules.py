"""The crawlers' rules in a queue: each poll goes to the item most overdue, relative to its interval.

`AdaptiveIntervalPolicy` scales all intervals so that the budget is met. A crawler has a queue instead: whatever its
intervals add up to, it fetches the page most overdue. Here that is done by brute force on the Debian uploads, at the
budgets of docs/replay.md; intervals are clipped to `low` and `high` times the mean interval at the budget.
"""

import numpy as np

from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import TraceEnvironment
from knapsolve.replay import measure_polls

START, SPLIT, STOP = (np.datetime64(day, "s").astype(float) for day in ("2019-07-06", "2021-07-01", "2023-01-01"))
BUDGETS = (1.5, 6.0, 30.0)  # polls per change of the test stretch
BOUNDS = ((0.01, 20.0), (0.03, 5.0), (0.1, 10.0), (0.2, 4.0))
RUNS = 3
RULES = {
    "stormcrawler": lambda interval, low, changed: (interval + low) / 2 if changed else 1.5 * interval,
    "nutch": lambda interval, low, changed: 0.8 * interval if changed else 1.2 * interval,
}


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


def main():
    log = load_debian_uploads(stop=None)
    names, codes = np.unique(log.items, return_inverse=True)
    when = np.asarray(log.times, dtype="datetime64[s]").astype(float)
    changes = [np.sort(when[(codes == k) & (when > START)]) for k in range(names.size)]
    n_changes = int(TraceEnvironment(log.items, log.times, START, STOP, SPLIT).n_changes.sum())
    print(f"{names.size} packages, {n_changes} changes; detected share and freshness, means of {RUNS} runs\n")
    print(f"{'':14}{'bounds':>10}" + "".join(f"{budget:>14g}" for budget in BUDGETS))
    for rule in RULES:
        for bounds in BOUNDS:
            cells = []
            for budget in BUDGETS:
                slot = (STOP - SPLIT) / (budget * n_changes)
                rows = []
                for seed in range(RUNS):
                    items, times = queue(changes, rule, bounds, slot, seed)
                    run = measure_polls(log, names[items], times, start=START, stop=STOP, split=SPLIT)
                    rows.append((run.item_detections.sum() / n_changes, run.item_fresh.mean()))
                cells.append("{:9.3f} {:.3f}".format(*np.mean(rows, axis=0)))
            print(f"{rule:14}{'{:g}-{:g}'.format(*bounds):>10}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
