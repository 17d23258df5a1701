"""Numbers of a table's column as text, with like digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

DECIMALS = {"polls": 0, "detected": 0, "detected_share": 3, "freshness": 4}
Interval = tuple[float, float, float]  # value, low, high
MOST_DECIMALS = {"harmonic_penalty": 3}
SPREAD = 3  # powers of ten; columns that span more have like significant digits instead of like decimals


def format_estimates(estimates: Sequence[Interval], metric: str, *, signed: bool = False) -> list[str]:
    """A column of `value [low, high]`: whole numbers for counts, three or four decimals for shares."""
    if metric in DECIMALS:
        text = _fixed(DECIMALS[metric])
    else:
        sizes = [max(map(abs, each)) for each in estimates] if signed else [value for value, _, _ in estimates]
        text = like_digits([max(sizes, default=0.0)] if signed else sizes, MOST_DECIMALS.get(metric, 9))
    plus = "+" if signed else ""
    return [f"{text(value, plus)} [{text(low, plus)}, {text(high, plus)}]" for value, low, high in estimates]


def like_digits(values: Iterable[float], most: int = 9) -> Callable[..., str]:
    """How to write numbers of a column with these values: `text(value, sign="")`.

    All have as many decimals as give the largest three digits or four, the fourth for the sake of small ones.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return _fixed(0)
    top, least = _power(max(sizes)), _power(min(sizes))
    if top - least > SPREAD or not -6 < top < 15:
        return _significant
    return _fixed(min(most, max(0, min(3 - top, max(2 - top, 1 - least)))))


def _power(size: float) -> int:
    return math.floor(math.log10(size))


def _fixed(decimals: int) -> Callable[..., str]:
    return lambda value, sign="": f"{value:{sign},.{decimals}f}"


def _significant(value: float, sign: str = "") -> str:
    """Three digits, without an exponent where that can be read."""
    if value and not 1e-6 < abs(value) < 1e15:
        return f"{value:{sign}.3g}"
    return f"{value:{sign},.{max(0, 2 - _power(abs(value))) if value else 0}f}"
