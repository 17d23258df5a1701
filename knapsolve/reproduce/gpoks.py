"""Tables 1 and 2 and figures 1 and 3 to 5 of Glimsdal and Granmo, Gaussian process based optimistic sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from knapsolve.learners import GPOKS
from knapsolve.reproduce import gpoks_figures
from knapsolve.reproduce.curves import announce
from knapsolve.reproduce.gpoks_runs import CHECKPOINTS, lakg_scores, scores, unit_values
from knapsolve.reproduce.gpoks_tables import PAIRS, TABLE_1, TABLE_2
from knapsolve.reproduce.report import Report

N_RUNS, QUICK_RUNS = 1000, 40
GRID: dict[str, Any] = {"scale": "linear", "n_materials": 2, "feedback_noise": 0.1}
SCHEMES = {"GPOKS": GPOKS(**GRID), "GPOKS-Mean": GPOKS(**GRID, draw="mean", monotone=False)}
READINGS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "GPOKS": {
        "as above: credit, grid .01 to .99": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline first": ("edf", {}),
        "grid .02 to .98 in steps of .02": ("credit", {"n_points": 49}),
        "grid .05 to .95 in steps of .05": ("credit", {"n_points": 19}),
        "grid .1 to .9 in steps of .1": ("credit", {"n_points": 9}),
        "noise variance .01": ("credit", {"noise": 0.01}),
        "not optimistic": ("credit", {"draw": "thompson"}),
        "optimistic, not monotone": ("credit", {"monotone": False}),
        "rejection, at most 100 tries": ("credit", {"sampler": "rejection", "max_tries": 100}),
    },
    "GPOKS-Mean": {
        "as above: credit, first crossing": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline first": ("edf", {}),
        "means made non-increasing": ("credit", {"monotone": True}),
    },
}
HEADING = (
    "GPOKS (Glimsdal and Granmo)\nTwo materials, Bernoulli environment, {n_runs} runs of 1000 polls. Score: sum over "
    "polls of x1 d1(x1) + x2 d2(x2),\nmean over runs ± standard error [paper | prototype, an independent "
    "implementation]. Reading of the paper: kernel\nvariance 1, length 1, noise variance .1, grid .01 to .99; both "
    "curves drawn anew before each poll; the scheduler gives\ncredit x_i a poll and polls the richest; GPOKS-Mean "
    "meets at the first crossing of the means as they are; w = .1 is\nadded to feedback."
)


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute the paper's tables and figures, save a picture of each figure, and tell what came out.

    Parameters
    ----------
    quick : bool, default=False
        Fewer runs, so that it takes seconds.
    output : Path, optional
        Folder for pictures and text, ``output`` by default; each is saved as soon as it is finished.
    seed : int, default=0
        Source of every random number.

    Returns
    -------
    text : str
        Ours beside the paper's and a prototype's, and what other readings of the paper give.

    References
    ----------
    Glimsdal and Granmo, "Gaussian process based optimistic knapsack sampling with applications to stochastic
    resource allocation", tables 1 and 2, figures 1 and 3 to 5.

    Examples
    --------
    >>> from knapsolve.reproduce import gpoks
    >>> text = gpoks.run(quick=True)  # doctest: +SKIP
    """
    return compute(QUICK_RUNS if quick else N_RUNS, output, seed)


def compute(n_runs: int, output: Path | None, seed: int) -> str:
    """`run` with any number of runs."""
    with Report("gpoks", HEADING.format(n_runs=n_runs), output) as report:
        for number, draw in gpoks_figures.FIGURES.items():
            path = report.picture(f"figure {number}")
            report.add_text(draw(path, seed), path)
        announce("GPOKS table 1")
        report.add_text(table_1(n_runs, seed))
        announce("GPOKS table 2")
        report.add_text(table_2(n_runs, seed))
        announce("GPOKS readings")
        report.add_text(readings(max(2, n_runs // 5), seed))
    return report.text()


def table_1(n_runs: int, seed: int) -> str:
    """Accumulated changes found after 10, 100 and 1000 polls."""
    lines = ["Table 1. Accumulated value", " " * 24 + "".join(f"t = {t}".ljust(38) for t in CHECKPOINTS).rstrip()]
    for pair in PAIRS:
        for scheme, allocation in (("Optimal", optimum(pair)), ("Uniform", np.full(2, 0.5))):
            value = float(unit_values(allocation, pair))
            cells = "".join(f"{t * value:.2f}".ljust(38) for t in CHECKPOINTS)
            lines.append(f"{scheme:<12}{pair[0]:.2f}/{pair[1]:.2f}   {cells}".rstrip())
        for scheme in ("GPOKS", "GPOKS-Mean", "LAKG"):
            found = lakg_scores(pair, n_runs, seed) if scheme == "LAKG" else scores(SCHEMES[scheme], pair, n_runs, seed)
            cells = "".join(
                _cell(found[:, k], *(column[k] for column in TABLE_1[scheme, pair[0]])).ljust(38) for k in range(3)
            )
            lines.append(f"{scheme:<12}{pair[0]:.2f}/{pair[1]:.2f}   {cells}".rstrip())
    return "\n".join(lines)


def table_2(n_runs: int, seed: int) -> str:
    """More noise on the feedback, .75/.25, 1000 polls."""
    lines = ["Table 2. Accumulated value after 1000 polls, .75/.25, at noise w"]
    for (scheme, w), reference in TABLE_2.items():
        learner = SCHEMES[scheme]
        noisy = GPOKS(**{**learner.get_params(), "feedback_noise": w})
        lines.append(f"{scheme:<12}w = {w}   {_cell(scores(noisy, PAIRS[1], n_runs, seed)[:, 2], *reference)}")
    return "\n".join(lines)


def readings(n_runs: int, seed: int) -> str:
    """Both schemes after 10, 100 and 1000 polls as the paper may also be read."""
    lines = [f"Other readings, {n_runs} runs: t = 10 / 100 / 1000 ± standard error of the last"]
    for scheme, ways in READINGS.items():
        heads = "".join(f".{pair[0] * 100:.0f}/.{pair[1] * 100:.0f}".ljust(28) for pair in PAIRS)
        paper = ["{:.1f} / {:.1f} / {:.1f}".format(*TABLE_1[scheme, pair[0]][0]).ljust(28) for pair in PAIRS]
        lines += [f"{scheme:<36}{heads}".rstrip(), f"{'the paper':<36}{''.join(paper)}".rstrip()]
        for name, (order, parameters) in ways.items():
            learner = GPOKS(**{**SCHEMES[scheme].get_params(), **parameters})
            cells = (_triple(scores(learner, pair, n_runs, seed, order)).ljust(28) for pair in PAIRS)
            lines.append(f"{name:<36}{''.join(cells)}".rstrip())
    return "\n".join(lines)


def _triple(found: np.ndarray) -> str:
    means, error = found.mean(axis=0), found[:, 2].std(ddof=1) / np.sqrt(len(found))
    return f"{means[0]:.2f} / {means[1]:.2f} / {means[2]:.1f} ± {error:.1f}"


def optimum(unchanged: tuple[float, float]) -> np.ndarray:
    """The best amounts of capacity 1, proportional to the change rates."""
    rates = -np.log(unchanged)
    return rates / rates.sum()


def _cell(found: np.ndarray, paper: float, prototype: float) -> str:
    error = found.std(ddof=1) / np.sqrt(found.size)
    return f"{found.mean():.2f} ± {error:.2f} [{paper:.1f} | {prototype:.2f}]"
