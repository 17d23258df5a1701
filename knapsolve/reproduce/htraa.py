"""Every figure of Granmo and Oommen (2011), the hierarchy of twofold resource allocation automata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from knapsolve.learners import HTRAA, LAKG
from knapsolve.learners.htraa import UPDATES
from knapsolve.reproduce import theorem
from knapsolve.reproduce.curves import N_PAGES, Curve, Ensemble, Setting, announce
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
    lakg_label,
    polling_figure,
)
from knapsolve.reproduce.report import Claim, Figure, Report

PERTURBATIONS = (10**3, 10**5, 10**6)
SCALE_COLUMNS = (10**4, 10**5, 10**6, 10**7)
SCHEME_SAYS = (
    "inaction-penalty is the most accurate of the three, reward-penalty converges more quickly, relying on "
    "rewards alone is slightly inferior; 1,000 perturbations."
)
FIGURES = {
    6: (SKEWED, "H-TRAA improves significantly quicker than LAKG and estimator; its performance falls with the number of "
        "perturbations, and with 1,000,000 LAKG converges both more quickly and more accurately."),
    7: (MILD, "with less skew, uniform and estimator do better; H-TRAA is still superior."),
    8: (HARD, "H-TRAA breaches the boundary set by the proportional policy and converges towards near-optimal solutions, "
        "slightly quicker than LAKG."),
    9: (SLOW, "H-TRAA quickly recovers and moves towards a new near-optimal solution, and clearly outperforms LAKG."),
    10: (FAST, "H-TRAA stabilises on a solution superior to the estimator's and performs better than LAKG."),
}  # fmt: skip
SCALE_SAYS = {
    11: "more materials significantly increase the convergence time of LAKG.",
    12: "H-TRAA is far less affected: the initial learning phase is orders of magnitude faster than with LAKG.",
}
REFERENCE: dict[tuple[Setting, int], dict[int | str, str]] = {
    (HARD, 10**3): {10**4: ".930", 10**5: ".959", 10**6: ".961"},
    (HARD, 10**5): {10**4: ".771", 10**5: ".955", 10**6: ".959"},
    (HARD, 10**6): {10**4: ".531", 10**5: ".909", 10**6: ".944"},
    (SLOW, 10**3): {"window": ".9583"},
    (FAST, 10**3): {"window": ".881"},
}
SCHEME_REFERENCE: dict[str, dict[int | str, str]] = {
    "reward-inaction": {10**6: ".955"},
    "inaction-penalty": {10**6: ".976"},
    "reward-penalty": {10**6: ".961-.965"},
}


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute the paper's figures 5 to 12 and theorem 1's distribution, save a picture of each, and tell what came out.

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
        A table per figure, ours beside an independent implementation's values and the paper's words, and the claims.

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
    with Report("htraa", heading("H-TRAA (Granmo and Oommen, 2011)", sizes), output) as report:
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
            figures[number] = report.add(_scale_figure(number, curves, sizes.scale_pages[-1]))
        picture = report.picture("theorem 1")
        theorem.draw(picture)
        report.add_text(theorem.table(), picture)
        report.add_claims([*_claims(figures), *_scale_claims(figures, sizes.scale_pages), *theorem.claims()])
    return report.text()


def scheme_curve(ensemble: Ensemble, update: str) -> Curve:
    """An updating scheme at 1,000 perturbations."""
    learner = HTRAA(update=update, n_materials=N_PAGES)
    return ensemble.curve(update, learner, ensemble.perturbed(HARD, 10**3), SCHEME_REFERENCE[update])


def htraa_curve(ensemble: Ensemble, setting: Setting, n_perturbations: int) -> Curve:
    """H-TRAA, reward-penalty, N = 500, with leaves out of order."""
    learner = HTRAA(n_materials=N_PAGES)
    reference = REFERENCE.get((setting, n_perturbations))
    return ensemble.curve(htraa_label(n_perturbations), learner, ensemble.perturbed(setting, n_perturbations), reference)


def htraa_label(n_perturbations: int) -> str:
    """What a line of H-TRAA is called."""
    return f"H-TRAA, {n_perturbations:,} perturbations"


def lakg_scale(ensemble: Ensemble, n: int, color: int) -> list[Curve]:
    """LAKG with the resolution at which n smallest amounts are the same share of the capacity as for 500 and N = 1500."""
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


def _scale_figure(number: int, curves: list[Curve], n: int) -> Figure:
    return Figure(f"figure {number}", "α = 0.9, β = 1.5, growing numbers of pages", SCALE_SAYS[number], curves,
                  {"optimal": HARD.levels(n)["optimal"]}, SCALE_COLUMNS)  # fmt: skip


def _claims(figures: dict[int, Figure]) -> Iterator[Claim]:
    """What the paper says of 500 pages, against the numbers of its figures."""
    lakg = lakg_label(CONFIGURATIONS[0])
    few, many = (htraa_label(count) for count in (PERTURBATIONS[0], PERTURBATIONS[-1]))
    ends = {number: {curve.label: curve.at(10**9)[0] for curve in figure.curves} for number, figure in figures.items()}
    start = {number: {curve.label: curve.at(10**4)[0] for curve in figure.curves} for number, figure in figures.items()}
    schemes, early = ends[5], start[5]
    yield Claim(
        "inaction-penalty is the most accurate scheme, reward-penalty the quickest.",
        "value at the end " + ", ".join(f"{update} {schemes[update]:.4f}" for update in UPDATES)
        + "; at 10,000 polls " + ", ".join(f"{early[update]:.4f}" for update in UPDATES) + " (figure 5).",
        max(schemes, key=schemes.get) == "inaction-penalty" and max(early, key=early.get) == "reward-penalty",
    )  # fmt: skip
    yield Claim(
        "with 1,000 perturbations H-TRAA improves significantly quicker than LAKG and the estimator.",
        "at 10,000 polls " + ", ".join(f"{start[k][few]:.4f} against {start[k][lakg]:.4f}" for k in (6, 7, 8))
        + " for LAKG (figures 6 to 8).",
        all(start[k][few] == max(start[k].values()) for k in (6, 7, 8)),
    )  # fmt: skip
    times = [figures[6][label].polls_to_reach(0.9 * figures[6].levels["optimal"]) for label in (many, lakg)]
    yield Claim(
        "with 1,000,000 perturbations LAKG converges both more quickly and more accurately.",
        f"nine tenths of the optimum after {_polls(times[0])} polls (H-TRAA) and {_polls(times[1])} (LAKG), at the end "
        f"{ends[6][many]:.4f} and {ends[6][lakg]:.4f} (figure 6); {ends[8][many]:.4f} and {ends[8][lakg]:.4f} (figure 8).",
        times[1] < times[0] and all(ends[k][lakg] > ends[k][many] for k in (6, 8)),
    )
    yield Claim(
        "(theorem 2, remark) the ordering of the materials at the leaf nodes does not carry any significance.",
        "value of H-TRAA at 10,000, 100,000 and the last polls "
        + "; ".join(f"{', '.join(f'{figures[8][label].at(at)[0]:.4f}' for at in (10**4, 10**5, 10**9))} with {count:,} perturbations"
                    for count, label in ((count, htraa_label(count)) for count in PERTURBATIONS))
        + " (figure 8): the order does not change where the tree tends to, but how fast.",
        abs(start[8][few] - start[8][many]) < 0.05,
    )  # fmt: skip
    yield Claim(
        "H-TRAA's performance is superior to LAKG's.",
        f"at the end, with reward-penalty as in the paper, {ends[8][few]:.4f} against {ends[8][lakg]:.4f} (figure 8); "
        f"inaction-penalty has {schemes['inaction-penalty']:.4f} (figure 5).",
        ends[8][few] > ends[8][lakg],
    )
    for number, words in ((9, "80,000 polls H-TRAA clearly outperforms LAKG"), (10, "1,000 polls H-TRAA is better than LAKG")):
        ours, theirs = (figures[number].average(label) for label in (few, lakg))
        yield Claim(f"with ranks switching every {words}.",
                    f"averages {ours:.4f} against {theirs:.4f} (figure {number}, 1,000 perturbations).", ours > theirs)


def _scale_claims(figures: dict[int, Figure], pages: Sequence[int]) -> Iterator[Claim]:
    """What the paper says of growing numbers of pages."""
    goal = 0.9 * figures[12].levels["optimal"]
    lakg = [curve.polls_to_reach(goal) for curve in figures[11].curves]
    ordered, shuffled = ([curve.polls_to_reach(goal) for curve in figures[12].curves[k::2]] for k in (0, 1))
    names = ", ".join(f"{n:,}" for n in pages)
    told = (f"polls to nine tenths of the optimum for n = {names}: LAKG {_list(lakg)}; H-TRAA with leaves in the order of "
            f"the ranks {_list(ordered)}; shuffled {_list(shuffled)} (figures 11 and 12).")  # fmt: skip
    yield Claim("(figure 11) more materials significantly increase the convergence time of LAKG.", told, lakg[-1] > 3 * lakg[0])
    yield Claim("H-TRAA learns orders of magnitude faster than LAKG, given leaves in the order of the ranks.", told,
                lakg[-1] > 10 * ordered[-1])  # fmt: skip
    yield Claim("H-TRAA learns orders of magnitude faster than LAKG, in whatever order the leaves are.", told,
                lakg[-1] > 10 * shuffled[-1])  # fmt: skip
    yield Claim("the number of materials has a negligible impact on H-TRAA, in whatever order the leaves are.", told,
                shuffled[-1] < 3 * shuffled[0])  # fmt: skip


def _polls(count: float) -> str:
    return f"{count:,.0f}" if np.isfinite(count) else "more than were made"


def _list(counts: list[float]) -> str:
    return " / ".join(_polls(count) for count in counts)
