"""Tables by group of which some entries are kept: taken out, given new numbers, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_tables as group_tables
from knapsolve.nefk.passes import Slopes

Array = NDArray[np.float64]
SPARSE = 16  # one in so many groups, which are looked up by their numbers


def is_sparse(kept: NDArray[np.bool_], k: int) -> bool:
    """Whether only a few groups are kept."""
    return SPARSE * k <= kept.size


def take(table: NDArray[Any], kept: NDArray[np.bool_], k: int) -> NDArray[Any]:
    """Entries (k,) of a table (g,) that are kept."""
    if is_sparse(kept, k):
        return table[np.flatnonzero(kept)]
    out = np.empty(k + 1, table.dtype)
    group_tables.take_kept(table, kept.view(np.uint8), out)
    return out[:k]


@np.errstate(over="ignore", under="ignore")  # a slope that guides steps may be infinite
def split(taken: Array, kept: NDArray[np.bool_], k: int, others: tuple[float, float]) -> tuple[Array, Slopes]:
    """The two columns of a table (g + 1, 2), which is used up: first what those not kept sum to, then the entries (k,)
    that are. Unless these are few, the first column ends up in the room of the table, which becomes smaller.
    """
    if is_sparse(kept, k):
        rows = taken[1 + np.flatnonzero(kept)]
        taken.resize((0, 2), refcheck=False)
        totals, slopes = np.append(others[0], rows[:, 0]), np.append(others[1], rows[:, 1]).astype(np.float32)
        return totals, slopes
    slopes = np.empty(k + 2, dtype=np.float32)
    group_tables.split_kept(taken, kept.view(np.uint8), slopes)
    taken.resize(k + 1, refcheck=False)
    taken[0], slopes[0] = others
    return taken, slopes[: k + 1]


def names_of(kept: NDArray[np.bool_], n_jobs: int) -> NDArray[np.int32]:
    """Numbers (g + 1,) of groups among those that are kept; -1 for the others, and first, for no group."""
    names = np.empty(kept.size + 1, dtype=np.int32)
    group_tables.name_kept(kept.view(np.uint8), names, n_jobs)
    return names


def put_back(table: Array, kept: NDArray[np.bool_], n_jobs: int) -> Array:
    """The table (g,) of which the entries that are kept are those of another (k,), and all others NaN."""
    out = np.empty(kept.size)
    group_tables.put_kept(table, kept.view(np.uint8), out, n_jobs)
    return out


def numbers_among(groups: NDArray[Any], kept: NDArray[np.bool_] | None, n_jobs: int) -> NDArray[np.intp]:
    """Numbers (m,) of some groups (m,), -1 for none, among those that are kept (g,); None if all are."""
    numbers = groups.astype(np.intp)
    return numbers if kept is None else names_of(kept, n_jobs)[1 + numbers].astype(np.intp)


def spread(marks: NDArray[np.bool_], kept: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Marks (g + 1,) of all groups, of no group first, by those of the kept ones (k + 1,), None if all are; others have
    none.
    """
    if kept is None:
        return marks
    out = np.zeros(kept.size + 1, dtype=bool)
    out[0], out[1:][kept] = marks[0], marks[1:]
    return out
