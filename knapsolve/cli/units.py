"""Lengths of time, times, choices and places of pictures, as typed on a command line."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from knapsolve.cli.output import rounded
from knapsolve.replay.log import as_share, iso_seconds
from knapsolve.replay.units import SECONDS, parse_unit

SCHEDULERS = ("edf", "random")
MOST_WORK = 1e12  # polls or crawls of one command: hours to days


def choose(option: str, value: str, choices: Collection[str]) -> str:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}; got {value!r}")
    return value


def choose_all(option: str, texts: list[str], choices: Collection[str]) -> list[str]:
    """The distinct names in texts such as `lakg,htraa`, each of them one of the choices."""
    names = [name.strip() for text in texts for name in text.split(",")]
    return [choose(option, name, choices) for name in dict.fromkeys(names)]


def check_work(option: str, number: int, what: str = "polls") -> None:
    """Refuse, before any work, what would take days; `number` is of all runs together."""
    if number > MOST_WORK:
        shown = f"{number:,}" if number < 1e18 else f"{number:.3g}"
        raise ValueError(f"{option} makes {shown} {what} in all, at most {MOST_WORK:.3g} are allowed")


def parse_duration(option: str, text: str) -> float:
    """Seconds of a length of time such as `30 days` or `1.5h`."""
    found = re.fullmatch(r"\s*([\d.,]+(?:e[+-]?\d+)?)\s*([a-z]+)\s*", text.lower())
    try:
        value = float(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", found[1])) if found else math.nan
    except ValueError:
        value = math.nan
    if not found or not 0 < value < math.inf:
        raise ValueError(f"{option} must be a positive length of time such as 30days or 1.5h, got {text!r}")
    return value * SECONDS[parse_unit(found[2], option)]


def duration_in_words(seconds: float) -> str:
    """A length of time, positive, in a unit that suits it: `160 days`, `2.7 minutes`."""
    units = ("day", "hour", "minute", "second", "millisecond", "microsecond")
    unit = next((each for each in units if seconds >= SECONDS[each]), "nanosecond")
    if seconds >= 2 * SECONDS["year"]:
        unit = "year"
    number = seconds / SECONDS[unit]
    text = f"{number:,.0f}" if 10 <= number < 1e15 else rounded(number, 2)
    return f"{text} {unit}{'' if text == '1' else 's'}"


def parse_time(option: str, text: str, unit: str) -> float:
    """A number of `unit`s, or an ISO date (UTC unless it says otherwise) as such a number since 1970."""
    try:
        value = float(text)
    except ValueError:
        try:
            return iso_seconds(text) / SECONDS[unit]
        except ValueError:
            raise ValueError(
                f"{option} must be a number of {unit}s or an ISO date such as 2021-07-01, got {text!r}"
            ) from None
    if not math.isfinite(value):
        raise ValueError(f"{option} must be finite, got {text!r}")
    return value


def times_in_words(unit: str, *values: float) -> list[str]:
    """Dates where `values` units since 1970 can be meant as such, else the numbers with their unit.

    Dates less than ten days apart have hours and minutes, too.
    """
    short = (max(values) - min(values)) * SECONDS[unit] < 10 * SECONDS["day"]

    def words(value: float) -> str:
        seconds = value * SECONDS[unit]
        if 1e8 < seconds < 4e9:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M" if short else "%Y-%m-%d")
        return f"{value:g} {unit}s"

    return [words(value) for value in values]


def check_plot_path(path: Path | None) -> None:
    """Refuse, before any work, a picture that could not be saved."""
    if path is None:
        return
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--plot needs matplotlib: pip install 'knapsolve[cli]'") from error
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    kinds = plt.figure().canvas.get_supported_filetypes()
    plt.close()
    if path.suffix[1:].lower() not in kinds:
        raise ValueError(
            f"--plot must end in one of {', '.join('.' + kind for kind in sorted(kinds))}, got {str(path)!r}"
        )
    _check_writable(path, "--plot", "the picture")


def check_distinct(paths: dict[str, Path | str | None]) -> None:
    """Refuse to write over what is read, or two things into one file; `paths` by what they are."""
    seen: dict[Path, str] = {}
    for what, path in paths.items():
        if path is not None and str(path) != "-":
            place = Path(path).resolve()
            if place in seen:
                raise ValueError(f"{what} must be another file than {seen[place]}, got {str(path)!r} for both")
            seen[place] = what


def check_output_path(path: Path | None, option: str = "--output") -> None:
    """Refuse, before any work, a table that could not be saved."""
    if path is None:
        return
    if path.suffix.lower() != ".csv":
        raise ValueError(f"{option} must end in .csv, got {str(path)!r}")
    _check_writable(path, option, "the table")


def _check_writable(path: Path, option: str, what: str) -> None:
    if not path.parent.exists():
        raise ValueError(f"{option} needs a folder that exists, there is no {str(path.parent)!r}")
    try:
        existed = path.exists()
        path.open("ab").close()
    except OSError as error:
        raise OSError(error.errno, f"cannot write {what}: {error.strerror}", str(path)) from error
    if not existed:
        path.unlink()


def parse_split(text: str, start: float, stop: float, unit: str) -> float | None:
    """A time, a share of the stretch such as `50%`, or `none`."""
    if text.lower() == "none":
        return None
    share = as_share(text)
    if share is not None:
        if not 0 < share < 1:
            raise ValueError(f"--split must lie between 0% and 100%, or be none, got {text!r}")
        return start + share * (stop - start)
    return parse_time("--split", text, unit)
