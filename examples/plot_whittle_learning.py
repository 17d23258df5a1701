"""
Learning whom to crawl
======================

Four sites publish 250 items a step whose interest decays at different rates, and one may be crawled a
step. The rates are unknown. Plug-in estimates are as good as known rates after the seeding phase;
LSPE(0) with a policy gradient, the published learner, earns about as much as crawling at random.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import LSPEWhittle, PlugInWhittle, WhittlePolicy
from knapsolve.environments import EphemeralEnvironment
from knapsolve.restless import simulate_ephemeral

arrival_rates, decay_rates = [250.0] * 4, [0.7, 0.35, 0.7, 0.21]
environment = EphemeralEnvironment(arrival_rates, decay_rates)
choosers = {
    "rates known": WhittlePolicy(arrival_rates, decay_rates, 1),
    "plug-in": PlugInWhittle(),
    "LSPE(0)": LSPEWhittle(),
}

# %%
# Crawled at random, a site waits k steps with chance (3/4)^(k-1) / 4, and then holds what its items are worth by then.
waits = np.arange(1, 200)[:, None]
content = np.array(arrival_rates) * -np.expm1(-np.array(decay_rates) * waits) / decay_rates
at_random = (0.25 * 0.25 * 0.75 ** (waits - 1) * content).sum()
print(f"at random: {at_random:.1f} a step")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, chooser), style in zip(choosers.items(), ("-", "--", "-.")):
    history = simulate_ephemeral(chooser, environment, 2000, n_runs=10, record_every=40, random_state=0)
    history.plot(ax, label=name, ls=style)
    print(f"{name}: {history.reward[:, 25:].mean():.1f} a step in the second half")
ax.axhline(at_random, color="0.4", ls=":", label="at random")
ax.set_ylim(300, 500)
ax.legend(frameon=False, loc="lower right")
plt.show()
