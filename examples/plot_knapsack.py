"""
A price and the amounts it gives
================================

Every item's derivative falls as it gets more. One price, the height at which the amounts add up to the
capacity, cuts all curves; an item whose curve never reaches the price gets nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from knapsolve import criteria, solve_nefk

rates = np.array([0.6, 1.0, 1.8, 4.0])
weights = np.array([1.0, 1.0, 1.6, 1.0])
capacity = 3.0

result = solve_nefk(criteria.Freshness(rates), capacity, weights=weights, upper=1.2)

x = np.linspace(1e-3, 2.4, 600)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=[2.2, 1], layout="constrained")
colors = plt.cm.viridis(np.linspace(0.05, 0.85, len(rates)))
for rate, weight, amount, color in zip(rates, weights, result.amounts, colors):
    slope = weight * criteria.Freshness(rate).derivative(x)
    left.plot(x, slope, color=color, label=f"rate {rate:g}, weight {weight:g}")
    height = weight * float(criteria.Freshness(rate).derivative(amount))
    left.plot([amount, amount], [0, height], color=color, lw=1, ls=":")
    left.plot(amount, height, "o", color=color, clip_on=False, zorder=3)
left.axhline(result.price, color="crimson", lw=1)
left.annotate(
    f"price {result.price:.3f}",
    (2.39, result.price),
    xytext=(0, 4),
    textcoords="offset points",
    ha="right",
    color="crimson",
)
left.axvline(1.2, color="0.6", lw=1, ls="--")
left.annotate("upper bound", (1.2, 1.62), xytext=(4, 0), textcoords="offset points", color="0.4")
left.set(
    xlabel="polls per unit of time, $x$",
    ylabel=r"weight $\times$ freshness gained per poll, $w\,f\,'(x)$",
    xlim=(0, 2.4),
    ylim=(0, 1.75),
    title="Freshness: worth of one more poll",
)
left.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.9))

bars = right.barh([f"rate {rate:g}" for rate in rates], result.amounts, color=colors)
right.bar_label(bars, fmt="%.3f", padding=3)
right.set(xlabel="polls per unit of time", title=f"{capacity:g} polls shared out", xlim=(0, 1.6))
right.invert_yaxis()
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)

print("amounts", result.amounts.round(4), f"price {result.price:.4f}, they miss {capacity:g} by {result.residual:.0e}")
plt.show()
