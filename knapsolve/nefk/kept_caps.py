"""The problem with all caps, or without those that are surely loose, and perhaps with the items that may take something
alone: as `layouts` lays it out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_tables as group_tables
import knapsolve._core.nefk as core
from knapsolve.nefk.active_items import Active, find_active
from knapsolve.nefk.all_but import are_few, items_of
from knapsolve.nefk.group_order import are_in_order
from knapsolve.nefk.group_samples import SampledTotals
from knapsolve.nefk.group_totals import SURELY, GroupTotals
from knapsolve.nefk.kept_groups import is_sparse, names_of, split, take
from knapsolve.nefk.layouts import Starts
from knapsolve.nefk.passes import Slopes
from knapsolve.nefk.runs import Runs
from knapsolve.nefk.sample_curve import Curve

Array = NDArray[np.float64]
SURELY_BELOW = 2e-6  # of a price that is below the answer's, over rounding in single precision
WORTH_NAMING = 0.55  # share of kept groups above which all are: copies of what they have would take too much room
BY_NAMED, MOST_NAMED = 18, 9  # bytes of what a kept group of some has as it is settled, and of room by item for that
BY_SPLIT, MOST_SPLIT = 24, 23  # of a group's totals as they are split, and of room by item: else they are taken again


@dataclass(frozen=True)
class Reduced:
    """A problem of which only the caps of the groups `kept` (g,), of which there are k, are left.

    `names` and `starts` are those that `layouts.lay_out` asks for; the table is taken out for use, as it is large.
    """

    kept: NDArray[np.bool_]
    caps: Array
    known: list[tuple[Array, Slopes]]  # totals and slopes (k + 1,) at the search's price, taken out for use
    search: Array
    tables: list[tuple[NDArray[np.int32] | None, Starts]]  # names and starts, taken out for use
    curve: Curve | None  # of a sample
    count: int
    above: float | None = None  # a price that is likely to be above the budget's, if most own prices are above that
    listed: NDArray[np.uint32] | None = None  # the items of these groups, where they are known and few
    active: Active | None = None  # those that may take something, if others are left out
    keeps_used: bool = False  # all groups that have items keep their caps


def keep_all(
    totals: GroupTotals,
    search: Array,
    curve: Curve | None = None,
    sample: SampledTotals | None = None,
    above: float | None = None,
    active: Active | None = None,
    gives_names: bool = False,
) -> Reduced:
    """The problem with all caps, or those of groups with items if it `gives_names` to these, and with the items that
    may take something, if these are known. The table of sizes of the totals is used up.
    """
    kept, caps = np.broadcast_to(True, totals.caps.shape), totals.caps  # takes no room
    names: NDArray[np.int32] | None = None
    sizes = None if sample is None else sample.sizes_of_groups()
    runs: Runs | None = None
    if active is not None and totals.bits_of_blocks and sizes is not None:
        runs = totals.even_runs(sizes, active.counts)
        active = None if runs is None else active
    if active is None and sizes is not None:
        runs = totals.even_runs(sizes)
    starts: Starts | None = runs
    if starts is None:
        counts = (totals.sizes if active is None else active.counts)[1:]
        if gives_names:
            kept = totals.sizes[1:] > 0
            k = int(np.count_nonzero(kept))
            caps, names, counts = take(caps, kept, k), names_of(kept, totals.n_jobs), take(counts, kept, k)
        starts = starts_of(totals, counts, active)
    tables = [(names, starts)]
    return Reduced(kept, caps, [], search, tables, curve, totals.count, above, active=active, keeps_used=True)


def named_groups(totals: GroupTotals) -> int | None:
    """How many groups have items, if these are to get names: where others are many, and items not in order, in which
    they stay where they are. None elsewhere, and where not groups are counted but blocks of them.
    """
    if not totals.are_counted:
        return None
    k = int(np.count_nonzero(totals.sizes[1:]))
    is_worth_it = _are_worth_naming(totals, k, len(totals.caps))
    return k if is_worth_it and not are_in_order(totals.problem.groups) else None  # not 0, as none at all is in order


def _are_worth_naming(totals: GroupTotals, k: int, groups: int) -> bool:
    """Whether so many of all groups are few enough to get new numbers."""
    return k <= WORTH_NAMING * groups and BY_NAMED * k + groups <= MOST_NAMED * totals.problem.n


def without_loose_caps(
    totals: GroupTotals,
    price: float,
    taken: Array,
    search: Array,
    curve: Curve | None = None,
    leaves_out: bool = False,
) -> Reduced:
    """Drop the caps that are loose at a price below the answer's, and the items that take nothing if `leaves_out`.

    The table of what groups take (g + 1, 2) is used up, and so are the totals' sizes.
    """
    jobs, n, caps = totals.n_jobs, totals.problem.n, totals.caps
    kept = np.empty(len(caps), dtype=bool)
    k, *others = group_tables.keep_capped(taken, caps, 1.0 - SURELY, kept.view(np.uint8), jobs)
    if not _are_worth_naming(totals, k, kept.size):
        kept, k, others = np.broadcast_to(True, kept.shape), kept.size, taken[0].tolist()  # takes no room
    known: list[tuple[Array, Slopes]] = []
    active: Active | None = None
    if k == kept.size and BY_SPLIT * kept.size > MOST_SPLIT * n:
        taken.resize((0, 2), refcheck=False)
    else:
        known.append(split(taken, kept, k, others))
    names: NDArray[np.int32] | None = None
    listed: NDArray[np.uint32] | None = None
    if leaves_out and not are_few(n, n - _items_of(totals, kept, k)):
        active = find_active(totals, price * (1.0 - SURELY_BELOW), 0)
    if active is None and k < kept.size and is_sparse(kept, k) and not totals.are_counted:
        listed = items_of(totals.problem, kept, jobs)
    if k < kept.size:
        caps, names = take(caps, kept, k), names_of(kept, jobs)
    if listed is not None and names is not None:
        groups = totals.problem.groups[listed].astype(np.intp)  # narrower ones have no room for one more
        starts = starts_of(totals, np.bincount(names[1 + groups], minlength=k).astype(np.uint32))
    else:
        sizes = (totals.sizes if active is None else active.counts)[1:]  # may be counted only now, where there is room
        starts = starts_of(totals, sizes if names is None else take(sizes, kept, k), active)
    search[core.PRICE] = price
    return Reduced(kept, caps, known, search, [(names, starts)], curve, totals.count, listed=listed, active=active)


def _items_of(totals: GroupTotals, kept: NDArray[np.bool_], k: int) -> int:
    """How many items the groups have that are kept (g,), about, if that is not counted."""
    if k < kept.size and totals.are_counted:
        return int(totals.sizes[1:].sum(where=kept))
    return (totals.problem.n - totals.ungrouped) * k // max(kept.size, 1)


def starts_of(totals: GroupTotals, sizes: NDArray[np.uint32], active: Active | None = None) -> NDArray[np.uint32]:
    """Where groups of some sizes (k,) start, after all other items, or those that are active: (k + 3,), two zeros
    first. Uses up the totals' sizes, and their numbers.
    """
    starts = np.empty(len(sizes) + 3, dtype=np.uint32)
    starts[:2] = 0
    group_tables.starts_of(sizes, active.n if active else totals.problem.n, starts[2:])
    totals.forget_sizes()
    if active:
        active.forget_counts()
    return starts
