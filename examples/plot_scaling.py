"""
Many pages: how learning and work grow with their number
========================================================

Two different things may grow with the number of pages n: the polls that it takes to learn, and the work that
a single poll costs. The first depends on the learner and on the order of its leaves; the second on how many
steps it takes to find the next page, which is about log n.
"""

import itertools
import time

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")

# %%
# LAKG's resolution must grow with n, since n of its smallest amounts have to fit into the capacity;
# H-TRAA's may stay. With leaves in the order of the ranks H-TRAA hardly notices n; with shuffled leaves it goes up
# by jumps, some of them sooner than LAKG, but is later in the end or stays below.

for n, color in zip((512, 4096, 32768), ("black", "#0072b2", "#e69f00")):
    unchanged = zipf_unchanged(n, 0.9, 1.5)
    shuffled = np.random.default_rng(0).permutation(unchanged)
    lakg = LAKG(resolution=round(1500 * (n / 500) ** (1 / 1.3)))
    for learner, order, style in (
        (lakg, unchanged, "-"),
        (HTRAA(), unchanged, "--"),
        (HTRAA(), shuffled, ":"),
    ):
        history = simulate(
            learner,
            BernoulliEnvironment(order),
            2_000_000,
            scheduler="random",
            record_every=5_000,
            random_state=0,
        )
        history.plot(left, color=color, ls=style)
        print(f"n = {n:6,} {type(learner).__name__:5} {style:2} value after 2,000,000 polls {history.mean()[-1]:.3f}")
    left.plot([], [], color=color, label=f"{n:,} pages")
for style, name in (("-", "LAKG"), ("--", "H-TRAA, leaves by rank"), (":", "H-TRAA, leaves shuffled")):
    left.plot([], [], color="gray", ls=style, label=name)
left.set(xscale="log", title="polls to learn (one run each)")
left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, fontsize=9)

# %%
# The work of a poll, timed between the loop's own reports of progress. The number of steps grows like log n;
# when the materials outgrow the processor's caches, each step takes longer too.


def least_cost(learner, n, scheduler):
    """Nanoseconds a poll, whole loop, one thread."""
    environment, reports = BernoulliEnvironment(zipf_unchanged(n, 0.9, 1.5)), []
    simulate(
        learner,
        environment,
        400_000,
        scheduler=scheduler,
        record_every=400_000,
        random_state=0,
        progress=lambda done, total: reports.append((time.thread_time(), done)),
    )
    return min((t1 - t0) / (k1 - k0) * 1e9 for (t0, k0), (t1, k1) in itertools.pairwise(reports))


sizes = [10**k for k in range(2, 7)]
for scheduler, style in (("random", "-"), ("edf", "--")):
    lakg = [least_cost(LAKG(resolution=round(1500 * (n / 500) ** (1 / 1.3))), n, scheduler) for n in sizes]
    htraa = [least_cost(HTRAA(), n, scheduler) for n in sizes]
    right.loglog(sizes, lakg, style, marker="o", color="#d55e00", label=f"LAKG, {scheduler}")
    right.loglog(sizes, htraa, style, marker="s", color="#0072b2", label=f"H-TRAA, {scheduler}")
    for name, costs in (("LAKG", lakg), ("H-TRAA", htraa)):
        print(f"{name:6} {scheduler:6} ns a poll:", *(f"{cost:4.0f}" for cost in costs))
reference = 20 * np.log2(sizes) / np.log2(100)
right.loglog(sizes, reference, color="black", lw=1, ls=":", label="proportional to log n")
right.set(xlabel="pages", ylabel="ns a poll (processor time)", title="work of a poll", ylim=(10, 2000))
right.legend(fontsize=9)
plt.show()
