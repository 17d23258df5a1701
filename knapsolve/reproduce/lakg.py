"""Every figure of Granmo, Oommen, Myrer and Olsen (2007), the Learning Automata Knapsack Game."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knapsolve.reproduce.curves import announce
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

FIGURES = {
    2: (SKEWED, "proportional and optimal are more or less the same, uniform is inferior; the estimator improves "
        "steadily with its phase; LAKG improves significantly quicker; a larger N improves the accuracy at the cost of speed."),
    3: (MILD, "with less skew, uniform and estimator do better, and the estimator is quicker; LAKG is still superior."),
    4: (HARD, "LAKG breaches the performance boundary set by the proportional policy and converges to near-optimal solutions."),
    5: (SLOW, "LAKG finds near-optimal solutions initially and recovers quickly after changes; the speed depends on N."),
    6: (FAST, "LAKG steadily improves the initial solution, is never allowed to reach the optimal one, and stabilises on "
        "a solution superior to the estimator's."),
}  # fmt: skip


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
        A table per figure, ours beside an independent implementation's values and the paper's words, and the claims.

    References
    ----------
    Granmo et al. (2007), section III.C.

    Examples
    --------
    >>> from knapsolve.reproduce import lakg
    >>> text = lakg.run(quick=True)  # doctest: +SKIP
    """
    return compute(QUICK if quick else Sizes(), output, seed)


def compute(sizes: Sizes, output: Path | None, seed: int) -> str:
    """`run` at any size."""
    ensemble = sizes.ensemble(seed)
    with Report("lakg", heading("LAKG (Granmo, Oommen, Myrer and Olsen, 2007)", sizes), output) as report:
        figures = {}
        for number, (setting, says) in FIGURES.items():
            announce(f"LAKG figure {number} of 2 to 6")
            curves = [*ensemble.estimators(setting), *(lakg_curve(ensemble, setting, c) for c in CONFIGURATIONS)]
            figures[number] = report.add(polling_figure(number, setting, says, curves))
        report.add_claims(list(_claims(figures)))
    return report.text()


def _claims(figures: dict[int, Figure]) -> Iterator[Claim]:
    """What the paper says, against the numbers of its figures."""
    quick, _, fine = (lakg_label(configuration) for configuration in CONFIGURATIONS)
    ends = {number: {curve.label: curve.at(10**9)[0] for curve in figure.curves} for number, figure in figures.items()}
    best = {number: max(value for label, value in end.items() if "estimator" in label) for number, end in ends.items()}
    yield Claim(
        "LAKG is superior to the estimator in every static environment.",
        "at the end " + ", ".join(f"{ends[k][quick]:.4f} against at most {best[k]:.4f} (figure {k})" for k in (2, 3, 4)) + ".",
        all(ends[k][quick] > best[k] for k in (2, 3, 4)),
    )
    start = {k: {curve.label: curve.at(10**4)[0] for curve in figures[k].curves} for k in (2, 3, 4)}
    ahead = {k: max(value for label, value in start[k].items() if "estimator" in label) for k in start}
    yield Claim(
        "LAKG improves significantly quicker than the estimator.",
        "not at first, before it has moved far from uniform: at 10,000 polls "
        + ", ".join(f"{start[k][quick]:.4f} against up to {ahead[k]:.4f} (figure {k})" for k in start) + ".",
        all(start[k][quick] > ahead[k] for k in start),
    )
    naive = figures[4]["estimator, detection rate"]
    yield Claim(
        "the estimator converges towards the proportional policy as its phase grows.",
        f"at uniform amounts nearly every poll of the fastest pages finds a change, whatever their rates; with the "
        f"detection rate the value stops at {naive.at(10**9)[0]:.4f}, and with the likelihood at "
        f"{ends[4]['estimator, likelihood']:.4f}, or {ends[4]['estimator, likelihood, pages']:.4f} among pages, after "
        f"{naive.history.polls[-1]:,} polls; proportional: {figures[4].levels['proportional']:.4f} (figure 4).",
        ends[4]["estimator, likelihood, pages"] > 0.98 * figures[4].levels["proportional"],
    )
    slower, faster = figures[4][fine].polls_to_reach(0.9), figures[4][quick].polls_to_reach(0.9)
    yield Claim(
        "a larger resolution improves the accuracy at the cost of speed.",
        f"{quick} {ends[4][quick]:.4f}, {fine} {ends[4][fine]:.4f}; value .9 after {faster:,.0f} and {slower:,.0f} polls "
        "(figure 4).",
        ends[4][fine] > ends[4][quick] and slower > faster,
    )
    yield Claim(
        "LAKG breaches the boundary set by the proportional policy and comes near to the optimum.",
        f"{ends[4][fine]:.4f}; proportional {figures[4].levels['proportional']:.4f}, "
        f"optimal {figures[4].levels['optimal']:.4f} (figure 4).",
        figures[4].levels["proportional"] < ends[4][fine],
    )
    yield from _dynamic_claims(figures, quick)


def _dynamic_claims(figures: dict[int, Figure], quick: str) -> Iterator[Claim]:
    optimum = figures[5].levels["optimal"]
    slow, fast = (figures[k].average(quick) for k in (5, 6))
    yield Claim(
        "with ranks switching every 80,000 polls LAKG recovers near-optimal solutions.",
        f"{quick} averages {slow:.4f} of {optimum:.4f} (figure 5).",
        slow > 0.95 * optimum,
    )
    rival = max(figures[6].average(curve.label) for curve in figures[6].curves if "estimator" in curve.label)
    yield Claim(
        "with ranks switching every 1,000 polls LAKG stays below the optimum and above the estimator.",
        f"{quick} averages {fast:.4f}, the best estimator {rival:.4f}, the optimum is {optimum:.4f} (figure 6).",
        rival < fast < 0.95 * optimum,
    )
