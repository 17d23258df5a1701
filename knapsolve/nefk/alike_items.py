"""Items that start at one price within their group, as a host's pages of one rate and weight, and those beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_sums as group_sums
from knapsolve.nefk.passes import CHUNK, parts_of
from knapsolve.nefk.problem import Problem, odd_stride

Array = NDArray[np.float64]
PAIRS = (3, 16)  # of one group among items that are looked at first, if groups are even, and then
LEAST, MOST = 1e-150, 1e150  # prices at which items start, if they do
WORTH = 4  # one in so many items may be a group or an other, if there are others
VOTES = 32  # of each group, if groups are even
FEW = 16  # one in so many items, as many of which may be beside others until it matters which of these are most


@dataclass(frozen=True)
class AlikeItems:
    """Where those items of each group start that start alike (g,), NaN of groups without any; the sums of their rates
    (g,); and the positions of all other items, those without a group among them.
    """

    starts: Array
    rates: Array
    others: NDArray[np.intp]


def find_alike(problem: Problem, most: int) -> AlikeItems | None:
    """What starts alike; None unless items seem to do so that are most, with groups and others at most so many."""
    if len(problem.caps) > most:
        return None
    share = _share_alike(problem)
    most = most if share == 1.0 else min(most, problem.n // WORTH)
    if not len(problem.caps) + (1.0 - share) * problem.n <= most:
        return None
    table = np.zeros((len(problem.caps), 3))
    table[:, 0] = np.nan
    room = most - len(problem.caps)
    others = _sum_rates(problem, table, min(room, problem.n // FEW) if share < 1.0 else room)
    if others is None and share < 1.0:
        table[:, 0], table[:, 1:] = np.nan, 0.0
        _vote(problem, table)
        others = _sum_rates(problem, table, room)
    if others is None:
        return None
    found = AlikeItems(table[:, 0].copy(), table[:, 1] + table[:, 2], others)
    starts = found.starts[~np.isnan(found.starts)], problem.starts(others)
    is_told = all(map(_are_told, starts)) and np.isfinite(found.rates).all()
    return found if is_told and (others.size or found.rates.any()) else None


def _are_told(starts: Any) -> bool:
    """Whether prices are such that items start there, or nowhere."""
    return bool(((starts == 0.0) | ((starts >= LEAST) & (starts <= MOST))).all())


def groups_of(problem: Problem, part: slice) -> NDArray[np.intp]:
    """Groups of a part of the items, -1 for none."""
    return np.ascontiguousarray(problem.groups[part], dtype=np.intp)


def even_rates(problem: Problem, part: slice = slice(None)) -> Array:
    """Rates of a part of the items, one for each."""
    rates = problem.criterion._parameter
    return _even(rates[part] if isinstance(rates, np.ndarray) else rates, problem, part)


def even_starts(problem: Problem, part: slice = slice(None)) -> Array:
    """Where items of a part of them start, a price for each."""
    return _even(problem.starts(part), problem, part)


def _even(column: Any, problem: Problem, part: slice) -> Array:
    return np.ascontiguousarray(np.broadcast_to(column, len(range(*part.indices(problem.n)))), dtype=np.float64)


def _share_alike(problem: Problem) -> float:
    """The share of the items that seem to start where most of their group do, if each group has one such price; 0 if
    none seem to.

    Pairs of one group among some items tell: evenly spread ones and those next to them first, of which none start alike
    in most problems, and others by chance, as groups may come in turn.
    """
    n, even, more = problem.n, *(math.isqrt(2 * pairs * len(problem.caps)) + pairs for pairs in PAIRS)
    first = np.arange(0, n - 1, odd_stride(max(2 * n // even, 2)))
    pairs, alike = _pairs(problem, np.append(first, first + 1))
    if pairs and not alike:
        return 0.0
    first = np.random.default_rng(n).integers(n - 1, size=more // 2)
    pairs, alike = _pairs(problem, np.unique(np.append(first, first + 1)))
    return math.sqrt(alike / pairs) if pairs else 0.0


def _pairs(problem: Problem, which: NDArray[np.intp]) -> tuple[int, int]:
    """How many of some items come after one of their group, by their positions, and how many of these start where it
    does.
    """
    which = which[np.argsort(problem.groups[which], kind="stable")]
    groups = problem.groups[which]
    later = 1 + np.flatnonzero((groups[1:] == groups[:-1]) & (groups[1:] >= 0))
    if not later.size:
        return 0, 0
    before, starts = (np.broadcast_to(problem.starts(which[x]), later.shape) for x in (later - 1, later))
    with np.errstate(invalid="ignore"):
        return later.size, int(np.count_nonzero(np.abs(starts - before) <= group_sums.ROUNDED * before))


def _vote(problem: Problem, table: Array) -> None:
    """Put where most items of each group start into a table (g, 3), NaN and 0 at first, by some of them."""
    step = odd_stride(max(problem.n // (VOTES * len(problem.caps)), 1))
    for part in parts_of(problem.n, CHUNK * step):
        some = slice(part.start, part.stop, step)
        group_sums.vote_alike(groups_of(problem, some), even_starts(problem, some), table)
    table[:, 1:] = 0.0


def _sum_rates(problem: Problem, table: Array, room: int) -> NDArray[np.intp] | None:
    """Add rates of items that start alike to those of their groups in a table (g, 3) as `group_sums.add_alike` has
    it; positions of the others, None if they are more than `room`.
    """
    parts, found = [np.empty(0, dtype=np.intp)], np.empty(min(CHUNK, problem.n), dtype=np.intp)
    for part in parts_of(problem.n, CHUNK):
        groups, starts, rates = groups_of(problem, part), even_starts(problem, part), even_rates(problem, part)
        count = group_sums.add_alike(groups, starts, rates, table, found)
        parts.append(part.start + found[:count])
        room -= count
        if room < 0:
            return None
    return np.concatenate(parts)
