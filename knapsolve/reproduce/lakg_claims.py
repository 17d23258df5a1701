"""What Granmo et al. (2006) say of LAKG, against the numbers of their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from knapsolve.reproduce.polling import CONFIGURATIONS, lakg_label
from knapsolve.reproduce.report import Claim, Figure

COARSE, _, FINE = (lakg_label(configuration) for configuration in CONFIGURATIONS)
STATIC = (2, 3, 4)


def lakg_claims(figures: Mapping[int, Figure]) -> list[Claim]:
    """Claims about static environments, about resolution, and about switching ranks."""
    return [*_against_estimators(figures), *_accuracy(figures), *_dynamics(figures)]


def _against_estimators(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    ends = {number: figures[number].ends() for number in STATIC}
    start = {number: figures[number].values(10**4) for number in STATIC}
    yield Claim(
        "LAKG is superior to the estimator in every static environment.",
        "at the end " + _duel(ends),
        all(ends[k][COARSE] > _best_estimator(ends[k]) for k in STATIC),
    )
    yield Claim(
        "LAKG improves significantly quicker than the estimator.",
        "not at first, while it has not moved far from uniform: at 10,000 polls " + _duel(start),
        all(start[k][COARSE] > _best_estimator(start[k]) for k in STATIC),
    )
    proportional, polls = figures[4].levels["proportional"], figures[4].curves[0].history.polls[-1]
    naive, likelihood, pages = (ends[4][curve.label] for curve in figures[4].curves[:3])
    yield Claim(
        "the estimator converges towards the proportional policy as its phase grows.",
        "at uniform amounts nearly every poll of the fastest pages finds a change, whatever their rates; "
        f"after {polls:,} polls the detection rate gives {naive:.4f}, the likelihood {likelihood:.4f}, and "
        f"{pages:.4f} among pages, where gaps vary; proportional has {proportional:.4f} (figure 4).",
        pages > 0.98 * proportional,
    )


def _accuracy(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    ends, levels = figures[4].ends(), figures[4].levels
    coarse, fine = (figures[4][label].polls_to_reach(0.9) for label in (COARSE, FINE))
    yield Claim(
        "a larger resolution improves the accuracy at the cost of speed.",
        f"{COARSE} ends at {ends[COARSE]:.4f}, {FINE} at {ends[FINE]:.4f}; they pass .9 after {coarse:,.0f} "
        f"and {fine:,.0f} polls (figure 4).",
        ends[FINE] > ends[COARSE] and fine > coarse,
    )
    yield Claim(
        "LAKG breaches the boundary set by the proportional policy and comes near to the optimum.",
        f"{ends[FINE]:.4f}; proportional {levels['proportional']:.4f}, optimal {levels['optimal']:.4f} (figure 4).",
        levels["proportional"] < ends[FINE],
    )


def _dynamics(figures: Mapping[int, Figure]) -> Iterator[Claim]:
    optimum = figures[5].levels["optimal"]
    slow, fast = (figures[number].average(COARSE) for number in (5, 6))
    yield Claim(
        "with ranks switching every 80,000 polls LAKG recovers near-optimal solutions.",
        f"{COARSE} averages {slow:.4f} of {optimum:.4f} (figure 5).",
        slow > 0.95 * optimum,
    )
    rival = _best_estimator({curve.label: figures[6].average(curve.label) for curve in figures[6].curves})
    yield Claim(
        "with ranks switching every 1,000 polls LAKG stays below the optimum and above the estimator.",
        f"{COARSE} averages {fast:.4f}, the best estimator {rival:.4f}, the optimum is {optimum:.4f} (figure 6).",
        rival < fast < 0.95 * optimum,
    )


def _best_estimator(values: Mapping[str, float]) -> float:
    return max(value for label, value in values.items() if label.startswith("estimator"))


def _duel(values: Mapping[int, Mapping[str, float]]) -> str:
    pairs = (f"{values[k][COARSE]:.4f} against up to {_best_estimator(values[k]):.4f} (figure {k})" for k in values)
    return ", ".join(pairs) + "."
