"""
Which Debian package was uploaded? Policies compared on real histories
======================================================================

377 source packages, 2,416 uploads in the eighteen months to 2023, and 20 looks a day. Who finds most of the
uploads, and whose copies are current for most of the time? Learners have the two years before to learn in, and
go on learning and looking.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve.datasets import load_debian_uploads
from knapsolve.displays import STYLES
from knapsolve.replay import replay


def seconds(date):
    return float(np.datetime64(date, "s").astype(float))


# %%
# The changelogs are complete from July 2019 (Debian 10) to the end of 2022. All 377 packages are kept, also
# those first uploaded after that: nobody knows in advance which they are.
log = load_debian_uploads(stop=None)
window = {"start": seconds("2019-07-06"), "split": seconds("2021-07-01"), "stop": seconds("2023-01-01")}
result = replay(log, "20/day", n_runs=20, random_state=0, **window)
print(result)

# %%
# Paired differences are sharper than the intervals apart: both policies meet the same packages.
for row in result.differences("renewal"):
    cells = (
        f"{metric} {row[metric]:+.4f} [{row[metric + '_low']:+.4f}, {row[metric + '_high']:+.4f}]"
        for metric in ("detected_share", "freshness")
    )
    print(f"{row['policy']:14} minus renewal:", *cells)

# %%
# The renewal index finds more than uniform polling and the crawlers' rules, and its copies are at least as current.
# The automata find about as many uploads, but quiet packages wait longer for their look.
result.plot()

# %%
# Does it hang on the number of looks? Five budgets, from a look at a package in 75 days to one in 2.
budgets = np.array([5, 10, 20, 50, 200])
names = ["uniform", "renewal", "stormcrawler", "nutch", "harmonic", "lakg", "optimal"]
results = [replay(log, f"{each}/day", names, n_runs=5, random_state=0, **window) for each in budgets]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, metric in zip(axes, ("detected_share", "freshness")):
    print(f"\n{metric.replace('_', ' ')}, less that of uniform, at {', '.join(map(str, budgets))} polls a day")
    for k, name in enumerate(names[1:]):
        values, low, high = np.array([each.difference(name, "uniform", metric) for each in results]).T
        beside = budgets * 1.05 ** (k - 2.5)  # side by side, so that all intervals are seen
        colour, marker = STYLES[name]
        ax.errorbar(beside, values, [values - low, high - values], color=colour, marker=marker, lw=1, label=name)
        print(f"{name:13}", *(f"{value:+.4f}" for value in values))
    ax.axhline(0, color="gray", lw=0.8, ls=":")
    ax.set(xscale="log", xlabel="polls a day", ylabel=f"{metric.replace('_', ' ')}, less that of uniform")
    ax.set_xticks(budgets, budgets)
    ax.minorticks_off()
axes[0].legend(frameon=False)
axes[1].set_yscale("symlog", linthresh=0.02)
axes[1].set_yticks([-0.2, -0.1, -0.05, -0.02, 0, 0.02], ["-0.2", "-0.1", "-0.05", "-0.02", "0", "0.02"])
figure.suptitle("Gain over uniform polling, with 95% intervals over packages (right: logarithmic beyond ±0.02)")
plt.show()
