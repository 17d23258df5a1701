"""
Learning how often to poll 500 pages
====================================

Five hundred pages change at rates that follow Zipf's law, and only one poll a time step is allowed. The
Learning Automata Knapsack Game starts from uniform polling, sees nothing but whether a poll found a change,
and ends near the best that can be done by one who knows all rates.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import LAKG, OptimalPolicy, ProportionalPolicy, UniformPolicy, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

unchanged = zipf_unchanged(500, alpha=0.9, beta=1.5)
environment = BernoulliEnvironment(unchanged)

# %%
# Ten replications of three resolutions: a finer one ends closer to the optimum and takes longer.

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
for resolution, exponent, style in ((1500, 1.3, "-"), (2500, 1.3, "--"), (5000, 1.2, "-.")):
    learner = LAKG(resolution=resolution, exponent=exponent)
    history = simulate(
        learner,
        environment,
        500_000,
        scheduler="random",
        n_runs=10,
        n_jobs=2,
        record_every=500,
        random_state=0,
    )
    history.plot(left, label=f"LAKG, resolution {resolution:,}, exponent {exponent}", ls=style)
    print(f"resolution {resolution:,}: {history.mean()[-1]:.4f} in the end")

policies = {
    "optimal": OptimalPolicy(unchanged=unchanged),
    "proportional": ProportionalPolicy(unchanged=unchanged),
    "uniform": UniformPolicy(),
}
for name, policy in policies.items():
    value = simulate(policy, environment, 1).value[0, 0]
    left.axhline(value, color="0.3", lw=0.8, ls=":")
    place = (0, 3 if name == "optimal" else -11)
    left.annotate(name, (500, value), xytext=place, textcoords="offset points", fontsize=9)
    print(f"{name}: {value:.4f}")
left.set(xscale="log", ylim=(0, 1.05), title="value against polls, mean ± 2 standard errors")
left.legend(loc="upper left", bbox_to_anchor=(0, 0.86), fontsize=9)

# %%
# At the optimum the amounts are in proportion to the rates of change, and every page's polls find a change
# equally often. One run of LAKG has found that by itself, down to the smallest amounts that its resolution has.

learner = LAKG(resolution=5000, exponent=1.2)
simulate(learner, environment, 1_000_000, scheduler="random", random_state=1)
optimal = np.log(unchanged) / np.log(unchanged).sum()
rank = np.arange(1, unchanged.size + 1)
right.loglog(rank, learner.amounts_, ".", ms=4, label="LAKG after a million polls")
right.loglog(rank, optimal, color="black", lw=1, label="optimal")
right.set(xlabel="page, by rank", ylabel="polls per time step", title="who gets the polls")
right.legend()
plt.show()
