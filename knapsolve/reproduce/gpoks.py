"""Tables 1 and 2 and figures 1 and 3 to 5 of Glimsdal and Granmo, Gaussian process based optimistic sampling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from knapsolve.learners import GPOKS
from knapsolve.reproduce import gpoks_figures
from knapsolve.reproduce.gpoks_runs import CHECKPOINTS, lakg_scores, scores, unit_values
from knapsolve.reproduce.gpoks_tables import PAIRS, TABLE_1, TABLE_2
from knapsolve.reproduce.report import Report

N_RUNS, QUICK_RUNS = 1000, 40
TRIES = 100  # of rejection, as an independent implementation seems to have had
GRID: dict[str, Any] = {"scale": "linear", "n_materials": 2, "feedback_noise": 0.1}
MEAN: dict[str, Any] = {"draw": "mean", "monotone": False}
REJECTING: dict[str, Any] = {"sampler": "rejection", "max_tries": TRIES}
NEARER: dict[str, Any] = {"kernel": RBF(0.5**0.5)}  # exp(-d^2), without the half in the exponent
SCHEMES = {
    "GPOKS": GPOKS(**GRID),
    "GPOKS, 100 tries": GPOKS(**GRID, **REJECTING),
    "GPOKS, exp(-d^2)": GPOKS(**GRID, **NEARER),
    "GPOKS-Mean": GPOKS(**GRID, **MEAN),
}
READINGS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "GPOKS": {
        "as above: deadlines by amounts now": ("present", {}),
        "credit": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline, kept as first set": ("edf", {}),
        "grid .02 to .98 in steps of .02": ("present", {"n_points": 49}),
        "grid .05 to .95 in steps of .05": ("present", {"n_points": 19}),
        "grid .1 to .9 in steps of .1": ("present", {"n_points": 9}),
        "noise variance .01": ("present", {"noise": 0.01}),
        "noise variance .03": ("present", {"noise": 0.03}),
        "kernel variance 4": ("present", {"kernel": 4.0 * RBF(1.0)}),
        "length .5": ("present", {"kernel": RBF(0.5)}),
        "length .71: kernel exp(-d^2)": ("present", NEARER),
        "length 2": ("present", {"kernel": RBF(2.0)}),
        "exp(-d^2), grid .02 to .98": ("present", {**NEARER, "n_points": 49}),
        "not optimistic": ("present", {"draw": "thompson"}),
        "optimistic, not monotone": ("present", {"monotone": False}),
        "rejection, at most 100 tries": ("present", REJECTING),
        "rejection, at most 300 tries": ("present", {**REJECTING, "max_tries": 300}),
    },
    "GPOKS-Mean": {
        "as above: deadlines by amounts now": ("present", {}),
        "credit": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline, kept as first set": ("edf", {}),
        "kernel exp(-d^2)": ("present", NEARER),
        "means made non-increasing": ("present", {"monotone": True}),
    },
}
HEADING = (
    "GPOKS (Glimsdal and Granmo)\nTwo materials, Bernoulli environment, {n_runs} runs of 1000 polls. Score: sum over "
    "polls of x1 d1(x1) + x2 d2(x2),\nmean over runs ± standard error [paper | prototype, an independent "
    "implementation]. Reading of the paper: kernel\nvariance 1, length 1, noise variance .1, grid .01 to .99; both "
    "curves drawn anew before each poll; polled is the material\nwhose last poll plus 1/x_i, with the x_i held now, is "
    "earliest; GPOKS-Mean meets at the first crossing of the means\nas they are; w = .1 is added to feedback. \"100 "
    "tries\": rejection that gives up after them. \"LAKG, found\": changes\nfound instead of their expectation; its "
    "standard error is what figures that count changes have."
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
        report.grow(table_1(n_runs, seed))
        report.grow(table_2(n_runs, seed))
        report.grow(readings(max(2, n_runs // 10), seed))
    return report.text()


def table_1(n_runs: int, seed: int) -> Iterator[str]:
    """Accumulated changes found after 10, 100 and 1000 polls."""
    yield "Table 1. Accumulated value"
    yield " " * 30 + "".join(f"t = {t}".ljust(38) for t in CHECKPOINTS).rstrip()
    for pair in PAIRS:
        for scheme, allocation in (("Optimal", optimum(pair)), ("Uniform", np.full(2, 0.5))):
            value = float(unit_values(allocation, pair))
            yield _row(scheme, pair, (f"{t * value:.2f}" for t in CHECKPOINTS))
        for name, learner in SCHEMES.items():
            yield _scored(name, pair, scores(learner, pair, n_runs, seed))
        for name, found in zip(("LAKG", "LAKG, found"), lakg_scores(pair, n_runs, seed)):
            yield _scored(name, pair, found)


def _scored(name: str, pair: tuple[float, float], found: np.ndarray) -> str:
    reference = TABLE_1[name.split(",")[0], pair[0]]
    return _row(name, pair, (_cell(found[:, k], *(column[k] for column in reference)) for k in range(3)))


def _row(name: str, pair: tuple[float, float], cells: Iterable[str]) -> str:
    return f"{name:<18}{pair[0]:.2f}/{pair[1]:.2f}   {''.join(cell.ljust(38) for cell in cells)}".rstrip()


def table_2(n_runs: int, seed: int) -> Iterator[str]:
    """More noise on the feedback, .75/.25, 1000 polls."""
    yield "Table 2. Accumulated value after 1000 polls, .75/.25, at noise w"
    for name in ("GPOKS", "GPOKS, exp(-d^2)", "GPOKS-Mean"):
        for w in (0.0, 0.2, 0.4):
            noisy = clone(SCHEMES[name]).set_params(feedback_noise=w)
            reference = TABLE_2[name.split(",")[0], w]
            yield f"{name:<18}w = {w}   {_cell(scores(noisy, PAIRS[1], n_runs, seed)[:, 2], *reference)}"


def readings(n_runs: int, seed: int) -> Iterator[str]:
    """Both schemes after 10, 100 and 1000 polls as the paper may also be read."""
    yield f"Other readings, {n_runs} runs: t = 10 / 100 / 1000 ± standard error of the last"
    for scheme, ways in READINGS.items():
        heads = "".join(f".{pair[0] * 100:.0f}/.{pair[1] * 100:.0f}".ljust(28) for pair in PAIRS)
        paper = ["{:.1f} / {:.1f} / {:.1f}".format(*TABLE_1[scheme, pair[0]][0]).ljust(28) for pair in PAIRS]
        yield f"{scheme:<38}{heads}".rstrip()
        yield f"{'the paper':<38}{''.join(paper)}".rstrip()
        for name, (order, parameters) in ways.items():
            learner = clone(SCHEMES[scheme]).set_params(**parameters)
            cells = (_triple(scores(learner, pair, n_runs, seed, order)).ljust(28) for pair in PAIRS)
            yield f"{name:<38}{''.join(cells)}".rstrip()


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
