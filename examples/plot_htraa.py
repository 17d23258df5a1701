"""
A hierarchy of automata: updating schemes and leaf order
========================================================

H-TRAA halves the pages again and again, and an automaton at each split learns how to share what comes in from
above. It may learn from polls that found a change, from those that did not, or from both. How fast it learns
depends on who stands beside whom at the leaves: neighbours should be alike.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import HTRAA, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

ranked = zipf_unchanged(500, alpha=0.9, beta=1.5)
optimum = -np.expm1(np.log(ranked).sum())
options = {"scheduler": "random", "n_runs": 10, "n_jobs": 2, "record_every": 200, "random_state": 0}
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), sharey=True, layout="constrained")

# %%
# Learning from both kinds of polls is the quickest, learning only from those that found nothing the most
# accurate.

for update in ("reward-penalty", "reward-inaction", "inaction-penalty"):
    history = simulate(HTRAA(update=update), BernoulliEnvironment(ranked), 200_000, **options)
    history.plot(left, label=update)
left.set(xscale="log", ylim=(0, 1.05), title="updating schemes, leaves in the order of the ranks")

# %%
# The same pages with their leaves put out of order: by swaps of neighbours, and by a shuffle.

orders = {
    "in the order of the ranks": ranked,
    "10,000 swaps of neighbours": zipf_unchanged(500, 0.9, 1.5, n_perturbations=10_000, random_state=1),
    "shuffled": np.random.default_rng(1).permutation(ranked),
}
for name, unchanged in orders.items():
    simulate(HTRAA(), BernoulliEnvironment(unchanged), 200_000, **options).plot(right, label=name)
right.set(xscale="log", ylabel="", title="leaf order, reward-penalty")

for ax in (left, right):
    ax.axhline(optimum, color="black", lw=1, label="optimal")
    ax.legend(loc="lower right", fontsize=9)
plt.show()
