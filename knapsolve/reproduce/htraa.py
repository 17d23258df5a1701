"""Every figure of Granmo and Oommen (2011), the hierarchy of twofold resource allocation automata."""

from __future__ import annotations

from pathlib import Path

from knapsolve.learners import HTRAA, LAKG
from knapsolve.learners.traa import UPDATES
from knapsolve.reproduce import theorem
from knapsolve.reproduce.curves import N_PAGES, Curve, Ensemble
from knapsolve.reproduce.htraa_claims import htraa_claims
from knapsolve.reproduce.polling import (
    CONFIGURATIONS,
    FAST,
    HARD,
    MILD,
    PERTURBATIONS,
    QUICK,
    SKEWED,
    SLOW,
    Sizes,
    heading,
    htraa_curve,
    lakg_curve,
    polling_figure,
)
from knapsolve.reproduce.progress import announce
from knapsolve.reproduce.report import CLAIMS, Figure, Report

SCALE_COLUMNS = (10**4, 10**5, 10**6, 10**7)
SCHEME_SAYS = (
    "inaction-penalty is the most accurate of the three, reward-penalty converges more quickly, relying on "
    "rewards alone is slightly inferior; 1,000 perturbations."
)
FIGURES = {
    6: (
        SKEWED,
        "H-TRAA improves significantly quicker than LAKG and estimator; its performance falls with the "
        "number of perturbations, and with 1,000,000 LAKG converges both more quickly and more accurately.",
    ),
    7: (MILD, "with less skew, uniform and estimator do better; H-TRAA is still superior."),
    8: (
        HARD,
        "H-TRAA breaches the boundary set by the proportional policy and converges towards near-optimal "
        "solutions, slightly quicker than LAKG.",
    ),
    9: (
        SLOW,
        "H-TRAA quickly recovers, moves towards a new near-optimal solution, and clearly outperforms LAKG.",
    ),
    10: (FAST, "H-TRAA stabilises on a solution superior to the estimator's and performs better than LAKG."),
}
SCALE_SAYS = {
    11: "more materials significantly increase the convergence time of LAKG.",
    12: "H-TRAA is far less affected: initial learning is orders of magnitude faster than with LAKG.",
}
SCHEME_REFERENCE: dict[str, dict[int | str, str]] = {
    "reward-inaction": {10**6: ".955"},
    "inaction-penalty": {10**6: ".976"},
    "reward-penalty": {10**6: ".961-.965"},
}


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute figures 5 to 12 and theorem 1's distribution, save a picture of each, and tell what came out.

    Parameters
    ----------
    quick : bool, default=False
        Fewer runs, and fewer polls of many pages, so that it takes less than a minute.
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
    Granmo and Oommen (2011), section 4.3.

    Examples
    --------
    >>> from knapsolve.reproduce import htraa
    >>> text = htraa.run(quick=True)  # doctest: +SKIP
    """
    return compute(QUICK if quick else Sizes(), output, seed)


def compute(sizes: Sizes, output: Path | None, seed: int) -> str:
    """`run` at any size."""
    ensemble = sizes.ensemble(seed)
    parts = [*(f"Figure {number}" for number in (5, *FIGURES, 11, 12)), "Theorem 1", *CLAIMS]
    with Report("htraa", heading("H-TRAA (Granmo and Oommen, 2011)", sizes), output, parts) as report:
        announce("H-TRAA figure 5 of 5 to 12")
        curves = [scheme_curve(ensemble, update) for update in UPDATES]
        figures = {5: report.add(polling_figure(5, HARD, SCHEME_SAYS, curves))}
        for number, (setting, says) in FIGURES.items():
            announce(f"H-TRAA figure {number} of 5 to 12")
            curves = [*ensemble.estimators(setting), lakg_curve(ensemble, setting, CONFIGURATIONS[0])]
            curves += [htraa_curve(ensemble, setting, count) for count in PERTURBATIONS]
            figures[number] = report.add(polling_figure(number, setting, says, curves))
        scale = sizes.scale_ensemble(seed)
        for number, curves_of in ((11, lakg_scale), (12, htraa_scale)):
            announce(f"H-TRAA figure {number} of 5 to 12")
            curves = [curve for color, n in enumerate(sizes.scale_pages) for curve in curves_of(scale, n, color)]
            figures[number] = report.add(_scale_figure(number, curves, sizes))
        picture = report.picture("theorem 1")
        theorem.draw(picture)
        report.add_text(theorem.table(), picture)
        report.add_claims([*htraa_claims(figures, sizes.scale_pages), *theorem.claims()])
    return report.text()


def scheme_curve(ensemble: Ensemble, update: str) -> Curve:
    """An updating scheme at 1,000 perturbations."""
    learner = HTRAA(update=update, n_materials=N_PAGES)
    return ensemble.curve(update, learner, ensemble.perturbed(HARD, 10**3), SCHEME_REFERENCE[update])


def lakg_scale(ensemble: Ensemble, n: int, color: int) -> list[Curve]:
    """LAKG so fine that n smallest amounts are the same share of the capacity as with 500 and N = 1500."""
    resolution = round(1500 * (n / 500) ** (1 / 1.3))
    learner = LAKG(resolution=resolution, n_materials=n)
    return [ensemble.curve(f"LAKG, n = {n:,}, N = {resolution:,}", learner, HARD.bernoulli(n), color=color)]


def htraa_scale(ensemble: Ensemble, n: int, color: int) -> list[Curve]:
    """H-TRAA with leaves in the order of the ranks, and shuffled."""
    learner = HTRAA(n_materials=n)
    ordered, shuffled = HARD.bernoulli(n), ensemble.shuffled(HARD, n)
    return [
        ensemble.curve(f"H-TRAA, n = {n:,}, ordered", learner, ordered, color=color),
        ensemble.curve(f"H-TRAA, n = {n:,}, shuffled", learner, shuffled, color=color, style="--"),
    ]


def _scale_figure(number: int, curves: list[Curve], sizes: Sizes) -> Figure:
    optimum = {"optimal": HARD.levels(sizes.scale_pages[-1])["optimal"]}
    title = f"α = 0.9, β = 1.5, growing numbers of pages, {sizes.scale_runs} runs of {sizes.scale_polls:,} polls"
    return Figure(f"figure {number}", title, SCALE_SAYS[number], curves, optimum, SCALE_COLUMNS)
