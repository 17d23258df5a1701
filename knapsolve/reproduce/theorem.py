"""Theorem 1 of Granmo and Oommen (2011) beside the exact stationary distribution of the TRAA."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from knapsolve.learners import traa_stationary_distribution
from knapsolve.learners.traa import UPDATES
from knapsolve.reproduce.report import Claim, quoted, save

UNCHANGED = (0.9, 0.1)
OPTIMUM = np.log(UNCHANGED[0]) / np.log(UNCHANGED).sum()
RESOLUTIONS = (10, 100, 300, 1000, 10_000)
SAYS = "up to the optimal share the probabilities increase geometrically, beyond it they fall likewise."
REFERENCE = {
    "reward-inaction": {10: ".139497", 100: ".0365550", 1000: ".0337043"},
    "inaction-penalty": {10: ".0984541", 100: ".0384066", 1000: ".0432931"},
    "reward-penalty": {10: ".121378", 100: ".0333690", 1000: ".0398524"},
}


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
    pages = "two pages, unchanged with probabilities " + " and ".join(f"{q:g}" for q in UNCHANGED)
    lines = [f"Theorem 1. Exact: {pages}; optimal share {OPTIMUM:.7f}", *quoted(SAYS)]
    lines.append(" " * 30 + "".join(head.ljust(17) for head in heads).rstrip())
    lines += [_row(update, resolution) for update in UPDATES for resolution in RESOLUTIONS]
    return "\n".join(lines)


def _row(update: str, resolution: int) -> str:
    share, probability = distribution(resolution, update)
    edge, ratio, mode = _boundary(resolution, update)
    known = REFERENCE[update].get(resolution)
    cells = (
        f"{share @ probability:.7f}",
        f"[{known}]" if known else "",
        f"{mode:.5f}",
        f"{edge:.3g}",
        f"{ratio:.4g}" if np.isfinite(ratio) else "underflow",
    )
    label = f"{update}, N = {resolution:,}"
    return (label.ljust(30) + "".join(cell.ljust(17) for cell in cells)).rstrip()


def draw(path: Path) -> None:
    """Draw the distributions, each scaled to its largest probability, for each scheme."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(UPDATES), figsize=(13, 4.2), sharey=True, layout="constrained")
    for ax, update in zip(axes, UPDATES):
        for resolution, marker in zip(RESOLUTIONS, "osD^."):
            share, probability = distribution(resolution, update)
            scaled = probability / probability.max()
            ax.plot(share, scaled, marker=marker, ms=3, lw=0.8, label=f"N = {resolution:,}")
        ax.axvline(OPTIMUM, color="black", lw=1, ls=":", label="optimal share")
        ax.set(
            title=update,
            xlabel="share of material 1",
            xscale="log",
            yscale="log",
            ylim=(1e-4, 2),
            xlim=(7e-4, 1),
        )
    axes[0].set_ylabel("stationary probability / its largest")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)


def claims() -> list[Claim]:
    """The step of the proof, and its conclusion."""
    found = [text for text in map(_boundary_mode, UPDATES) if text]
    finest = RESOLUTIONS[-1]
    means = {update: float(np.dot(*distribution(finest, update))) for update in UPDATES}
    listed = ", ".join(f"{update} {mean:.5f}" for update, mean in means.items())
    return [
        Claim(
            "(proof of theorem 1) the probabilities increase geometrically up to the optimal share.",
            "exact: they fall at first, so there is another mode at s = 1. " + "; ".join(found) + ".",
            not found,
        ),
        Claim(
            "(theorem 1) the TRAA is asymptotically optimal.",
            f"exact mean share at N = {finest:,}: {listed}; optimal {OPTIMUM:.5f}.",
            all(abs(mean / OPTIMUM - 1) < 0.02 for mean in means.values()),
        ),
    ]


def _boundary_mode(update: str) -> str:
    """Where s = 1 is more probable than s = 2 although the optimum lies above both; empty if nowhere."""
    edges = {n: _boundary(n, update) for n in RESOLUTIONS if n * OPTIMUM > 2}
    rising = {n: ratio for n, (_, ratio, _) in edges.items() if ratio > 1}
    if not rising:
        return ""
    highest = max((n for n in rising if np.isclose(edges[n][2], 1 / (n + 1))), default=None)
    tail = "" if highest is None else f", and s = 1 is the most probable state of all up to N = {highest:,}"
    return f"{update}: P(s=1)/P(s=2) is " + ", ".join(f"{r:.3f} at N = {n:,}" for n, r in rising.items()) + tail
