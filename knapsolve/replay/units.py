"""Units of time, and capacities such as `20/day`."""

from __future__ import annotations

import math
import re

SECONDS = {
    "nanosecond": 1e-9,
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
    "month": 365.25 * 86400 / 12,
    "year": 365.25 * 86400,
}
SHORT = {
    "ns": "nanosecond",
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "w": "week",
    "wk": "week",
    "mo": "month",
    "y": "year",
    "yr": "year",
}
MOST_A_SECOND = 1e100  # polls; such numbers and their inverses can be multiplied


def parse_unit(text: str, option: str = "--time-unit") -> str:
    """A unit's full name, from it, its plural or its short form; `option` is where it was typed."""
    name = text.strip().lower()
    name = SHORT.get(name, SHORT.get(name.removesuffix("s"), name.removesuffix("s")))
    if name not in SECONDS:
        known = f"{', '.join(SECONDS)} or {', '.join(SHORT)}"
        raise ValueError(f"{option} has the unknown time unit {text!r}: use {known}")
    return name


def parse_capacity(text: str, option: str = "--capacity") -> tuple[float, str]:
    """Polls, and the name of the unit of time that they are for: `20/day` gives (20.0, "day")."""
    number, slash, unit = text.partition("/")
    try:
        polls = float(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", number))
    except ValueError:
        polls, slash = math.nan, ""
    if not slash:
        raise ValueError(f"{option} must be polls per unit of time, such as 20/day or 5000/hour, got {text!r}")
    if not (0 < polls < math.inf):
        raise ValueError(f"{option} must be a positive number of polls, got {text!r}")
    per = parse_unit(unit, option)
    if not 1 / MOST_A_SECOND <= polls / SECONDS[per] <= MOST_A_SECOND:
        raise ValueError(
            f"{option} must be from {1 / MOST_A_SECOND:g} to {MOST_A_SECOND:g} polls a second, got {text!r}"
        )
    return polls, per


def polls_a_second(text: str, parameter: str = "capacity") -> float:
    """What a capacity such as `20/day` comes to; `parameter` is named in errors."""
    polls, per = parse_capacity(text, parameter)
    return polls / SECONDS[per]
