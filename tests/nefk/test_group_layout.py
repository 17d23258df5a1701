"""Counting, listing and looking up the groups of items."""

import numpy as np
import pytest

import knapsolve._core.group_layout as group_layout


@pytest.mark.parametrize("n_groups", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_ranks_among_chosen_groups_are_those_of_a_search(n_groups, share):
    generator = np.random.default_rng(n_groups)
    chosen = np.flatnonzero(generator.random(n_groups) < share)
    known = generator.permutation(np.append(np.repeat(chosen, 2), [-1, -1, -1]))
    ranks = np.empty_like(known)
    group_layout.ranks_among(chosen, known, n_groups, ranks)
    np.testing.assert_array_equal(ranks, np.where(known < 0, -1, np.searchsorted(chosen, known)))


@pytest.mark.parametrize("or_none", [False, True])
@pytest.mark.parametrize("n_groups", [40, 3000])
def test_items_are_counted_and_sampled_alike_in_tables_of_single_bytes(n_groups, or_none):
    """Sizes from none to many times 256, in parts."""
    generator, n, every = np.random.default_rng(3), 100_000, 7
    groups = np.minimum(generator.geometric(20 / n_groups, n) - 1, n_groups) - 1
    (plain, count), rest = np.zeros((2, n_groups + 1), np.uint32), np.zeros(n_groups + 1, np.uint8)
    for part in np.array_split(np.arange(n), 5):
        where, here = np.ascontiguousarray(groups[part], dtype=np.intp), (part[0], every, 512, or_none)
        lists = np.empty((2, 2, part.size + 1), dtype=np.intp)
        m = group_layout.count_and_sample(where, plain, *here, lists[0])
        assert group_layout.count_and_sample(where, count, *here, lists[1], rest) == m
        np.testing.assert_array_equal(lists[1, :, :m], lists[0, :, :m])
        np.testing.assert_array_equal(lists[0, 1, :m], groups[lists[0, 0, :m]])
        np.testing.assert_array_equal(count + rest, plain)
    np.testing.assert_array_equal(plain, np.bincount(groups + 1, minlength=n_groups + 1))
    assert plain.max() > 512


@pytest.mark.parametrize("bits", [1, 5, 9])
@pytest.mark.parametrize("or_none", [False, True])
def test_blocks_of_groups_are_counted_and_sampled_alike(bits, or_none):
    generator, n, n_groups, every = np.random.default_rng(3), 100_000, 40_001, 7
    groups = generator.integers(0, n_groups, n)
    groups[::50] = -1
    plain, count = np.zeros(n_groups + 1, np.uint32), np.zeros(((n_groups - 1) >> bits) + 2, np.uint32)
    lists, used = np.empty((2, 2, n + 1), dtype=np.intp), np.zeros(n_groups + 1, dtype=np.int8)
    m = group_layout.count_and_sample(groups, plain, 0, every, n, or_none, lists[0])
    assert group_layout.count_blocks_and_sample(groups, count, used, bits, 0, every, or_none, lists[1]) == m
    np.testing.assert_array_equal(used, plain > 0)
    assert not used.all()
    np.testing.assert_array_equal(lists[1, :, :m], lists[0, :, :m])
    np.testing.assert_array_equal(count[1:], np.add.reduceat(plain[1:], np.arange(0, n_groups, 1 << bits)))
    assert count[0] == plain[0] > 0


@pytest.mark.parametrize("with_ungrouped", [False, True])
@pytest.mark.parametrize("bits", [0, 3])
@pytest.mark.parametrize("n", [1, 64, 1000])
def test_active_items_are_counted_and_idle_ones_of_kept_groups_listed(n, bits, with_ungrouped):
    """By adding them, and by taking the others away from a count of all; bits beyond the last do not matter."""
    generator = np.random.default_rng(n)
    groups, is_active = generator.integers(-1, 50, n), generator.random(n) < 0.4
    is_kept = generator.random(51) < 0.3
    bytes_ = np.zeros((n + 63) // 64 * 8, dtype=np.uint8)
    bytes_[: (n + 7) // 8] = np.packbits(is_active, bitorder="little")
    active = bytes_.view("<u8").astype(np.uint64)
    if with_ungrouped:
        group_layout.mark_ungrouped(groups, active)
    is_active |= with_ungrouped & (groups < 0)
    blocks = np.where(groups < 0, 0, 1 + (groups >> bits))
    few, counts = (np.bincount(x, minlength=2 + (49 >> bits)).astype(np.uint32) for x in (blocks[is_active], blocks))
    assert group_layout.count_marked(groups, active, True, counts, bits) == n - is_active.sum()
    np.testing.assert_array_equal(counts, few)
    counts[:] = 7
    assert group_layout.count_marked(groups, active, False, counts, bits) == is_active.sum()
    np.testing.assert_array_equal(counts, 7 + few)
    found = np.empty(n + 1, dtype=np.uint32)
    listed = group_layout.list_others(groups, 7, np.packbits(is_kept, bitorder="little"), active, found)
    np.testing.assert_array_equal(found[:listed], 7 + np.flatnonzero(is_kept[groups + 1] & ~is_active))
