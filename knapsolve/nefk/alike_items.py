"""Items that start at one price within their group, as a host's pages of one rate and weight, and those beside them.

What an item takes is its scale times a function of the price over its start, a and v / p in csrc/nefk_shapes.h.
Harmonic items start at no price, as they take something at any; theirs is what the price is measured by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_sums as group_sums
import knapsolve._core.nefk as core
from knapsolve.nefk.criteria import Detection
from knapsolve.nefk.passes import CHUNK, parts_of
from knapsolve.nefk.problem import Problem, odd_stride
from knapsolve.nefk.search import STARTING

Array = NDArray[np.float64]
PER_SCALE = (core.FRESHNESS, core.POISSON, core.HARMONIC, core.LOGARITHMIC)  # starts are weights over scales
SHAPES = (core.DETECTION, *PER_SCALE, core.EXPONENTIAL)  # of which items have a scale and a start
PAIRS = (3, 16)  # of one group among items that are looked at first, if groups are even, and then
LEAST, MOST = 1e-150, 1e150  # prices at which items start, if they do
WORTH = 4  # one in so many items may be a group or an other, if there are others
VOTES = 32  # of each group, if groups are even
FEW = 16  # one in so many items, as many of which may be beside others until it matters which of these are most


@dataclass(frozen=True)
class AlikeItems:
    """Which groups (g,) have items, and which such that start alike and have a scale; where these start, and the sums
    of their scales (k,); and the positions of all other items, those without a group among them.
    """

    has_items: NDArray[np.bool_]
    has_scale: NDArray[np.bool_]
    starts: Array
    scales: Array
    others: NDArray[np.intp]


def find_alike(problem: Problem, most: int, most_beside: int) -> AlikeItems | None:
    """What starts alike; None unless items seem to do so that are most, with at most so many groups, or with others so
    many of both.
    """
    groups = len(problem.caps)
    if groups > most:
        return None
    share = _share_alike(problem)
    if share < 1.0:
        most_beside = min(most_beside, problem.n // WORTH)
        if not groups + (1.0 - share) * problem.n <= most_beside:
            return None
    table = np.zeros((groups, 3))
    table[:, 0] = np.nan
    room = max(most_beside - groups, 0)
    others = _sum_scales(problem, table, min(room, problem.n // FEW) if share < 1.0 else room)
    if others is None and share < 1.0:
        table[:, 0], table[:, 1:] = np.nan, 0.0
        _vote(problem, table)
        others = _sum_scales(problem, table, room)
    if others is None:
        return None
    has_items, has_scale = np.empty((2, groups), dtype=np.uint8)
    starts, scales = np.empty(groups), np.empty(groups)
    k = group_sums.take_alike(table, has_items, has_scale, starts, scales, LEAST, MOST)
    if k < 0 or not (others.size or k) or not _are_told(starts_of(problem, others)):
        return None
    return AlikeItems(has_items.view(bool), has_scale.view(bool), starts[:k], scales[:k], others)


def _are_told(starts: Array) -> bool:
    """Whether prices are such that items start there, or nowhere."""
    return bool(((starts == 0.0) | ((starts >= LEAST) & (starts <= MOST))).all())


def groups_of(problem: Problem, part: slice) -> NDArray[np.intp]:
    """Groups of a part of the items, -1 for none."""
    return np.ascontiguousarray(problem.groups[part], dtype=np.intp)


def scales_of(problem: Problem, part: Any = slice(None)) -> Array:
    """Scales of some items, (m,)."""
    parameter = _even(problem.criterion._parameter, problem, part)
    with np.errstate(all="ignore"):
        return 1.0 / parameter if problem.criterion._shape == core.EXPONENTIAL else parameter


def starts_of(problem: Problem, part: Any = slice(None)) -> Array:
    """Where some items start, a price for each, (m,)."""
    weights, shape = _even(problem.weights, problem, part), problem.criterion._shape
    if shape == core.DETECTION:
        return weights
    parameter = _even(problem.criterion._parameter, problem, part)
    with np.errstate(all="ignore"):
        return weights / parameter if shape in PER_SCALE else weights * parameter


def as_items(problem: Problem, scales: Array, starts: Array) -> Problem:
    """The problem of items of some scales and starts (m,), which are used up, without groups."""
    shape, criterion = problem.criterion._shape, problem.criterion
    items = replace(problem, n=scales.size, groups=None, caps=np.empty(0))
    if shape in STARTING:
        return replace(items, criterion=Detection(scales), weights=starts)
    with np.errstate(all="ignore"):
        weights = np.multiply(starts, scales, out=starts)
    parameter = np.divide(1.0, scales, out=scales) if shape == core.EXPONENTIAL else scales
    return replace(items, criterion=criterion._with(parameter), weights=weights)


def _even(column: Any, problem: Problem, part: Any) -> Array:
    if isinstance(column, np.ndarray):
        return np.ascontiguousarray(column[part], dtype=np.float64)
    size = len(range(*part.indices(problem.n))) if isinstance(part, slice) else len(part)
    return np.full(size, column, dtype=np.float64)


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
    groups = problem.groups[which].astype(np.int64)
    bits = which.size.bit_length()
    keys = np.sort((groups << bits) + np.arange(which.size))  # by vectors: argsort mispredicts
    groups = keys >> bits
    which = which[keys - (groups << bits)]
    same = np.flatnonzero(groups[1:] == groups[:-1])
    same = same[groups[same] >= 0]
    if not same.size:
        return 0, 0
    before, starts = starts_of(problem, which[np.append(same, same + 1)]).reshape(2, -1)
    with np.errstate(invalid="ignore"):
        return same.size, int(np.count_nonzero(np.abs(starts - before) <= group_sums.ROUNDED * before))


def _vote(problem: Problem, table: Array) -> None:
    """Put where most items of each group start into a table (g, 3), NaN and 0 at first, by some of them."""
    step = odd_stride(max(problem.n // (VOTES * len(problem.caps)), 1))
    for part in parts_of(problem.n, CHUNK * step):
        some = slice(part.start, part.stop, step)
        group_sums.vote_alike(groups_of(problem, some), starts_of(problem, some), table)
    table[:, 1:] = 0.0


def _sum_scales(problem: Problem, table: Array, room: int) -> NDArray[np.intp] | None:
    """Add scales of items that start alike to those of their groups in a table (g, 3) as `group_sums.add_alike` has
    it; positions of the others, None if they are more than `room`.
    """
    parts, found = [np.empty(0, dtype=np.intp)], np.empty(min(CHUNK, problem.n), dtype=np.intp)
    for part in parts_of(problem.n, CHUNK):
        groups, starts, scales = groups_of(problem, part), starts_of(problem, part), scales_of(problem, part)
        count = group_sums.add_alike(groups, starts, scales, table, found)
        parts.append(part.start + found[:count])
        room -= count
        if room < 0:
            return None
    return np.concatenate(parts)
