"""Figures 1 and 3 to 5 of Glimsdal and Granmo: posteriors with their bands, draws, and the amounts chosen.

The paper's figures show one run that it does not specify; ours show one of our own with as many observations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from knapsolve.learners import GPOKS
from knapsolve.reproduce.gpoks_runs import one_run
from knapsolve.reproduce.report import save

PAIR = (0.9, 0.1)
FINE = np.linspace(0.01, 0.99, 393)


def trained(n_polls: int, seed: int) -> GPOKS:
    """A learner of two materials after some polls."""
    learner = GPOKS(scale="linear", n_materials=2, feedback_noise=0.1)
    one_run(learner, PAIR, np.random.SeedSequence(seed), "present", n_polls)
    return learner


def draw_posterior(ax: Any, learner: GPOKS, material: int, color: str = "C0") -> None:
    """Posterior mean and 95% band of a material's unit value, and what it truly is."""
    mean, std = learner.predict(np.column_stack([np.full(FINE.size, material), 1 / FINE]), return_std=True)
    ax.fill_between(FINE, mean - 1.96 * std, mean + 1.96 * std, color=color, alpha=0.18, lw=0, label="95% band")
    ax.plot(FINE, mean, color=color, lw=2, label=f"posterior mean of $f'_{material + 1}$")
    ax.plot(FINE, -np.expm1(np.log(PAIR[material]) / FINE), color=color, ls=":", label=f"true $f'_{material + 1}$")
    ax.set(xlabel="amount x", ylabel="unit value", xlim=(0, 1))


def legend_below(ax: Any) -> None:
    """The legend where it hides nothing."""
    ax.legend(fontsize=8, ncols=3, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))


def draw_amounts(ax: Any, learner: GPOKS, material: int, color: str = "k") -> None:
    """The amount held and the optimal one."""
    rates = -np.log(PAIR)
    ax.axvline(learner.amounts_[material], color=color, label=rf"chosen $x_{material + 1}$")
    ax.axvline((rates / rates.sum())[material], color=color, ls="--", label=rf"optimal $x_{material + 1}$")


def figure_1(path: Path, seed: int) -> str:
    """A posterior and four admissible draws."""
    import matplotlib.pyplot as plt

    learner = trained(7, seed)
    figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
    draw_posterior(ax, learner, 1)
    for k, curve in enumerate(learner.sample_curves(1, 4, random_state=seed)):
        ax.plot(learner.grid_, curve, color="C1", lw=1, label="draws" if k == 0 else None)
    ax.set_title("Figure 1: a unit value and four draws, falling and above the mean")
    legend_below(ax)
    save(figure, path)
    return "Figure 1. A posterior with its 95% band and four draws that fall and stay above the mean; .90/.10, 7 polls."


def one_material(path: Path, seed: int, number: int, material: int) -> str:
    """Figures 3 and 4: one material after 7 observations."""
    import matplotlib.pyplot as plt

    learner = trained(7, seed)
    figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
    draw_posterior(ax, learner, material)
    ax.plot(learner.grid_, learner.curves_[material], color="C1", label="draw")
    draw_amounts(ax, learner, material)
    ax.set_title(f"Figure {number}: material {material + 1} after 7 observations")
    legend_below(ax)
    save(figure, path)
    return (
        f"Figure {number}. Material {material + 1} after 7 polls, .90/.10: chosen amount "
        f"{learner.amounts_[material]:.3f}, optimal {_optimal(material):.3f}."
    )


def figure_5(path: Path, seed: int) -> str:
    """Both materials after 193 observations, side by side."""
    import matplotlib.pyplot as plt

    learner = trained(193, seed)
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True, layout="constrained")
    for material, ax in enumerate(axes):
        draw_posterior(ax, learner, material, f"C{2 * material}")
        ax.plot(learner.grid_, learner.curves_[material], color="C1", label="draw")
        draw_amounts(ax, learner, material)
        ax.set_title(f"Figure 5: material {material + 1} after 193 observations")
        ax.set_ylabel("" if material else "unit value")
        legend_below(ax)
    save(figure, path)
    amounts = learner.amounts_
    return (
        f"Figure 5. Both materials after 193 polls, .90/.10: chosen amounts {amounts[0]:.3f} and {amounts[1]:.3f}, "
        f"optimal {_optimal(0):.3f} and {_optimal(1):.3f}."
    )


def _optimal(material: int) -> float:
    rates = -np.log(PAIR)
    return float((rates / rates.sum())[material])


FIGURES: dict[int, Callable[[Path, int], str]] = {
    1: figure_1,
    3: partial(one_material, number=3, material=0),
    4: partial(one_material, number=4, material=1),
    5: figure_5,
}
