"""The order of items by group: from both ends, and where they lie in it already."""

import threading
import time

import numpy as np
import pytest

from knapsolve.nefk.group_order import from_both_ends, order_by, sort_by_group
from knapsolve.nefk.passes import CHUNK


def test_sorting_is_stable_and_counts_every_item():
    groups = np.random.default_rng(1).integers(-1, 7, 100_000)
    order, offset = sort_by_group(groups, 7)
    np.testing.assert_array_equal(order, np.argsort(groups, kind="stable"))
    np.testing.assert_array_equal(np.diff(offset), np.bincount(groups + 1, minlength=8))


@pytest.mark.parametrize("are_named", [False, True])
@pytest.mark.parametrize("n", [1, 32_768, 32_769, 300_001])
def test_items_sorted_from_both_ends_are_in_the_same_order(n, are_named):
    groups = np.random.default_rng(3).integers(-1, 1000, n)
    names = np.r_[-1, np.where(np.arange(1000) % 3, -1, np.arange(1000) // 3)].astype(np.int32) if are_named else None
    own = names[groups + 1] if are_named else groups
    sizes = np.bincount(own + 1, minlength=1001)
    starts = np.append([0, 0], np.cumsum(sizes)).astype(np.uint32)
    for jobs in (1, 2, 3):
        order = order_by(groups, names, starts.copy(), jobs)
        np.testing.assert_array_equal(order, np.argsort(own, kind="stable"))


@pytest.mark.parametrize("faults_down", [False, True])
def test_after_an_error_at_one_end_no_part_is_begun_at_the_other(faults_down):
    begun, both = [], threading.Barrier(2, timeout=30)

    def work(parts, down):
        for part in parts:
            begun.append(part)
            if len(begun) <= 2:
                both.wait()
            if down is faults_down:
                raise KeyboardInterrupt
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        from_both_ends(work, 100 * CHUNK, 2)
    assert len(begun) <= 4  # of a hundred


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_items_in_order_are_not_sorted(dtype):
    order, offset = sort_by_group(np.repeat(np.arange(5, dtype=dtype), 20_000), 6)
    assert order is None
    np.testing.assert_array_equal(offset, [0, 0, 20_000, 40_000, 60_000, 80_000, 100_000, 100_000])
