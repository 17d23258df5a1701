"""The order of items by group: where each group begins in it, and which item is where."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve._core.threads import work_through
from knapsolve.nefk.passes import parts_of

LARGEST_ORDER = 2**32


def sort_by_group(groups: NDArray[Any], n_groups: int) -> tuple[NDArray[np.uint32] | None, NDArray[np.uint32]]:
    """Items in order by group (n,), None if they are, and where each group, -1 first, starts in it (g + 2,)."""
    if len(groups) >= LARGEST_ORDER:
        raise ValueError(f"groups must have less than 2**32 items, got {len(groups)}")
    starts = count_starts(groups, n_groups)
    if are_in_order(groups):
        return None, starts[1:]
    return order_by(groups, None, starts), starts[:-1]  # each start has moved on to the next group's


def count_starts(groups: NDArray[Any], n_groups: int) -> NDArray[np.uint32]:
    """Where each group, -1 first, starts, after two zeros (g + 3,)."""
    starts = np.zeros(n_groups + 3, dtype=np.uint32)
    for part in parts_of(len(groups)):
        group_layout.count_groups(groups[part].astype(np.intp), starts[2:])
    return np.cumsum(starts, out=starts)


def are_in_order(groups: NDArray[Any]) -> bool:
    """Whether groups do not fall."""
    for part in parts_of(len(groups)):
        some = groups[part.start : part.stop + 1]
        if (some[1:] < some[:-1]).any():
            return False
    return True


def order_by(
    groups: Any,
    names: NDArray[np.int32] | None,
    starts: NDArray[np.uint32],
    n_jobs: int = 1,
    active: NDArray[np.uint64] | None = None,
) -> NDArray[np.uint32]:
    """Items in order by the names of their groups, all or those whose bit is set; names and starts, which change, as
    those of `lay_out`.
    """
    order = np.empty(int(starts[-1]), dtype=np.uint32)
    ends = starts[2:].copy() if n_jobs > 1 else None

    def work(parts: Iterator[slice], down: bool) -> None:
        for part in parts:
            chunk = np.ascontiguousarray(groups[part], dtype=np.intp)
            some = None if active is None else active[part.start >> 6 : (part.stop + 63) >> 6]
            group_layout.sort_into_groups(chunk, part.start, ends if down else starts[1:], order, down, names, some)

    from_both_ends(work, len(groups), n_jobs)
    return order


def from_both_ends(work: Callable[[Iterator[slice], bool], None], n: int, n_jobs: int) -> None:
    """`work(parts, down)` of parts of n items in order. With several jobs, one thread works from the first part on, and
    another one from the last one back (`down`), until they meet: what goes to places in the order of the items comes to
    the same, wherever that is.
    """
    left = deque(parts_of(n))

    def taken(down: bool) -> Iterator[slice]:
        with suppress(IndexError):  # none is left; to ask first would let the other thread take it
            while True:
                yield left.pop() if down else left.popleft()

    def work_from(down: bool) -> None:
        try:
            work(taken(down), down)
        except BaseException:
            left.clear()  # the other thread begins no part any more
            raise

    work_through(work_from, [False, True] if n_jobs > 1 else [False], n_jobs)
