"""
Changes found against copies that are current
=============================================

The renewal index at many balances, on the upload dates of Debian packages at 1.5, 6 and 30 polls for each change, with
its rivals as points. All policies poll from July 2019 on, equally often; the 18 months before 2023 are counted, with
copies at July 2021 as the polls before had left them. Means over starts that lie ten days apart. What is printed beside
has the differences from the default, each with its 95% interval.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from knapsolve import AdaptiveIntervalPolicy, RenewalIndexPolicy, UniformPolicy, simulate
from knapsolve.datasets import load_debian_uploads
from knapsolve.displays import STYLES
from knapsolve.environments import TraceEnvironment
from knapsolve.learners import WindowedRatePolicy

DAY = 86_400.0
START, SPLIT, STOP = 1562371200.0, 1625097600.0, 1672531200.0
BALANCES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
DEFAULT = 0.8
N_STARTS = 4
N_RESAMPLES = 2000

items, times = load_debian_uploads()
after = TraceEnvironment(items, times, SPLIT, STOP)
n_items, changes = after.n_materials, after.n_changes


def rivals():
    """The policies to compare with, and whose colour and marker they have."""
    proportional = WindowedRatePolicy(criterion="proportional", window=24 * n_items, every=2 * n_items)
    return {
        "uniform": (UniformPolicy(), "uniform"),
        "Nutch": (AdaptiveIntervalPolicy(), "nutch"),
        "StormCrawler": (AdaptiveIntervalPolicy(rule="stormcrawler"), "stormcrawler"),
        "harmonic, refitted": (WindowedRatePolicy(window=96 * n_items, every=4 * n_items), "harmonic"),
        "proportional, refitted": (proportional, "proportional"),
    }


def measure(policy, polls_per_change):
    """Changes found and share of time that the copy is current, (n_items,) each, from SPLIT to STOP."""
    rate = polls_per_change * changes.sum() / (STOP - SPLIT)  # polls a second
    found, fresh = np.zeros(n_items), np.zeros(n_items)
    for k in range(N_STARTS):
        start = (START + 10 * k * DAY - SPLIT) * rate
        runs = [
            simulate(clone(policy), TraceEnvironment(items, (times - SPLIT) * rate, start, stop), random_state=k)
            for stop in (0.0, (STOP - SPLIT) * rate)
        ]
        found += runs[1].item_detections[0] - runs[0].item_detections[0]
        head, whole = -start / rate, STOP - SPLIT - start / rate  # seconds
        fresh += (runs[1].item_fresh[0] * whole - runs[0].item_fresh[0] * head) / (STOP - SPLIT)
    return found / N_STARTS, fresh / N_STARTS


def totals(result, weight=None):
    """Detected share and mean freshness, over items counted `weight` times each."""
    found, fresh = result
    weight = np.ones(n_items) if weight is None else weight
    return np.array([found @ weight / (changes @ weight), fresh @ weight / weight.sum()])


def difference(ours, theirs):
    """Ours less theirs with 95% intervals from resampling the items: (2, 3) of value, low, high."""
    rng = np.random.default_rng(0)
    draws = [np.bincount(rng.integers(n_items, size=n_items), minlength=n_items) for _ in range(N_RESAMPLES)]
    values = np.array([totals(ours, w) - totals(theirs, w) for w in draws])
    return np.column_stack([totals(ours) - totals(theirs), *np.percentile(values, [2.5, 97.5], axis=0)])


figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
LABELLED = {  # balances with their number beside, (x, y) points from the dot
    1.5: {0.0: (-14, -4), 0.5: (-20, -3), 1.0: (-3, 6)},
    6: {0.0: (6, -3), 0.5: (6, -3), 1.0: (-3, 6)},
    30: {0.0: (6, -3), 0.5: (7, -4), 1.0: (-3, 6)},
}
for axis, polls_per_change in zip(axes, (1.5, 6, 30)):
    runs = {balance: measure(RenewalIndexPolicy(balance=balance), polls_per_change) for balance in BALANCES}
    points = np.array([totals(run) for run in runs.values()])
    ours = STYLES["renewal"][0]
    axis.plot(*points.T, ".-", color=ours, label="renewal index, balance 0 to 1")
    for balance, point in zip(BALANCES, points):
        if balance in LABELLED[polls_per_change]:
            place = LABELLED[polls_per_change][balance]
            axis.annotate(f"{balance:g}", point, xytext=place, textcoords="offset points", fontsize=8, color=ours)
    default = points[BALANCES.index(DEFAULT)]
    axis.plot(*default, "*", color=ours, markersize=15, label=f"balance {DEFAULT:g}, the default")
    print(f"{polls_per_change} polls for each change: renewal index {default[0]:.3f} detected, {default[1]:.4f} fresh")
    for name, (policy, style) in rivals().items():
        run = measure(policy, polls_per_change)
        share, fresh = totals(run)
        color, marker = STYLES[style]
        axis.plot(share, fresh, marker=marker, color=color, markersize=8, linestyle="none", label=name)
        (d, *d_range), (f, *f_range) = difference(runs[DEFAULT], run)
        print(
            f"  {name:22s} {share:.3f} {fresh:.4f}   renewal index less that: "
            f"detected {d:+.3f} [{d_range[0]:+.3f}, {d_range[1]:+.3f}]  "
            f"fresh {f:+.4f} [{f_range[0]:+.4f}, {f_range[1]:+.4f}]"
        )
    axis.set_title(f"{polls_per_change:g} polls for each change")
    axis.set_xlabel("share of changes detected")
    axis.margins(0.08)
    axis.grid(alpha=0.3)
axes[0].set_ylabel("share of time that copies are current")
axes[0].legend(fontsize=8, loc="lower left")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()

# %%
# At 6 and 30 polls for each change the default is ahead of every rival in both, though not of harmonic amounts and,
# at 6, of proportional ones by so much that the packages leave no doubt. At 1.5 the curve still passes above all of
# them, but no one balance is ahead in both: Nutch's rule detects as much as the default, and harmonic amounts keep
# copies current for 1% more of the time.
