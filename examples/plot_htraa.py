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

print(f"optimum {optimum:.4f}; after 10,000 and 200,000 polls:")


def draw(ax, name, learner, unchanged, style):
    """Mean over runs with a band of two standard errors."""
    history = simulate(learner, BernoulliEnvironment(unchanged), 200_000, **options)
    history.plot(ax, label=name, ls=style)
    early, end = (history.mean()[np.searchsorted(history.polls, polls)] for polls in (10_000, 200_000))
    print(f"{name:26} {early:.4f} {end:.4f}")


for update, style in {"reward-penalty": "-", "reward-inaction": "--", "inaction-penalty": "-."}.items():
    draw(left, update, HTRAA(update=update), ranked, style)
left.set(xscale="log", ylim=(0, 1.05), title="updating schemes, leaves in the order of the ranks")

# %%
# The same pages with their leaves put out of order: by swaps of neighbours, and by a shuffle.

orders = {
    "in the order of the ranks": ranked,
    "10,000 swaps of neighbours": zipf_unchanged(500, 0.9, 1.5, n_perturbations=10_000, random_state=1),
    "shuffled": np.random.default_rng(1).permutation(ranked),
}
for (name, unchanged), style in zip(orders.items(), ("-", "--", "-.")):
    draw(right, name, HTRAA(), unchanged, style)
right.set(xscale="log", ylabel="", title="leaf order, reward-penalty")

for ax in (left, right):
    ax.axhline(optimum, color="black", lw=0.8, ls=":", label="optimal")
    ax.legend(loc="lower right", fontsize=9)
plt.show()
