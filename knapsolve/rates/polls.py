"""Checked polls, and what a complete observation tells beyond whether there was a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve._frames import take_column
from knapsolve._validation import refuse_stamps, shown


@dataclass(frozen=True)
class Polls:
    """A checked poll log, in time order; the last three columns are None where nobody gave them."""

    codes: NDArray[Any]  # (n,) material of each poll, numbered in order of first appearance
    elapsed: NDArray[np.float64]  # (n,)
    changed: NDArray[np.int8]  # (n,)
    weights: NDArray[np.float64] | None = None  # (n,)
    counts: NDArray[np.float64] | None = None  # (n,) changes in `exposures`, NaN where only `changed` is known
    exposures: NDArray[np.float64] | None = None  # (n,)

    def part(self, rows: Any) -> Polls:
        """A copy of some of the rows."""
        columns: Any = {name: None if column is None else np.array(column[rows]) for name, column in vars(self).items()}
        return Polls(**columns)


def complete_observations(
    X: Any, elapsed: np.ndarray, changed: np.ndarray, n_changes: int | str | None, age: int | str | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Counts and exposures (n,) of the polls whose source tells more, NaN elsewhere; None if it never does.

    k changes in the elapsed time e have the likelihood L^k exp(-L e). A last change `a` ago has L exp(-L a): one
    change in an exposure of a. A poll without a change has the same likelihood either way.
    """
    if n_changes is None and age is None:
        return None, None
    counts, exposures = np.full(elapsed.size, np.nan), elapsed.copy()
    if age is not None:
        ages = _numbers(X, age, "age")
        known = changed.astype(bool) & ~np.isnan(ages)
        wrong = known & ~((ages >= 0) & (ages <= elapsed))
        if wrong.any():
            where = int(np.argmax(wrong))
            raise ValueError(
                f"age must lie between 0 and the elapsed time {shown(elapsed[where])} where a change was found, "
                f"got {shown(ages[where])} at position {where}"
            )
        counts[known], exposures[known] = 1.0, ages[known]
    if n_changes is not None:
        numbers = _numbers(X, n_changes, "n_changes")
        known = ~np.isnan(numbers)
        wrong = known & ~((numbers >= 0) & (numbers < 2.0**53) & (numbers == np.floor(numbers)))
        wrong |= known & ((numbers > 0) != changed.astype(bool))
        if wrong.any():
            where = int(np.argmax(wrong))
            raise ValueError(
                "n_changes must be whole and non-negative, positive exactly where y says that there was a change, "
                f"got {shown(numbers[where])} at position {where}, where y says {int(changed[where])}"
            )
        counts[known], exposures[known] = numbers[known], elapsed[known]
    return counts, exposures


def _numbers(X: Any, column: int | str, name: str) -> np.ndarray:
    """A column of numbers, NaN where nothing is known."""
    values = take_column(X, column, name)
    values = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    refuse_stamps(name, values)
    try:
        if values.dtype.kind == "O":
            values = np.array([np.nan if value is None else value for value in values.tolist()])
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers, or NaN where nothing is known: {error}") from error
