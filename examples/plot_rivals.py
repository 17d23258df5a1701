"""
One default against all its rivals, at three budgets
====================================================

Uploads of 377 Debian packages, eighteen months to 2023, after two years to learn in. Every policy makes the same
number of polls: 1.5, 6 or 30 for each upload. The renewal index has one setting throughout; rivals are given several,
of which each may use its best. Then the same on histories made up to be bursty, and on this project's own files.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import AdaptiveIntervalPolicy, RenewalIndexPolicy
from knapsolve.datasets import from_git_log, load_debian_uploads
from knapsolve.displays import STYLES
from knapsolve.learners import WindowedRatePolicy
from knapsolve.replay import replay

METRICS = ("detected_share", "freshness")
BUDGETS = (1.5, 6.0, 30.0)  # polls per change
BALANCES = {f"balance {a:g}": a for a in (0.0, 0.2, 0.4, 0.6)} | {"renewal": 0.8, "balance 1": 1.0}
BOUNDS = ((0.01, 20.0), (0.03, 5.0), (0.1, 10.0), (0.2, 4.0))
WINDOWS = (8, 32, 128)  # polls an item
RIVALS = (
    "stormcrawler", "nutch", "harmonic", "harmonic-once", "proportional", "multiplicative", "recursive", "uniform"
)  # fmt: skip


def seconds(date):
    return float(np.datetime64(date, "s").astype(float))


def rivals(n_items):
    """Each rival in several settings, by the name of the rival and the setting."""
    found = {}
    for rule in ("stormcrawler", "nutch"):
        for low, high in BOUNDS:
            found[f"{rule} {low:g}-{high:g}"] = AdaptiveIntervalPolicy(rule=rule, bounds=(low, high))
    for criterion in ("harmonic", "proportional"):
        for window in WINDOWS:
            polls = window * n_items
            settings = {"criterion": criterion, "window": polls, "every": max(1, polls // 8)}
            found[f"{criterion} {window}"] = WindowedRatePolicy(**settings)
    return found


def place(result, name):
    """Detected share and freshness, without their intervals."""
    run = result.runs[name]
    return run.item_detections.sum() / result.n_changes.sum(), run.item_fresh.mean()


def best(result, rival, metric):
    """The setting that is best for a rival in a metric."""
    names = [name for name in result.runs if name.split()[0] == rival]
    return max(names, key=lambda name: place(result, name)[METRICS.index(metric)])


# %%
# Differences are paired: both policies meet the same packages. Intervals are 95%, from resampling packages. That each
# rival's setting is chosen on the very stretch it is judged by favours the rivals.
log = load_debian_uploads(stop=None)
window = {"start": seconds("2019-07-06"), "split": seconds("2021-07-01"), "stop": seconds("2023-01-01")}
results = {}
for budget in BUDGETS:
    policies = {name: RenewalIndexPolicy(balance=balance) for name, balance in BALANCES.items()}
    policies |= rivals(377)
    policies |= {name: name for name in ("harmonic-once", "multiplicative", "recursive", "uniform", "optimal")}
    results[budget] = replay(log, None, policies, polls_per_change=budget, n_runs=5, random_state=0, **window)
    print(f"\n{budget:g} polls per change\n{results[budget]}")
    for metric in METRICS:
        for rival in RIVALS:
            name = best(results[budget], rival, metric)
            value, low, high = results[budget].difference("renewal", name, metric)
            print(f"renewal minus {name:23} {metric:15} {value:+.4f} [{low:+.4f}, {high:+.4f}]")

# %%
# To the right: more changes found; up: copies current for longer. The line is the renewal index from balance 0 (find
# changes) to 1 (keep copies current), the large point its default; small points are rivals in all their settings.
figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (budget, result) in zip(axes, results.items()):
    curve = np.array([place(result, name) for name in BALANCES])
    colour, marker = STYLES["renewal"]
    ax.plot(*curve.T, ".-", color=colour, lw=1.5, label="renewal index, balance 0 to 1")
    ax.plot(*place(result, "renewal"), marker=marker, color=colour, ms=10, ls="none", label="its default, 0.8")
    for rival in RIVALS:
        colour, marker = STYLES[rival]
        points = np.array([place(result, name) for name in result.runs if name.split()[0] == rival])
        ax.plot(*points.T, marker=marker, color=colour, ms=6, ls="none", alpha=0.8, label=rival)
    ax.set(title=f"{budget:g} polls per change", xlabel="share of changes detected")
    ax.grid(alpha=0.25)
axes[0].set_ylabel("freshness (share of time a copy is current)")
axes[0].legend(frameon=False, fontsize=8, loc="lower left")


# %%
# Histories that no setting was ever tried on. Gaps between changes are Gamma variates of coefficient of variation 1.8,
# and each item's rate wanders by a factor of e in a quarter of the time; half of the items stop or start on the way.
def bursty(n_items, seed, length=400.0):
    generator = np.random.default_rng(seed)
    items, times = [], []
    for item in range(n_items):
        rate, now = generator.lognormal(-3.5, 1.2), 0.0
        first, last = (0.0, length) if item % 2 else sorted(generator.uniform(0, length, 2))
        while now < length:
            now += generator.gamma(1 / 1.8**2, 1.8**2 / rate)
            if first < now < last:
                times.append(now)
                items.append(item)
            rate *= np.exp(generator.normal(0, np.sqrt(min(1.0, 4 / (rate * length)))))
            rate = float(np.clip(rate, 1e-3, 10))
    order = np.argsort(times, kind="stable")
    return np.array(items)[order], np.array(times)[order]


histories = {f"bursty {seed}": (bursty(300, seed), {"start": 0.0, "split": 200.0, "stop": 400.0}) for seed in (1, 2)}
try:
    own = from_git_log(".")
    middle = float(np.quantile(own.times, 0.5))
    histories["own files"] = (own, {"split": middle})
except (ValueError, OSError) as error:  # the sources came without their history
    print(error)
names = ["renewal", "stormcrawler", "nutch", "harmonic", "proportional", "multiplicative", "uniform"]
for title, (history, stretch) in histories.items():
    for budget in BUDGETS:
        result = replay(history, None, names, polls_per_change=budget, n_runs=2, random_state=0, **stretch)
        print(f"\n{title}, {budget:g} polls per change")
        for name in names:
            cells = []
            for metric in METRICS:
                less = "{:+.3f} [{:+.3f}, {:+.3f}]".format(*result.difference(name, "renewal", metric))
                cells.append(f"{result.estimate(name, metric).value:.3f} ({less})")
            print(f"{name:13}", *cells)
plt.show()
