"""Every figure of Granmo, Oommen, Myrer and Olsen (2006), the Learning Automata Knapsack Game."""

from __future__ import annotations

from pathlib import Path

from knapsolve.reproduce.lakg_claims import lakg_claims
from knapsolve.reproduce.polling import (
    CONFIGURATIONS,
    FAST,
    HARD,
    MILD,
    QUICK,
    SKEWED,
    SLOW,
    Sizes,
    heading,
    lakg_curve,
    polling_figure,
)
from knapsolve.reproduce.progress import announce
from knapsolve.reproduce.report import CLAIMS, Report

FIGURES = {
    2: (
        SKEWED,
        "proportional and optimal are more or less the same, uniform is inferior; the estimator improves "
        "steadily with its phase; LAKG improves significantly quicker; a larger N improves the accuracy at "
        "the cost of speed.",
    ),
    3: (
        MILD,
        "with less skew, uniform and estimator do better, the estimator quicker; LAKG is still superior.",
    ),
    4: (
        HARD,
        "LAKG breaches the performance boundary set by the proportional policy, and converges towards "
        "near-optimal solutions.",
    ),
    5: (
        SLOW,
        "LAKG finds near-optimal solutions initially, recovers quickly after changes; the speed depends on N.",
    ),
    6: (
        FAST,
        "LAKG steadily improves the initial solution, is never allowed to reach the optimal one, and "
        "stabilises on a solution superior to the estimator's.",
    ),
}


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute the paper's figures 2 to 6, save a picture of each, and tell what came out.

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
        A table per figure, other values and the paper's words beside, and the claims put to the test.

    References
    ----------
    Granmo et al. (2006), section III.C.

    Examples
    --------
    >>> from knapsolve.reproduce import lakg
    >>> text = lakg.run(quick=True)  # doctest: +SKIP
    """
    return compute(QUICK if quick else Sizes(), output, seed)


def compute(sizes: Sizes, output: Path | None, seed: int) -> str:
    """`run` at any size."""
    ensemble = sizes.ensemble(seed)
    head = heading("LAKG (Granmo, Oommen, Myrer and Olsen, 2006)", sizes)
    with Report("lakg", head, output, [*(f"Figure {number}" for number in FIGURES), *CLAIMS]) as report:
        figures = {}
        for number, (setting, says) in FIGURES.items():
            announce(f"LAKG figure {number} of 2 to 6")
            curves = [
                *ensemble.estimators(setting),
                *(lakg_curve(ensemble, setting, c) for c in CONFIGURATIONS),
            ]
            figures[number] = report.add(polling_figure(number, setting, says, curves))
        report.add_claims(lakg_claims(figures))
    return report.text()
