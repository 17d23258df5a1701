"""Items that may take something at any price above one that lies below the answer's: all others take nothing.

An item of detection, freshness, Poisson freshness or logarithmic value starts at a price; above it, it takes nothing.
Where it is known about where the budget's price is, the items that start below need neither be brought to their tiles
nor looked at by any pass (variables that are fixed so are Bitran and Hax's, Management Science 27 (1981)). Where only a
sample says so, and the answer turns out to lie lower, it is none: the problem is solved once more with all its items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
import knapsolve._core.nefk as core
from knapsolve._core.threads import work_through
from knapsolve.nefk.criterion import is_column
from knapsolve.nefk.group_order import are_in_order
from knapsolve.nefk.group_totals import MOST_COUNTING, GroupTotals
from knapsolve.nefk.passes import CHUNK, parts_of
from knapsolve.nefk.problem import Problem, sampled

BY_RATE = (core.FRESHNESS, core.POISSON, core.LOGARITHMIC)  # shapes whose items start at weight / parameter
ERRORS, LEAST_AWAY = 4.0, 0.03  # standard errors of a sample's price that all others lie below, and the least, in logs
ROUNDED = 1e-6  # more than products are off, relatively
WORTH, SAMPLE = 0.1, 1024  # share of the items that must start below that, and of how many it is taken


@dataclass
class Active:
    """Items that start above a price: a bit of each item (n / 64,), how many they are, and how many of each group or of
    2^k groups, of no group first; both take room, which may be given back.
    """

    above: float
    bits: NDArray[np.uint64]
    n: int
    counts: NDArray[np.uint32]

    def of(self, part: slice) -> NDArray[np.uint64]:
        """The bits of a part of the items that begins with a whole word."""
        return self.bits[part.start >> 6 : (part.stop + 63) >> 6]

    def forget_counts(self) -> None:
        """Give their room back."""
        self.counts = self.counts[:0].copy()

    def forget_bits(self) -> None:
        """Give their room back."""
        self.bits = self.bits[:0].copy()


def below_likely(price: float, error: float) -> float:
    """A price that the budget's is most likely above, if a sample says that it is about so much, within an error."""
    return price * math.exp(-max(ERRORS * error, LEAST_AWAY))


def find_active(totals: GroupTotals, above: float, bits: int, with_ungrouped: bool = False) -> Active | None:
    """The items that may take something above a price, or have no group if they are not to be left out, and how many of
    each 2^bits groups; None if nearly all do, or if others would not take nothing, or lie where they are to stay.
    """
    problem, n = totals.problem, totals.problem.n
    if not above > 0.0 or is_column(problem.lower) or problem.lower > 0.0:
        return None
    if totals.shape not in (core.DETECTION, *BY_RATE) or are_in_order(problem.groups):
        return None
    some = are_active(problem, sampled(n, SAMPLE), above)
    if np.count_nonzero(some) > (1.0 - WORTH) * some.size:
        return None
    jobs = min(totals.n_jobs, MOST_COUNTING)
    shares = list(parts_of(n, max(-(-n // (CHUNK * jobs)), 1) * CHUNK))
    active, known = np.empty((n + 63) // 64, dtype=np.uint64), totals.counted(bits)

    def count(share: slice) -> tuple[NDArray[np.uint32], int]:
        counts, found = np.zeros(((len(problem.caps) - 1) >> bits) + 2, dtype=np.uint32), 0
        if known is not None and not share.start:
            counts += known
        for start in range(share.start, share.stop, CHUNK):
            part = slice(start, min(start + CHUNK, share.stop))
            words, groups = active[part.start >> 6 : (part.stop + 63) >> 6], totals.groups(part)
            core.mark_started(totals.items, above, part.start, part.stop, words)
            if with_ungrouped and totals.ungrouped:
                group_layout.mark_ungrouped(groups, words)
            found += group_layout.count_marked(groups, words, known is not None, counts, bits)
        return counts, found

    (counts, found), *others = work_through(count, shares, jobs)
    for more, also in others:  # of what is known, tables of all but the first say how much less, and wrap around
        counts += more
        found += also
    n_active = found if known is None else n - found
    if not 0 < n_active <= (1.0 - WORTH) * n:  # a sample misled
        return None
    return Active(above * (1.0 + ROUNDED), active, n_active, counts)


@np.errstate(all="ignore")
def are_active(problem: Problem, part: slice, price: float) -> NDArray[np.bool_]:
    """Which items of a part start above a price, but for rounding."""
    columns: tuple[Any, Any] = problem.weights, problem.criterion._parameter
    weights, rates = (x[part] if isinstance(x, np.ndarray) else x for x in columns)
    least = np.multiply(rates, price, dtype=np.float64) if problem.criterion._shape in BY_RATE else price
    takes = np.asarray(weights > least)
    return takes if takes.ndim else np.full(len(range(*part.indices(problem.n))), bool(takes))
