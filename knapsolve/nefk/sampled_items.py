"""Which groups, and which of their items, samples are of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knapsolve.nefk.group_totals import GroupTotals
from knapsolve.nefk.problem import odd_stride

SAMPLE = 128  # a price is guessed on one in so many items, within the next two
LEAST_SAMPLE, MOST_SAMPLE = 4096, 32768


def sampled_groups_of(n: int) -> int:
    """One in how many groups is sampled, of n items."""
    return odd_stride(-(-n // _most_sampled(n)))


def _most_sampled(n: int) -> int:
    """About how many items that have a group are sampled, of n items, and at most that have none."""
    return min(max(n // SAMPLE, LEAST_SAMPLE), MOST_SAMPLE)


def sampled_items(totals: GroupTotals, large: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of all items of the chosen groups that are small, then of one in so many items of large ones, and
    their groups; the table (g + 1,) begins with the items of no group. Of few, some are no less than others' sample.
    """
    listed, groups = np.asarray(totals.listed)
    ungrouped = np.flatnonzero(groups < 0)
    most = _most_sampled(totals.problem.n)
    if ungrouped.size > most:
        is_taken = groups >= 0
        is_taken[ungrouped[:: odd_stride(-(-ungrouped.size // most))]] = True
        taken = np.flatnonzero(is_taken)
        listed, groups = listed[taken], groups[taken]
    if not (large[0] or (totals.has_large and large.any())):  # all are looked at only where some may be
        return listed, groups
    some = np.arange(0, totals.problem.n, totals.every)
    others = totals.problem.groups[some].astype(np.intp)
    small, others_large = ~large[1 + groups], large[1 + others]
    which = np.concatenate([listed[small], some[others_large]])
    return which, np.concatenate([groups[small], others[others_large]])
