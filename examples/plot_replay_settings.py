"""
How coarse should the learners be? Settings chosen on a validation year
=======================================================================

A replay has far fewer polls per item than the papers' simulations, and most of them find nothing. So the
learners' settings were chosen on a year of Debian uploads, trained on the year before; the test stretch of
`knapsolve replay debian` comes after both.
"""

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

policies = {"uniform": "uniform", "chosen lakg": "lakg", "chosen htraa": "htraa"}
for state in start_states:  # how many states there are below the uniform start
    policies[f"lakg {state}"] = LAKG(resolution=int(np.ceil(state * 377 ** (1 / 1.3))))
for scheme in schemes:
    for resolution in resolutions:
        policies[f"{scheme} {resolution}"] = HTRAA(resolution=resolution, update=scheme)
results = {each: replay(log, f"{each}/day", policies, n_runs=5, random_state=0, **window) for each in budgets}

for each, result in results.items():
    print(f"\n{each} polls a day\n{result}")

# %%
# LAKG must be able to go down from where it starts: at start state 1 it is uniform polling for ever. Larger
# ones learn more slowly but are fresher. H-TRAA's reward-penalty and inaction-penalty schemes move on every
# poll that finds nothing, which is most of them, and end far below uniform polling unless they are too fine
# to move.
figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
for row, metric in zip(axes, ("detected_share", "freshness")):
    for each, colour in zip(budgets, ("tab:blue", "tab:orange", "tab:green")):
        gain = {name: results[each].difference(name, "uniform", metric).value for name in policies}
        values = [gain[f"lakg {state}"] for state in start_states]
        row[0].plot(start_states, values, "o-", color=colour, label=f"{each} polls a day")
        for scheme, style in zip(schemes, ("s--", "o-", "^:")):
            values = [gain[f"{scheme} {resolution}"] for resolution in resolutions]
            row[1].plot(resolutions, values, style, color=colour, label=scheme if each == 20 else None, ms=4)
    for ax in row:
        ax.axhline(0, color="gray", lw=0.8)
        ax.set_xscale("log")
    row[0].set_ylabel(f"{metric.replace('_', ' ')}, less that of uniform")
axes[0, 0].set_title("LAKG")
axes[0, 1].set_title("H-TRAA, one resolution for all depths")
axes[1, 0].set_xlabel("start state: resolution = start state * n^(1/1.3)")
axes[1, 1].set_xlabel("resolution")
axes[0, 0].set_xticks(start_states, start_states)
axes[1, 0].set_xticks(start_states, start_states)
axes[1, 0].legend(frameon=False, loc="lower right")
axes[0, 1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
