"""Numeric times that can hardly be meant in the unit that they are read in."""

from __future__ import annotations

import math
import re

from knapsolve.cli.output import warn
from knapsolve.cli.units import duration_in_words
from knapsolve.replay.units import SECONDS, SHORT

YEAR_10000 = 253_402_300_800.0  # seconds since 1970
LIVES = 100 * SECONDS["year"]  # longer is nothing logged in a unit below a day
JANUARY_1970, SOME = (1e6, 2.2e6), 30.0  # seconds: 2001 to 2039, a thousand times too short; polls to capacity
FACTOR = 500.0  # of polls to capacity, where a log is also shorter than a day or longer than
YEARS = 5 * SECONDS["year"]
TINIEST = 1e-300  # seconds
FINER = {"second": "millisecond", "millisecond": "microsecond", "microsecond": "nanosecond"}
NAMES = {unit: short for short, unit in reversed(SHORT.items()) if unit not in ("week", "month")}
DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")  # 20240131
COARSER = {finer: unit for unit, finer in FINER.items()} | {"second": "day", "minute": "day", "hour": "day"}


def warn_of_unit(name: object, first: float, last: float, unit: str, pace: float = 1.0) -> None:
    """Say so, in one line, if rows from `first` to `last` (numbers, no dates) are absurd as `unit`s.

    `pace` is of the polls so far to those that the capacity asks for; 1 where that says nothing.
    """
    if DATE.fullmatch(f"{first:.15g}") and DATE.fullmatch(f"{last:.15g}"):
        day = f"{first:.0f}"
        warn(f"the times of {name} look like dates, such as {day}, and are read as {unit}s: "
             f"if dates are meant, write them as {day[:4]}-{day[4:6]}-{day[6:]}")  # fmt: skip
        return
    found = _absurdity(str(name), first * SECONDS[unit], last * SECONDS[unit], unit, pace)
    if found is not None and found[1] != unit:
        what, better = found
        which = "finer" if SECONDS[better] < SECONDS[unit] else "coarser"
        warn(f"as {unit}s {what}: if times are {which}, say so (--time-unit {NAMES[better]} for {better}s)")


def _absurdity(name: str, start: float, end: float, unit: str, pace: float) -> tuple[str, str] | None:
    """What is absurd about rows from `start` to `end` in seconds, and a unit that would be less so."""
    span = end - start
    stretch, at_capacity = (duration_in_words(max(each, TINIEST)) for each in (span, span * pace))
    polls = f"the polls of {name} took {stretch}, at --capacity they would take {at_capacity}"
    finer, coarser = FINER.get(unit, "second"), COARSER.get(unit, "year")
    if end >= YEAR_10000:
        return f"since 1970 the times of {name} are after the year 9999", finer
    if span > LIVES and SECONDS[unit] < SECONDS["day"]:
        return f"the times of {name} span {stretch}", finer
    if pace < 1 / FACTOR and span > YEARS:
        return polls, _nearest(unit, pace)
    if pace > SOME and SECONDS[unit] < 1 and JANUARY_1970[0] <= start and end <= JANUARY_1970[1]:
        return f"since 1970 the times of {name} all lie in January 1970", coarser
    if pace > FACTOR and 0 < span < SECONDS["day"]:
        better = _nearest(unit, pace)
        return (polls, better) if end / SECONDS[unit] * SECONDS[better] < YEAR_10000 else None
    return None


def _nearest(unit: str, pace: float) -> str:
    """The unit in which the polls so far come nearest to what the capacity asks for."""
    return min(NAMES, key=lambda other: abs(math.log(pace * SECONDS[unit] / SECONDS[other])))
