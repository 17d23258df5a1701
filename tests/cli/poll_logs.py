"""Poll logs for tests of `allocate`: drawn, written, read again, and what a learner makes of them."""

import csv
import io

import numpy as np

from knapsolve import RenewalIndexPolicy

DAY = 86400


def poll_log(n_items=40, n_polls=3000, seed=0):
    """(item, time in days, changed) of items with rates from .01 to 10 a day, polled at random."""
    rng = np.random.default_rng(seed)
    rates = 10 ** rng.uniform(-2, 1, n_items)
    items = np.append(np.arange(n_items), rng.integers(0, n_items, n_polls))
    times = np.append(np.linspace(0, 0.5, n_items), np.sort(rng.random(n_polls)) * 99 + 1)
    last, changed = np.zeros(n_items), []
    for item, time in zip(items, times):
        changed.append(int(rng.random() < 1 - np.exp(-rates[item] * (time - last[item]))))
        last[item] = time
    return items, times, np.array(changed), rates


def as_csv(items, times, changed, **more):
    columns = {"item": [f"https://h{k % 4}.org/{k}" for k in items], "time": times.tolist(), "changed": changed} | more
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))
    return stream.getvalue()


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))

COMMAND = ("allocate", "polls.csv", "--capacity", "30/day", "--time-unit", "day")


def derived(log):
    """Item, time since its previous poll and outcome of every poll but the first of each item."""
    items, times, changed, _ = log
    last, rows = {}, []
    for item, time, hit in zip(items, times, changed):
        if item in last:
            rows.append((item, time - last[item], hit))
        last[item] = time
    return np.array(rows)


def learnt(log, balance=0.8):
    """The policy that has seen them."""
    rows, times = derived(log), log[1]
    pace = len(rows) / (times.max() - times.min())
    return RenewalIndexPolicy(n_materials=40, capacity=pace, balance=balance).fit(rows[:, :2], rows[:, 2].astype(int))
