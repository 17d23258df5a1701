"""What Granmo and Oommen (2011) say of the H-TRAA, against the numbers of their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from knapsolve.learners.traa import UPDATES
from knapsolve.reproduce.polling import CONFIGURATIONS, PERTURBATIONS, htraa_label, lakg_label
from knapsolve.reproduce.report import Claim, Figure

LAKG_LINE = lakg_label(CONFIGURATIONS[0])
FEW, MANY = htraa_label(PERTURBATIONS[0]), htraa_label(PERTURBATIONS[-1])


def htraa_claims(figures: Mapping[int, Figure], pages: Sequence[int]) -> list[Claim]:
    """Claims about 500 pages, about leaf order, and about growing numbers of pages."""
    return [*_speed(figures), *_accuracy(figures), *_dynamics(figures), *_scaling(figures, pages)]


def _speed(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    start = {number: figures[number].values(10**4) for number in (6, 7, 8)}
    yield Claim(
        "with 1,000 perturbations H-TRAA improves significantly quicker than LAKG and the estimator.",
        "at 10,000 polls "
        + ", ".join(f"{start[k][FEW]:.4f} against {start[k][LAKG_LINE]:.4f}" for k in start)
        + " for LAKG (figures 6 to 8).",
        all(start[k][FEW] == max(start[k].values()) for k in start),
    )
    later, end = figures[8].values(10**5), figures[8].ends()
    courses = (
        ", ".join(f"{course[htraa_label(count)]:.4f}" for course in (start[8], later, end))
        + f" with {count:,} perturbations"
        for count in PERTURBATIONS
    )
    yield Claim(
        "(remark on theorem 2) the ordering of the materials at the leaf nodes does not carry any significance.",
        f"value of H-TRAA at 10,000 and 100,000 polls and at the end: {'; '.join(courses)} (figure 8). "
        "The order matters little for where the tree tends to, and much for how fast.",
        start[8][FEW] - start[8][MANY] < 0.05,
    )


def _accuracy(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    ends = {number: figures[number].ends() for number in (5, 6, 8)}
    schemes, early = ends[5], figures[5].values(10**4)
    yield Claim(
        "inaction-penalty is the most accurate scheme, reward-penalty the quickest.",
        "value at 10,000 polls and at the end: "
        + "; ".join(f"{update} {early[update]:.4f}, {schemes[update]:.4f}" for update in UPDATES)
        + " (figure 5).",
        max(UPDATES, key=schemes.__getitem__) == "inaction-penalty"
        and max(UPDATES, key=early.__getitem__) == "reward-penalty",
    )
    times = [figures[6][label].polls_to_reach(0.9 * figures[6].levels["optimal"]) for label in (MANY, LAKG_LINE)]
    yield Claim(
        "with 1,000,000 perturbations LAKG converges both more quickly and more accurately.",
        f"nine tenths of the optimum after {_polls(times[0])} polls (H-TRAA) and {_polls(times[1])} (LAKG) "
        f"in figure 6; at the end {_pair(ends[6], MANY)} (figure 6) and {_pair(ends[8], MANY)} (figure 8).",
        times[1] < times[0] and all(ends[k][LAKG_LINE] > ends[k][MANY] for k in (6, 8)),
    )
    yield Claim(
        "(conclusion) H-TRAA's performance is superior to LAKG's.",
        f"at the end, with reward-penalty as in the paper, {_pair(ends[8], FEW)} (figure 8); "
        f"inaction-penalty reaches {schemes['inaction-penalty']:.4f} (figure 5).",
        ends[8][FEW] > ends[8][LAKG_LINE],
    )


def _dynamics(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    for number, words in (
        (9, "80,000 polls H-TRAA clearly outperforms"),
        (10, "1,000 polls H-TRAA is better than"),
    ):
        ours, theirs = (figures[number].average(label) for label in (FEW, LAKG_LINE))
        yield Claim(
            f"with ranks switching every {words} LAKG.",
            f"averages of {ours:.4f} against LAKG's {theirs:.4f} (figure {number}, 1,000 perturbations).",
            ours > theirs,
        )


def _scaling(figures: Mapping[int, Figure], pages: Sequence[int]) -> Iterator[Claim]:
    goal = 0.9 * figures[12].levels["optimal"]
    lakg = [curve.polls_to_reach(goal) for curve in figures[11].curves]
    ordered, shuffled = ([curve.polls_to_reach(goal) for curve in figures[12].curves[k::2]] for k in (0, 1))
    yield Claim(
        "more materials significantly increase the convergence time of LAKG.",
        f"polls to nine tenths of the optimum for n = {_join(pages)}: {_join(lakg)} (figure 11).",
        lakg[-1] > 3 * lakg[0],
    )
    yield Claim(
        "H-TRAA learns orders of magnitude faster than LAKG at scale (leaves in the order of the ranks).",
        f"polls to nine tenths of the optimum for n = {_join(pages)}: {_join(ordered)} "
        f"(figure 12); LAKG {_join(lakg)} (figure 11).",
        lakg[-1] > 10 * ordered[-1],
    )
    yield Claim(
        "H-TRAA learns orders of magnitude faster than LAKG at scale, and the number of materials has a "
        "negligible impact, the order of the leaves being without significance.",
        f"with shuffled leaves, polls to nine tenths of the optimum for n = {_join(pages)}: "
        f"{_join(shuffled)} (figure 12); LAKG {_join(lakg)} (figure 11).",
        lakg[-1] > 10 * shuffled[-1] and shuffled[-1] < 3 * shuffled[0],
    )


def _pair(values: Mapping[str, float], label: str) -> str:
    return f"{values[label]:.4f} against LAKG's {values[LAKG_LINE]:.4f}"


def _polls(count: float) -> str:
    return f"{count:,.0f}" if np.isfinite(count) else "not reached"


def _join(counts: Sequence[float]) -> str:
    return " / ".join(_polls(count) for count in counts)
