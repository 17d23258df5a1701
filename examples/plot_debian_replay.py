"""
Which Debian package was uploaded? Policies compared on real histories
======================================================================

377 source packages, 2,416 uploads in the eighteen months to 2023, and 20 looks a day. Who finds most of the
uploads, and whose copies are current for most of the time? Learners have the two years before to learn in.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve.datasets import load_debian_uploads
from knapsolve.replay import replay


def seconds(date):
    return float(np.datetime64(date, "s").astype(float))


# %%
# The changelogs are complete from July 2019 (Debian 10) to the end of 2022. All 377 packages are kept, also
# those first uploaded after that: nobody knows in advance which they are.
log = load_debian_uploads(stop=None)
window = {"start": seconds("2019-07-06"), "split": seconds("2021-07-01"), "stop": seconds("2023-01-01")}
result = replay(log, 20 / 86400, n_runs=100, random_state=0, **window)
print(result)

# %%
# Paired differences are sharper than the intervals apart: both policies meet the same packages.
for learner in ("lakg", "htraa"):
    for rival in ("uniform", "estimator-mle", "optimal"):
        for metric in ("detected_share", "freshness"):
            value, low, high = result.difference(learner, rival, metric)
            print(f"{learner:6} less {rival:14} {metric:15} {value:+.4f} [{low:+.4f}, {high:+.4f}]")

# %%
# Of what the oracle gains over uniform polling in uploads found, LAKG gets three quarters and H-TRAA a little
# less. Neither makes copies more current than uniform polling does: quiet packages wait longer.
result.plot()

# %%
# Does it hang on the number of looks? Five budgets, from a look at a package in 75 days to one in 2.
budgets = np.array([5, 10, 20, 50, 200])
names = ["uniform", "estimator-mle", "lakg", "htraa", "optimal"]
results = [replay(log, each / 86400, names, n_runs=5, random_state=0, **window) for each in budgets]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, metric in zip(axes, ("detected_share", "freshness")):
    for name in names[1:]:
        values = np.array([each.difference(name, "uniform", metric) for each in results])
        (line,) = ax.plot(budgets, values[:, 0], "o-", label=name)
        ax.fill_between(budgets, values[:, 1], values[:, 2], color=line.get_color(), alpha=0.12, lw=0)
    ax.axhline(0, color="gray", lw=0.8, ls=":")
    ax.set(xscale="log", xlabel="polls a day", ylabel=f"{metric.replace('_', ' ')}, less that of uniform")
    ax.set_xticks(budgets, budgets)
    ax.minorticks_off()
axes[0].legend(frameon=False)
figure.suptitle("Gain over uniform polling, with 95% intervals over packages")
plt.show()
