"""Theorem 1 of Granmo and Oommen (2011) beside the exact stationary distribution of the TRAA."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from knapsolve.learners import traa_stationary_distribution
from knapsolve.learners.htraa import UPDATES
from knapsolve.reproduce.report import Claim, quoted, save

UNCHANGED = (0.9, 0.1)
OPTIMUM = np.log(UNCHANGED[0]) / np.log(UNCHANGED).sum()
RESOLUTIONS = (10, 100, 300, 1000, 10_000)
SAYS = "below the optimal share the stationary probabilities increase geometrically, and fall away geometrically above it."
REFERENCE = {
    ("reward-inaction", 10): ".139497", ("reward-inaction", 100): ".0365550", ("reward-inaction", 1000): ".0337043",
    ("inaction-penalty", 10): ".0984541", ("inaction-penalty", 100): ".0384066", ("inaction-penalty", 1000): ".0432931",
    ("reward-penalty", 10): ".121378", ("reward-penalty", 100): ".0333690", ("reward-penalty", 1000): ".0398524",
}  # fmt: skip


def distribution(resolution: int, update: str) -> tuple[np.ndarray, np.ndarray]:
    """Shares of material 1, and the exact long-run share of polls spent in each."""
    share = np.arange(1, resolution + 1) / (resolution + 1)
    first, second = (lambda x, q=q: 1 - q ** (1 / x) for q in UNCHANGED)
    return share, traa_stationary_distribution(first, second, resolution, update)


def _boundary(resolution: int, update: str) -> tuple[float, float, float]:
    """P(s = 1), P(s = 1) / P(s = 2), and the share at the most probable state."""
    share, probability = distribution(resolution, update)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = probability[0] / probability[1]  # 0 / 0 where both underflow
    return probability[0], ratio, share[probability.argmax()]


def table() -> str:
    """Mean share, mode and boundary of each scheme at each resolution."""
    heads = ("mean share", "[reference]", "most probable", "P(s = 1)", "P(s=1) / P(s=2)")
    lines = [f"Theorem 1. Two pages, unchanged with probabilities {UNCHANGED}; optimal share {OPTIMUM:.7f}; exact, no simulation"]
    lines += [*quoted(SAYS), " " * 30 + "".join(head.ljust(17) for head in heads).rstrip()]
    for update in UPDATES:
        for resolution in RESOLUTIONS:
            share, probability = distribution(resolution, update)
            edge, ratio, mode = _boundary(resolution, update)
            cells = [f"{share @ probability:.7f}", f"[{REFERENCE[update, resolution]}]" if (update, resolution) in REFERENCE
                     else "", f"{mode:.5f}", f"{edge:.3g}", f"{ratio:.4f}" if np.isfinite(ratio) else "underflow"]  # fmt: skip
            label = f"{update}, N = {resolution:,}"
            lines.append((label.ljust(30) + "".join(cell.ljust(17) for cell in cells)).rstrip())
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Draw the distributions, each scaled to its largest probability, for each scheme."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(UPDATES), figsize=(13, 4.2), sharey=True, layout="constrained")
    for ax, update in zip(axes, UPDATES):
        for resolution in RESOLUTIONS:
            share, probability = distribution(resolution, update)
            ax.plot(share, probability / probability.max(), ".-", ms=3, lw=0.8, label=f"N = {resolution:,}")
        ax.axvline(OPTIMUM, color="black", lw=1, ls=":", label="optimal share")
        ax.set(title=update, xlabel="share of material 1", xscale="log", yscale="log", ylim=(1e-4, 2), xlim=(8e-5, 1))
    axes[0].set_ylabel("stationary probability / its largest")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)


def claims() -> list[Claim]:
    """The step of the proof, and its conclusion."""
    edges = {update: {n: _boundary(n, update) for n in RESOLUTIONS} for update in UPDATES}
    boundary = {update: [n for n in RESOLUTIONS if edges[update][n][1] > 1 and n * OPTIMUM > 2] for update in UPDATES}
    found = "; ".join(
        f"{update}: P(s=1)/P(s=2) = " + ", ".join(f"{edges[update][n][1]:.3f} at N = {n:,}" for n in resolutions)
        + f", and s = 1 is the most probable state of all up to N = {_last_mode(edges[update], resolutions):,}"
        for update, resolutions in boundary.items() if resolutions
    )  # fmt: skip
    finest = RESOLUTIONS[-1]
    means = {update: float(np.dot(*distribution(finest, update))) for update in UPDATES}
    return [
        Claim("(theorem 1, step) the probabilities increase geometrically up to the optimal share.",
              f"exact: they fall at first, so there is a second mode at s = 1. {found or 'no such mode found'}.", not found),
        Claim("(theorem 1) the TRAA is asymptotically optimal.",
              f"exact mean share at N = {finest:,}, optimum {OPTIMUM:.5f}: "
              + ", ".join(f"{update} {mean:.5f}" for update, mean in means.items()) + ".",
              all(abs(mean / OPTIMUM - 1) < 0.02 for mean in means.values())),
    ]  # fmt: skip


def _last_mode(edges: dict[int, tuple[float, float, float]], resolutions: list[int]) -> int:
    """The largest resolution at which the boundary is the most probable state, 0 if there is none."""
    return max((n for n in resolutions if np.isclose(edges[n][2], 1 / (n + 1))), default=0)
