"""Tables 1 and 2 and figures 1 and 3 to 5 of Glimsdal and Granmo, Gaussian process based optimistic sampling."""

from __future__ import annotations

import textwrap
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
ENOUGH_RUNS = 300  # for standard errors that know the rare bad runs
TRIES = 1000  # after which an independent implementation's rejection seems to have given up
GRID: dict[str, Any] = {"scale": "linear", "n_materials": 2, "feedback_noise": 0.1}
MEAN: dict[str, Any] = {"draw": "mean", "monotone": False}
REJECTING: dict[str, Any] = {"sampler": "rejection", "max_tries": TRIES}
NEARER: dict[str, Any] = {"kernel": RBF(0.5**0.5)}  # exp(-d^2), without the half in the exponent
SCHEMES = {
    "GPOKS": GPOKS(**GRID),
    f"GPOKS, {TRIES} tries": GPOKS(**GRID, **REJECTING),
    "GPOKS, exp(-d^2)": GPOKS(**GRID, **NEARER),
    "GPOKS-Mean": GPOKS(**GRID, **MEAN),
}
ROUNDING = 0.01 / 12**0.5  # standard deviation of what figures printed to a hundredth leave out
LIKE_THE_PROTOTYPE = {"GPOKS": f"GPOKS, {TRIES} tries", "GPOKS-Mean": "GPOKS-Mean", "LAKG": "LAKG, found"}
NO_Z = "–"
WIDTH = 100
NAME = 18  # width of a scheme, and of the cells at the checkpoints
CELLS = (24, 27, 29)
READING, TRIPLE = 32, 21  # widths of the names and cells of other readings
NOISES = (0.0, 0.2, 0.4)
READINGS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "GPOKS": {
        "as above: by amounts held now": ("present", {}),
        "credit": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline, as first set": ("edf", {}),
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
        **{f"rejection, at most {n} tries": ("present", {**REJECTING, "max_tries": n}) for n in (100, 300)},
    },
    "GPOKS-Mean": {
        "as above: by amounts held now": ("present", {}),
        "credit": ("credit", {}),
        "random access": ("random", {}),
        "earliest deadline, as first set": ("edf", {}),
        "kernel exp(-d^2)": ("present", NEARER),
        "means made non-increasing": ("present", {"monotone": True}),
    },
}
HEADING = (
    "Two materials, Bernoulli environment, {n_runs} runs of 1000 polls. Score: sum over polls of x1 d1(x1) + x2 "
    "d2(x2), mean over runs ±standard error [paper | prototype, an independent implementation]. Reading of the "
    "paper: kernel variance 1, length 1, noise variance .1, grid .01 to .99; both curves drawn anew before each "
    "poll; polled is the material whose last poll plus 1/x_i, with the x_i held now, is earliest; GPOKS-Mean "
    'meets at the first crossing of the means as they are; w = .1 is added to feedback. "{tries} tries": '
    'rejection that gives up after them and falls back on max(draw, mean), made non-increasing. "LAKG, found": '
    "changes found instead of their expectation; its standard error is what figures that count changes have."
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
    found = Found(n_runs, seed)
    parts = [f"Figure {number}" for number in gpoks_figures.FIGURES]
    parts += ["Table 1", "Table 2", "Beside the prototype", "Other readings"]
    heading = f"GPOKS (Glimsdal and Granmo)\n{_wrapped(HEADING.format(n_runs=n_runs, tries=TRIES))}"
    with Report("gpoks", heading, output, parts) as report:
        for number, draw in gpoks_figures.FIGURES.items():
            path = report.picture(f"figure {number}")
            report.add_text(_wrapped(draw(path, seed)), path)
        report.grow(table_1(found))
        report.grow(table_2(found))
        report.grow(beside_the_prototype(found))
        report.grow(readings(max(2, n_runs // 10), seed))
    return report.text()


class Found:
    """Accumulated values of the schemes at the checkpoints, (n_runs, 3) each, computed once."""

    def __init__(self, n_runs: int, seed: int):
        self.n_runs, self.seed = n_runs, seed
        self._held: dict[Any, np.ndarray] = {}

    def of(self, name: str, pair: tuple[float, float], w: float = 0.1) -> np.ndarray:
        """Those of a scheme, with noise w on its feedback."""
        if (name, pair, w) not in self._held:
            if name in SCHEMES:
                noisy = clone(SCHEMES[name]).set_params(feedback_noise=w)
                self._held[name, pair, w] = scores(noisy, pair, self.n_runs, self.seed)
            else:
                both = lakg_scores(pair, self.n_runs, self.seed)
                self._held["LAKG", pair, w], self._held["LAKG, found", pair, w] = both
        return self._held[name, pair, w]


def table_1(found: Found) -> Iterator[str]:
    """Accumulated changes found after 10, 100 and 1000 polls."""
    yield "Table 1. Accumulated value"
    for pair in PAIRS:
        yield _row(_pair(pair), (f"t = {t}" for t in CHECKPOINTS))
        for scheme, allocation in (("Optimal", optimum(pair)), ("Uniform", np.full(2, 0.5))):
            value = float(unit_values(allocation, pair))
            yield _row(scheme, (f"{t * value:.2f}" for t in CHECKPOINTS))
        for name in (*SCHEMES, "LAKG", "LAKG, found"):
            reference = TABLE_1[name.split(",")[0], pair[0]]
            runs = found.of(name, pair)
            yield _row(name, (_cell(runs[:, k], *(column[k] for column in reference)) for k in range(3)))


def _row(name: str, cells: Iterable[str]) -> str:
    return f"{name:<{NAME}}{''.join(cell.ljust(width) for cell, width in zip(cells, CELLS))}".rstrip()


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f}/{pair[1]:.2f}"


def table_2(found: Found) -> Iterator[str]:
    """More noise on the feedback, .75/.25, 1000 polls."""
    yield "Table 2. Accumulated value after 1000 polls, .75/.25, at noise w"
    for name in SCHEMES:
        for w in NOISES:
            reference = TABLE_2[name.split(",")[0], w]
            yield f"{name:<{NAME}}w = {w}   {_cell(found.of(name, PAIRS[1], w)[:, 2], *reference)}"


def beside_the_prototype(found: Found) -> Iterator[str]:
    """Every cell of both tables as we read the paper and as the prototype seems to, and how far from it each is."""
    yield f'Beside the prototype. "As it reads": at most {TRIES} tries a draw, changes found for LAKG.'
    yield "z: difference from it in standard errors of the difference, its own taken equal to ours;"
    yield f"   {NO_Z} where all runs are equal, which count as beyond 3 if they differ by more than its rounding"
    if found.n_runs < ENOUGH_RUNS:
        yield f"   {found.n_runs} runs hold few of the rare bad ones: errors are too small then, and z too large"
    yield f"{'':<38}{'paper':>8}{'ours':>15}{'z':>6}{'as it reads':>15}{'z':>6}{'prototype':>11}"
    cells = [(scheme, pair, 0.1, k) for scheme in LIKE_THE_PROTOTYPE for pair in PAIRS for k in range(3)]
    cells += [(scheme, PAIRS[1], w, 2) for scheme in ("GPOKS", "GPOKS-Mean") for w in NOISES]
    beyond: dict[str, list[str]] = {"ours": [], "as it reads": []}
    for scheme, pair, w, k in cells:
        paper, prototype = _references(scheme, pair, w, k)
        where, columns = f"{scheme:<11}{_pair(pair)}  w = {w}  t = {CHECKPOINTS[k]}", ""
        for reading, name in (("ours", scheme), ("as it reads", LIKE_THE_PROTOTYPE[scheme])):
            mean, error = _spread(found.of(name, pair, w)[:, k])
            equal = error <= 1e-12 * abs(mean)  # up to rounding
            z = (mean - prototype) / np.hypot(error * 2**0.5, ROUNDING)
            shown = NO_Z if equal else f"{z:+.1f}"
            columns += f"{f'{mean:.2f} ±{error:.2f}':>15}{shown:>6}"
            if abs(z) > 3:
                beyond[reading].append(f"{' '.join(where.split())} ({shown})")
        yield f"{where:<38}{paper:>8.1f}{columns}{prototype:>11.2f}"
    for reading, places in beyond.items():
        outside = f", not at {'; '.join(places)}" if places else ""
        within = f"{len(cells) - len(places)} of {len(cells)} cells"
        yield _wrapped(f"Within 3 of the prototype, {reading}: {within}{outside}")
    yield _wrapped(f"Mean distance from the paper's GPOKS after 1000 polls: {_distances(found)}")


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH))


def _references(scheme: str, pair: tuple[float, float], w: float, k: int) -> tuple[float, float]:
    """What the paper and the prototype have."""
    if w != 0.1:
        return TABLE_2[scheme, w]
    paper, prototype = TABLE_1[scheme, pair[0]]
    return paper[k], prototype[k]


def _distances(found: Found) -> str:
    """How near each reading of GPOKS comes to the paper, both tables."""
    cells = [(pair, 0.1) for pair in PAIRS] + [(PAIRS[1], w) for w in NOISES]
    texts = []
    for name in SCHEMES:
        if name.split(",")[0] == "GPOKS":
            gaps = [abs(found.of(name, *at)[:, 2].mean() - _references("GPOKS", *at, 2)[0]) for at in cells]
            texts.append(f"{name} {np.mean(gaps):.2f}")
    return ", ".join(texts)


def readings(n_runs: int, seed: int) -> Iterator[str]:
    """Both schemes after 10, 100 and 1000 polls as the paper may also be read."""
    yield f"Other readings, {n_runs} runs: t = 10, 100, 1000 ±standard error of the last"
    for scheme, ways in READINGS.items():
        heads = " ".join(f".{pair[0] * 100:.0f}/.{pair[1] * 100:.0f}".ljust(TRIPLE) for pair in PAIRS)
        paper = ["{:.1f} {:.1f} {:.1f}".format(*TABLE_1[scheme, pair[0]][0]).ljust(TRIPLE) for pair in PAIRS]
        yield f"{scheme:<{READING}} {heads}".rstrip()
        yield f"{'the paper':<{READING}} {' '.join(paper)}".rstrip()
        for name, (order, parameters) in ways.items():
            learner = clone(SCHEMES[scheme]).set_params(**parameters)
            cells = (_triple(scores(learner, pair, n_runs, seed, order)).ljust(TRIPLE) for pair in PAIRS)
            yield f"{name:<{READING}} {' '.join(cells)}".rstrip()


def _triple(found: np.ndarray) -> str:
    means, (_, error) = found.mean(axis=0), _spread(found[:, 2])
    return f"{means[0]:.2f} {means[1]:.2f} {means[2]:.1f} ±{error:.1f}"


def optimum(unchanged: tuple[float, float]) -> np.ndarray:
    """The best amounts of capacity 1, proportional to the change rates."""
    rates = -np.log(unchanged)
    return rates / rates.sum()


def _spread(found: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(found.size))


def _cell(found: np.ndarray, paper: float, prototype: float) -> str:
    mean, error = _spread(found)
    return f"{mean:.2f} ±{error:.2f} [{paper:.1f} | {prototype:.2f}]"
