"""Groups that were filled and turn out not to reach their caps: which, and the problem of their items with the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knapsolve.nefk.beside_filled import in_groups
from knapsolve.nefk.group_totals import GroupTotals, capped_sums
from knapsolve.nefk.kept_groups import numbers_among, spread
from knapsolve.nefk.passes import Settled, parts_of
from knapsolve.nefk.problem import Problem, odd_stride
from knapsolve.nefk.result import Place

Array = NDArray[np.float64]
AMPLY = 1.25  # what groups that are taken back are to free, over what is missing
MOST_ASKED = 4096  # groups, for that


def taken_at(rest: Problem, price: float, n_jobs: int) -> float:
    """What items take under their groups' caps at a price."""
    passes = rest.passes(n_jobs)
    if rest.groups is None:
        return passes.respond(price)[0] if rest.n else 0.0
    totals = GroupTotals(rest, passes.items, n_jobs)
    return capped_sums(totals, *totals.respond(price).T)[0]


def price_to_free(own: Array, caps: Array, much: float, most: float) -> float:
    """A price at which groups whose own prices (g,) are lower take less than their caps (g,), by much and more: if each
    falls as the root of its price, or faster. No more than the most. Some of many groups are asked.
    """
    every = odd_stride(-(-own.size // MOST_ASKED))
    own, caps = own[::every], caps[::every]  # first, as arrays of all take room
    filled = np.flatnonzero(own > 0.0)
    order = filled[np.argsort(own[filled])]
    root = np.sqrt(own[order])
    freed = every * (np.cumsum(caps[order]) - np.cumsum(caps[order] * root) / root)
    k = int(np.searchsorted(freed, AMPLY * much, "right"))
    return min(float(own[order[k]]), most) if k < order.size else most


class More(NamedTuple):
    """Groups that are taken back, with what is left beside them."""

    left: NDArray[np.uint32]  # positions of all these items
    rest: Problem
    kept: NDArray[np.intp]  # the groups of it that have caps
    settled: Settled  # how the others are


def take_back(
    problem: Problem,
    own: Array,
    above: float,
    filled: Settled,
    most: float,
    place: Place,
    named: NDArray[np.bool_] | None,
    n_jobs: int,
) -> More | None:
    """The items of all `named` groups whose own prices (k + 1,) are not above a price, which are forgotten, and of
    those of no group, by amounts that are written; None if they are more than a share of all.
    """
    less, were_filled = ~(own > above), own > 0.0
    marks, groups = spread(less, named), problem.groups
    by_group = np.append(marks[1:], marks[0])  # of no group, -1, last
    found = [part.start + np.flatnonzero(by_group[groups[part]]).astype(np.uint32) for part in parts_of(problem.n)]
    left = np.concatenate(found)
    if left.size > most * problem.n:
        return None
    names = 1 + numbers_among(groups[left], named, n_jobs)
    which = left[were_filled[names]]
    amounts, taken = place.amounts()[which], problem.take(which, 0.0, n_jobs)
    total = filled.total - float(amounts.sum())
    value = filled.value - (float(taken.passes(n_jobs).worth(amounts)[0].sum()) if which.size else 0.0)
    own[less] = np.nan
    rest, kept = in_groups(problem.take(left, problem.capacity - total, n_jobs), names, problem.caps)
    return More(left, rest, kept, replace(filled, total=total, value=value))
