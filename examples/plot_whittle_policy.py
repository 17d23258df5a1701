"""
Which of 20,000 sites to crawl, and how often
=============================================

Content is published at every site and loses interest with age. With room for 200 crawls a step, the
Whittle index says which sites to crawl now. In the long run, that amounts to an interval between
crawls for every site; sites that publish little are not crawled at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import WhittlePolicy, whittle_index
from knapsolve.restless import relaxed_bound

random = np.random.default_rng(0)
n, n_crawls = 20_000, 200
arrival_rate = random.lognormal(0.0, 1.0, n)
decay_rate = random.lognormal(-3.0, 1.0, n)

policy = WhittlePolicy(arrival_rate, decay_rate, n_crawls)
history = policy.simulate(4000, return_crawls=True)
bound = relaxed_bound(arrival_rate, decay_rate, n_crawls)
earned = history.reward.mean()  # from empty sites on, so the bound holds for it too
print(f"The policy collects {earned:.1f} a step; no policy can collect more than {bound.value:.1f}.")

# %%
# Left, the index of four sites as they wait: a site is crawled when its index reaches the price of a
# crawl. Right, the intervals that follow.
crawled = np.bincount(history.crawls[2000:].ravel(), minlength=n)
often = crawled > 0

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ages = np.arange(0, 121)
for rate, decay, style in ((5.0, 0.05, "-"), (2.0, 0.02, "--"), (1.0, 0.01, "-."), (5.0, 0.5, ":")):
    index = whittle_index(age=ages, arrival_rate=rate, decay_rate=decay)
    left.plot(ages, index, style, label=f"{rate:g} items a step, decay {decay:g}")
left.axhline(bound.price, color="0.3", lw=0.8, label=f"price of a crawl, {bound.price:.1f}")
left.set(xlabel="steps since the last crawl", ylabel="Whittle index (items)", xlim=(0, 120), ylim=(0, None))
left.legend(frameon=False, fontsize=8)

dots = right.scatter(
    arrival_rate[often],
    decay_rate[often],
    c=2000 / crawled[often],
    s=4,
    norm="log",
    cmap="viridis",
    rasterized=True,
)
right.scatter(arrival_rate[~often], decay_rate[~often], s=1, color="0.85", rasterized=True, label="not crawled")
right.set(xscale="log", yscale="log", xlabel="items published a step", ylabel="decay of interest a step")
print(f"{often.sum():,} of {n:,} sites are crawled, the most crawled of them every {2000 / crawled.max():.1f} steps")
right.legend(frameon=False, loc="lower left", markerscale=6)
figure.colorbar(dots, label="steps between crawls")
plt.show()
