"""
Change rates with credible intervals
====================================

Polls tell only whether a page has changed since the last one. From 40 pages polled 60 times each, the rates behind
them are found by censored maximum likelihood, and how fast each estimator finds them is compared.
"""

# %%
# Rates and intervals beside the truth
# ------------------------------------
import matplotlib.pyplot as plt
import numpy as np

from knapsolve import ChangeRateEstimator

rng = np.random.default_rng(1)
N_PAGES = 40


def poll(rates, n_polls):
    """Polls of random pages after exponential gaps, and whether the page had changed."""
    pages, gaps = rng.integers(0, rates.size, n_polls), rng.exponential(1.0, n_polls)
    return np.column_stack([pages, gaps]), rng.random(n_polls) < -np.expm1(-rates[pages] * gaps)


rates = np.sort(np.exp(rng.normal(-0.5, 1.2, N_PAGES)))
X, changed = poll(rates, 60 * N_PAGES)
estimator = ChangeRateEstimator().fit(X, changed)
order = np.argsort(estimator.materials_)
found, (low, high) = estimator.rates_[order], estimator.rate_interval(0.95)[order].T
inside = (low <= rates) & (rates <= high)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[3, 2], layout="constrained")
for which, style, label in ((inside, "oC0", "95% interval holds the rate"), (~inside, "sC1", "it does not")):
    reach = [found[which] - low[which], high[which] - found[which]]
    left.errorbar(np.flatnonzero(which), found[which], reach, fmt=style, ms=4, lw=1, label=label)
left.plot(rates, "k_", ms=9, label="true rate")
left.set(xlabel="page, in the order of the true rates", ylabel="changes per unit of time", yscale="log")
left.set_title(f"{inside.sum()} of {N_PAGES} intervals hold the rate")
left.legend(loc="upper left")
print(f"{inside.sum()} of {N_PAGES} 95% intervals hold the rate")

# %%
# Error against polls
# -------------------
# The mean over pages of the error in log rate, after more and more polls of 500 pages.
many = np.exp(rng.normal(-0.5, 1.0, 500))
X, changed = poll(many, 128_000)
counts = 500 * 2 ** np.arange(1, 9)
print("polls a page  ", *(f"{count // 500:6}" for count in counts))
for name, style in {"mle": "o-", "recursive": "s--", "bayes": "^:", "multiplicative": "D-."}.items():
    learner, errors = ChangeRateEstimator(name), []
    for start, stop in zip([0, *counts[:-1]], counts):
        learner.partial_fit(X[start:stop], changed[start:stop])
        errors.append(np.abs(np.log(learner.rates_ / many[learner.materials_.astype(int)])).mean())
    right.loglog(counts / 500, errors, style, ms=4, label=name)
    print(f"{name:14}", *(f"{error:6.3f}" for error in errors))
right.set(xlabel="polls a page", ylabel="mean |log(rate / true rate)|", title="error against polls, 500 pages")
right.set_xticks(counts / 500, counts // 500)
right.minorticks_off()
right.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
right.legend()
plt.show()
