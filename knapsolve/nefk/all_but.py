"""Groups with caps that few items are in: all items are passed over as they lie, and those few are taken off again.

A list of all the others, which a pass reads every column through, would cost as much as the pass itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve._core.threads import work_through
from knapsolve.nefk.group_order import order_by
from knapsolve.nefk.layouts import Listed, Starts
from knapsolve.nefk.passes import CHUNK, Prices, Settled, Slopes, parts_of
from knapsolve.nefk.problem import Problem
from knapsolve.nefk.runs import Runs

FEW = 14  # one in so many items
MOST_OF_OTHERS = 1.0  # what they would take without caps at the price of a first pass, over what all others do
MOST_AT_END = 100.0  # the same, and of values, at the answer's price: what is left of much larger sums has few digits


class PassesAllBut:
    """Passes over all items of a problem but those at some positions (m,), which are in order."""

    def __init__(self, problem: Problem, without: NDArray[np.uint32], n_jobs: int) -> None:
        self.every, self.without = problem.passes(n_jobs), without
        self.some = problem.take(without, problem.capacity).passes()
        self.is_exact = True  # what the last settling pass took off was not much more than what it left

    def respond(self, price: float) -> tuple[float, float]:
        """Total amount and slope at a price."""
        (total, slope), (taken, steep) = self.every.respond(price), self.some.respond(price)
        return total - taken, slope - steep

    def expand(self, price: float, half: float, tolerance: float) -> tuple[Any, tuple[float, ...]]:
        """Items that are rough within `half` of a price, None if they are too many, and the others' summed series."""
        rough, terms = self.every.expand(price, half, tolerance)
        found, own = self.some.expand(price, half, tolerance)
        if rough is None or found is None:
            return None, terms
        place = np.minimum(self.without.searchsorted(rough), self.without.size - 1)
        return rough[self.without[place] != rough], tuple(a - b for a, b in zip(terms, own))

    def settle(self, prices: Prices, amounts: NDArray[Any]) -> Settled:
        """Write the amounts of all items (n,), also of those that are none of these, and check them."""
        whole = self.every.settle(prices, amounts)
        part = self.some.settle(prices, np.empty(self.without.size, amounts.dtype))
        total, value = whole.total - part.total, whole.value - part.value
        self.is_exact = part.total <= MOST_AT_END * total and abs(part.value) <= MOST_AT_END * abs(value)
        return Settled(total, value, whole.residual)


class Aside(Listed):
    """A list (m,) of the few items that have caps, group by group; all others are where they were. For problems whose
    bounds are known to be feasible.

    Others are passed over with all items, whose problem is `alone`; settling writes amounts of all.
    """

    def __init__(
        self, problem: Problem, without: NDArray[np.uint32], order: NDArray[np.uint32], runs: Runs, n_jobs: int
    ) -> None:
        super().__init__(problem, order, runs)
        self.alone = replace(problem, groups=None, caps=np.empty(0))
        self.others = PassesAllBut(self.alone, without, n_jobs)


def are_few(n: int, others: int) -> bool:
    """Whether so few of n items have caps, if these many others do not, that the others are better left in place."""
    return FEW * (n - others) <= n


def items_of(problem: Problem, kept: NDArray[np.bool_], n_jobs: int) -> NDArray[np.uint32] | None:
    """Positions, in order, of the items of the groups that are kept (g,); None if they are not few."""
    bits = np.packbits(np.append(False, kept), bitorder="little")  # of no group first
    count = [0]  # so far, which spares room; threads that count at once may make it less, which is no matter

    def find(part: slice) -> tuple[int, NDArray[np.uint32]]:
        found = np.empty(CHUNK + 1, dtype=np.uint32)
        groups = np.ascontiguousarray(problem.groups[part], dtype=np.intp)
        m = group_layout.list_kept(groups, part.start, bits, found)
        count[0] += m
        return m, found[: m if are_few(problem.n, problem.n - count[0]) else 0].copy()

    sizes, parts = zip(*work_through(find, list(parts_of(problem.n)), n_jobs))
    return np.concatenate(parts) if are_few(problem.n, problem.n - sum(sizes)) else None


def set_aside(
    problem: Problem,
    tables: list[tuple[NDArray[np.int32] | None, Starts]],
    known: list[tuple[NDArray[np.float64], Slopes]],
    n_jobs: int,
    listed: NDArray[np.uint32] | None = None,
    has_all: bool = True,
) -> Aside | None:
    """The few items that have caps; None if they are not few, take more than all others, or that is not known.

    The tables are those of `layouts.lay_out`, and are left alone; `known` are totals and slopes (k + 1,), and `listed`
    the positions of those items, if that is known. Tables may be of some items, unless they are said to be of all.
    """
    names, starts = tables[0]
    if isinstance(starts, Runs) or not has_all:
        return None  # as runs are only made where not few items have caps
    first = int(starts[2])
    if not are_few(problem.n, first):
        return None
    if not known or not known[0][0][1:].sum() <= MOST_OF_OTHERS * known[0][0][0]:
        return None
    if listed is None:
        listed = items_of(problem, np.broadcast_to(True, len(starts) - 3) if names is None else names[1:] >= 0, n_jobs)
    if listed is None:
        return None
    own = starts.copy()
    own[2:] -= np.uint32(first)
    runs = Runs(own[1:])
    groups = problem.groups[listed].astype(np.intp)
    order = order_by(groups if names is None else names[1 + groups], None, own)
    return Aside(problem, listed, listed[order], runs, n_jobs)
