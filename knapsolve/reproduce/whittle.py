"""Avrachenkov and Borkar (2019): the 4-site example, what the paper prints and what is so.

Run as ``knapsolve reproduce whittle``. Everything printed is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knapsolve.environments import EphemeralEnvironment
from knapsolve.history import History
from knapsolve.learners import LSPEWhittle, PlugInWhittle
from knapsolve.reproduce.report import save_text
from knapsolve.restless import WhittlePolicy, relaxed_bound, simulate_ephemeral, whittle_index

__all__ = ["run"]

RATES, DECAYS = np.full(4, 250.0), np.array([0.7, 0.35, 0.7, 0.21])  # Table I
PERIOD = 12  # a multiple of the period of every policy met here


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute the example and compare.

    Parameters
    ----------
    quick : bool, default=False
        Fewer and shorter runs.
    output : Path, optional
        Folder for the text and the pictures: index against age, crawl pattern, learning curves.
    seed : int, default=0
        Of all random runs.

    Returns
    -------
    table : str
        Ours beside the paper's, with standard errors over seeds.
    """
    n_steps, n_runs = (2000, 4) if quick else (10_000, 20)
    learners = {
        "plug-in estimates": PlugInWhittle(),
        "LSPE(0), kappa = 2": LSPEWhittle(),
        "LSPE(0), kappa = 20": LSPEWhittle(steepness=20.0),
        "LSPE(0), no learning": LSPEWhittle(steepness=20.0, step_size=0.0),
    }
    curves = {name: _learn(learner, n_steps, n_runs, seed) for name, learner in learners.items()}
    known = _learn(WhittlePolicy(RATES, DECAYS, 1), n_steps, n_runs, seed)
    if output is not None:
        folder = Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        _draw(folder / "whittle_index.png", _draw_index)
        _draw(folder / "whittle_crawls.png", _draw_crawls)
        _draw(folder / "whittle_learning.png", lambda ax: _draw_learning(ax, curves, known))
    text = "\n".join([*_exact_lines(), *_learning_lines(curves, known, n_steps, n_runs), *_reasons()])
    if output is not None:
        save_text("whittle", text, Path(output))
    return text


def optimum(n_ages: int = 12) -> tuple[float, float]:
    """Bounds on the optimum of the example with one crawl a step, by relative value iteration.

    The state is the ages of all sites, cut at `n_ages`, where content is taken as what it is at that age
    (from below) or as the most that a site can hold (from above). Damped, since optimal cycles are periodic.
    """
    older = np.minimum(np.arange(n_ages) + 1, n_ages - 1)
    bounds = []
    for generous in (False, True):
        contents = RATES[:, None] / DECAYS[:, None] * -np.expm1(-DECAYS[:, None] * np.arange(1, n_ages + 1))
        if generous:
            contents[:, -1] = RATES / DECAYS
        value, low, high = np.zeros((n_ages,) * 4), -np.inf, np.inf
        for _ in range(5000):
            best = np.full(value.shape, -np.inf)
            for site in range(4):
                shape = [1, 1, 1, 1]
                shape[site] = n_ages
                after = np.take(value, [0], axis=site)
                for other in range(4):
                    if other != site:
                        after = np.take(after, older, axis=other)
                best = np.maximum(best, contents[site].reshape(shape) + after)
            low, high = float((best - value).min()), float((best - value).max())
            value = 0.5 * (value + best)
            value -= value[0, 0, 0, 0]
            if high - low < 1e-10:
                break
        bounds.append(high if generous else low)
    return bounds[0], bounds[1]


def uniform_random(n_crawls: int = 1) -> float:
    """Return what crawling sites chosen at random earns a step: ages are then geometric."""
    chance, left = n_crawls / 4, np.exp(-DECAYS)
    return float((chance * RATES / DECAYS * (1 - chance * left / (1 - (1 - chance) * left))).sum())


def _policy_gain(rates: np.ndarray, n_crawls: int) -> float:
    return float(WhittlePolicy(rates, DECAYS, n_crawls).simulate(1000 + PERIOD).reward[-PERIOD:].mean())


def _learn(chooser: Any, n_steps: int, n_runs: int, seed: int) -> History:
    environment = EphemeralEnvironment(RATES, DECAYS)
    return simulate_ephemeral(
        chooser, environment, n_steps, 1, n_runs=n_runs, record_every=n_steps // 100, random_state=seed
    )


def _exact_lines() -> list[str]:
    low, high = optimum()
    bound = relaxed_bound(RATES, DECAYS, 1)
    constants = [EphemeralEnvironment([r], [c], dynamics="mean").crawl([0])[0] for r, c in zip(RATES, DECAYS)]
    lines = [
        "The 4-site example (lambda = 250, c = .7, .35, .7, .21), content collected a step",
        "",
        f"{'mean dynamics':<44}{'ours':>18}{'paper':>9}",
        f"{'Whittle index policy, 1 crawl':<44}{_policy_gain(RATES, 1):>18.10f}{'283':>9}",
        f"{'optimum, value iteration, from below':<44}{low:>18.10f}",
        f"{'optimum, value iteration, from above':<44}{high:>18.10f}",
        f"{f'Lagrangian bound, price {bound.price:.4f}':<44}{bound.value:>18.10f}",
        f"{'Whittle index policy, 2 crawls':<44}{_policy_gain(RATES, 2):>18.10f}",
        f"{'Whittle index policy, 3 crawls':<44}{_policy_gain(RATES, 3):>18.10f}",
        f"{'uniform random':<44}{uniform_random():>18.10f}",
    ]
    lines += [f"{f'always site {i + 1}':<44}{gain:>18.10f}" for i, gain in enumerate(constants)]
    lines += [f"{'Whittle index policy, lambda = 150':<44}{_policy_gain(0.6 * RATES, 1):>18.10f}{'283':>9}"]
    return lines


