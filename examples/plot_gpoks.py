"""
Unit values learnt by Gaussian processes
========================================

Two pages, one of which changes seldom and one often, share one poll a step. GPOKS learns how likely a poll of each is
to find a change, as a function of how often the page is polled; it draws a curve from each posterior, among those that
fall and stay above the mean, and polls where the curves are equal. Where it does not need to know, the bands stay wide.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import GPOKS, simulate
from knapsolve.environments import BernoulliEnvironment

unchanged = np.array([0.75, 0.25])
rates = -np.log(unchanged)
optimal = rates / rates.sum()
environment = BernoulliEnvironment(unchanged)
x = np.linspace(0.01, 0.99, 200)

figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.4), sharex=True, sharey=True, layout="constrained")
learner, polls = GPOKS(scale="linear", random_state=0), 0
for row, after in zip(axes, (20, 400)):
    simulate(learner, environment, after - polls, scheduler="random", random_state=after)
    polls = after
    for i, ax in enumerate(row):
        mean, std = learner.predict(np.column_stack([np.full(x.size, i), 1 / x]), return_std=True)
        ax.fill_between(x, mean - 1.96 * std, mean + 1.96 * std, alpha=0.2, lw=0, label="95% band")
        ax.plot(x, mean, lw=2, label="posterior mean")
        ax.plot(x, -np.expm1(-rates[i] / x), "k:", label="true chance of a change")
        curves = learner.sample_curves(i, 4, random_state=1)
        ax.plot(learner.grid_, curves.T, color="0.45", lw=0.8, label=["other draws", None, None, None])
        ax.plot(learner.grid_, learner.curves_[i], color="C1", lw=2, label="curve in use")
        ax.axvline(learner.amounts_[i], color="C1", ls="-.", lw=1.5, label="amount chosen")
        ax.axvline(optimal[i], color="k", ls="--", lw=1, label="optimal amount")
        ax.set_title(f"page {i + 1} after {after} polls of both", fontsize=10)
    print(f"after {after} polls: amounts {learner.amounts_.round(3)}, optimal {optimal.round(3)}")
axes[0, 0].set(ylim=(-0.6, 2.4), xlim=(0, 1))
axes[0, 0].legend(fontsize=8, frameon=False, loc="upper right")
for ax in axes[1]:
    ax.set_xlabel("polls of the page a step")
for ax in axes[:, 0]:
    ax.set_ylabel("chance that a poll finds a change")
plt.show()
