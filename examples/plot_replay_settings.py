"""
How coarse should the learners be? Settings chosen on a validation year
=======================================================================

A replay has far fewer polls per item than the papers' simulations, and most of them find nothing. So the
learners' settings were chosen on a year of Debian uploads, trained on the year before; the test stretch of
`knapsolve replay debian` comes after both.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import HTRAA, LAKG
from knapsolve.datasets import load_debian_uploads
from knapsolve.replay import replay


def seconds(date):
    return float(np.datetime64(date, "s").astype(float))


log = load_debian_uploads(stop=None)
window = {"start": seconds("2019-07-06"), "split": seconds("2020-07-01"), "stop": seconds("2021-07-01")}
budgets = (4, 20, 100)  # polls a day
start_states = (1, 2, 4, 8, 12, 16)
resolutions = (10, 20, 50, 100, 200, 500)
schemes = ("reward-penalty", "reward-inaction", "inaction-penalty")

policies = {"uniform": "uniform"}
for state in start_states:  # how many states there are below the uniform start
    policies[f"lakg {state}"] = LAKG(resolution=int(np.ceil(state * 377 ** (1 / 1.3))))
for scheme in schemes:
    for resolution in resolutions:
        policies[f"{scheme} {resolution}"] = HTRAA(resolution=resolution, update=scheme)
results = {each: replay(log, f"{each}/day", policies, n_runs=5, random_state=0, **window) for each in budgets}


def gain(name, metric, polls):
    """What a policy has more than uniform polling, and how far its 95% interval over packages reaches: (3,)."""
    value, low, high = results[polls].difference(name, "uniform", metric)
    return value, value - low, high - value


def draw(ax, metric, places, names, polls, **style):
    """A line of gains with intervals, printed too."""
    values, *reach = np.array([gain(name, metric, polls) for name in names]).T
    ax.errorbar(places, values, reach, lw=1, elinewidth=0.7, **style)
    print(f"{polls:3} polls a day, {metric:14}", names[0].rpartition(" ")[0].ljust(16), *(f"{v:+.3f}" for v in values))


# %%
# LAKG must be able to go down from where it starts: at start state 1 it is uniform polling for ever. Larger
# ones learn more slowly but are fresher. H-TRAA's reward-penalty and inaction-penalty schemes move on every
# poll that finds nothing, which is most of them, and end far below uniform polling unless they are too fine
# to move. Chosen were start state 8, and reward-inaction with a resolution that falls from 200 with the depth.
figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
for row, metric in zip(axes, ("detected_share", "freshness")):
    for polls, colour, marker in zip(budgets, ("#0072b2", "#e69f00", "#009e73"), "os^"):
        line = partial(draw, metric=metric, polls=polls, color=colour, marker=marker, ms=4)
        line(row[0], places=start_states, names=[f"lakg {state}" for state in start_states])
        for scheme, style in zip(schemes, ("--", "-", ":")):
            line(row[1], places=resolutions, names=[f"{scheme} {each}" for each in resolutions], ls=style)
    for ax, places in zip(row, (start_states, resolutions)):
        ax.axhline(0, color="gray", lw=0.8)
        ax.set_xscale("log")
        ax.set_xticks(places, places)
        ax.minorticks_off()
    row[0].set_ylabel(f"{metric.replace('_', ' ')}, less that of uniform")
for polls, colour, marker in zip(budgets, ("#0072b2", "#e69f00", "#009e73"), "os^"):
    axes[0, 0].plot([], [], color=colour, marker=marker, ms=4, label=f"{polls} polls a day")
for scheme, style in zip(schemes, ("--", "-", ":")):
    axes[0, 0].plot([], [], color="0.3", ls=style, label=f"H-TRAA, {scheme}")
axes[0, 0].set_title("LAKG")
axes[0, 1].set_title("H-TRAA, one resolution for all depths")
axes[1, 0].set_xlabel(r"start state: resolution = start state $\cdot\, n^{1/1.3}$")
axes[1, 1].set_xlabel("resolution")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