def _learning_lines(curves: dict[str, History], known: History, n_steps: int, n_runs: int) -> list[str]:
    lines = ["", f"Poisson arrivals, {n_runs} seeds, {n_steps} steps"]
    heads = {"all steps": 11, "s.e.": 7, "last tenth": 12, " s.e.": 7, "worst": 8, "best": 8, "paper": 7}
    lines += [" " * 30 + "".join(f"{head:>{width}}" for head, width in heads.items())]
    for name, history in {"Whittle, rates known": known, **curves}.items():
        every, late = history.reward.mean(axis=1), history.reward[:, -10:].mean(axis=1)
        errors = [values.std(ddof=1) / np.sqrt(n_runs) for values in (every, late)]
        printed = "160" if name == "LSPE(0), kappa = 2" else ""
        lines.append(
            f"{name:<30}{every.mean():>11.2f}{errors[0]:>7.2f}{late.mean():>12.2f}{errors[1]:>7.2f}"
            f"{late.min():>8.1f}{late.max():>8.1f}{printed:>7}"
        )
    return lines


def _reasons() -> list[str]:
    least = float((RATES / DECAYS * -np.expm1(-DECAYS)).min())
    return [
        "",
        "Why 283 and 160 cannot be: with Table I every single crawl, even of a site crawled the step before,",
        f"brings {least:.2f} or more on average, so no policy of one crawl a step earns 160; and the Whittle",
        f"policy crawls all four sites in turn, which brings {_policy_gain(RATES, 1):.2f}. At lambda = 150",
        f"it would bring {_policy_gain(0.6 * RATES, 1):.2f}, the printed 283.",
    ]


def _draw(path: Path, draw: Callable[[Any], None]) -> None:
    """Save one picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    draw(ax)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_index(ax: Any) -> None:
    ages = np.arange(0, 21)
    for rate, decay, sites, marker in (
        (250.0, 0.7, "sites 1 and 3", "o"),
        (250.0, 0.35, "site 2", "s"),
        (250.0, 0.21, "site 4", "^"),
    ):
        index = whittle_index(age=ages, arrival_rate=rate, decay_rate=decay)
        (line,) = ax.plot(ages, index, marker=marker, ms=4, label=f"{sites}, decay {decay:g}")
        ax.axhline(rate / decay, color=line.get_color(), lw=0.8, ls=":")
    ax.set(
        xlabel="steps since the last crawl",
        ylabel="Whittle index (content)",
        xlim=(0, 20),
        ylim=(0, None),
        xticks=ages[::5],
    )
    ax.set_title("Slow decay starts low and ends high; dotted: the most a site can hold", fontsize=10)
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.05))


def _draw_crawls(ax: Any) -> None:
    n_steps = 30
    for row, n_crawls in enumerate((1, 2, 3)):
        history = WhittlePolicy(RATES, DECAYS, n_crawls).simulate(n_steps, return_crawls=True)
        crawls = np.asarray(history.crawls)
        steps = np.repeat(np.arange(n_steps), n_crawls)
        ax.scatter(steps, 5 * row + crawls.ravel(), marker="s", s=28, color=f"C{row}")
        ax.text(n_steps, 5 * row + 1.5, f"{n_crawls} a step", color=f"C{row}", va="center")
    ax.set_yticks(
        [5 * row + site for row in range(3) for site in range(4)],
        [f"{s + 1}" for _ in range(3) for s in range(4)],
    )
    ax.set(xlabel="step", ylabel="site crawled", xlim=(-1, n_steps))
    ax.set_title("Which sites the Whittle policy crawls, with 1, 2 and 3 crawls a step", fontsize=10)


def _draw_learning(ax: Any, curves: dict[str, History], known: History) -> None:
    for (name, history), marker in zip({"rates known": known, **curves}.items(), "os^vD"):
        smooth = history.reward.reshape(len(history.reward), 20, -1).mean(axis=2)
        mean, error = smooth.mean(axis=0), smooth.std(axis=0, ddof=1) / np.sqrt(len(smooth))
        steps = history.polls.reshape(20, -1)[:, -1]
        (line,) = ax.plot(steps, mean, marker=marker, ms=4, label=name)
        ax.fill_between(steps, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.2, lw=0)
    ax.axhline(uniform_random(), color="0.4", lw=0.8, ls="--", label="uniform random")
    ax.axhline(160, color="0.4", lw=0.8, ls=":", label="printed for LSPE")
    ax.set(xlabel="step", ylabel="content collected a step", ylim=(140, 500), xlim=(0, None))
    ax.set_title("Mean over seeds, bands of two standard errors", fontsize=10)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="center right", bbox_to_anchor=(1.0, 0.35))
