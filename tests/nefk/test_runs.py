"""Groups cut into runs: tiles, and groups too large for one."""

import numpy as np
import pytest

import knapsolve._core.group_layout as group_layout
import knapsolve._core.nefk as core
from knapsolve._core.group_layout import move_back, move_to_runs
from knapsolve.nefk.runs import Run, Runs


@pytest.mark.parametrize("largest", [[0, 1], [0, 1, 5, 3000, core.TILE, core.TILE + 1, 40_000]])
def test_tiles_and_large_groups_cover_all_groups_once(largest):
    sizes = np.random.default_rng(2).choice(largest, 20_000 // len(largest))
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    runs = Runs(offset)
    covered = np.concatenate([np.arange(run.first, run.last) for run in runs.every])
    np.testing.assert_array_equal(covered, np.arange(sizes.size))
    tiles = [Run(*row) for row in runs.places]
    assert sorted(tiles + runs.large) == runs.every
    for run in runs.every:
        assert run.end - run.begin == sizes[run.first : run.last].sum()
    assert all(run.end - run.begin <= core.TILE and run.last - run.first <= core.TILE_GROUPS for run in tiles)
    assert all(run.end - run.begin > core.TILE and run.last - run.first == 1 for run in runs.large)
    assert (runs.even is None) == (len(largest) > 2)
    for run in [] if runs.even else tiles:  # as many as fit
        is_full = run.last - run.first == core.TILE_GROUPS or run.last == sizes.size
        assert is_full or offset[run.last + 1] - run.begin > core.TILE
    for run in tiles:
        np.testing.assert_array_equal(runs.starts[run.first : run.last], offset[run.first : run.last] - run.begin)
    assert runs.ungrouped() == sizes[0]
    np.testing.assert_array_equal(runs.sizes(), sizes)
    np.testing.assert_array_equal(runs.sizes(0.3), 0.3 * sizes)
    for most in (0, 1, 16, int(np.median(sizes)), int(sizes.max())):
        assert runs.count_in_long(most) == sizes[1:][sizes[1:] > most].sum()
    some = np.flatnonzero(np.random.default_rng(3).random(sizes.size) < 0.1)
    items, which = runs.items_of(some)
    np.testing.assert_array_equal(items, np.concatenate([np.arange(offset[g], offset[g + 1]) for g in some]))
    np.testing.assert_array_equal(which, np.repeat(np.arange(some.size), sizes[some]))


@pytest.mark.parametrize(("mean", "most"), [(0.0, 8192), (0.5, 8192), (3.0, 5461), (60.0, 273), (900.0, 18), (1e5, 1)])
@pytest.mark.parametrize("ungrouped", [0, 5, core.TILE + 1])
def test_runs_of_groups_of_like_sizes_have_as_many_groups_each(mean, most, ungrouped):
    sizes = np.random.default_rng(0).poisson(mean, 20_000 if mean < 1000 else 20)
    sizes[0] = ungrouped
    offset = np.append(0, np.cumsum(sizes)).astype(np.uint32)
    runs = Runs(offset)
    width, lead = runs.even
    assert 0.7 * most <= width <= most
    assert lead == (width - 1 if ungrouped else 0)
    assert [run.first for run in runs.every] == [0, *range(width - lead, sizes.size, width)]
    assert [run.last for run in runs.every[:-1]] == [run.first for run in runs.every[1:]]
    assert runs.every[-1].last == sizes.size
    for run in runs.every:
        assert (run.begin, run.end) == (offset[run.first], offset[run.last])
        np.testing.assert_array_equal(runs.starts[run.first : run.last], offset[run.first : run.last] - run.begin)
    assert all(run.end - run.begin <= core.TILE for run in runs.every[ungrouped > 0 :]) or width == 1


@pytest.mark.parametrize(
    ("width", "n_runs"), [(1, 2), (1, 2**31 + 1), (3, 2**29), (5461, 7), (8191, 2**18), (8192, 2**18)]
)
def test_one_multiplication_divides_the_numbers_of_groups(width, n_runs):
    multiplier, shift = group_layout.divider(width, n_runs)
    most = (n_runs - 1) * width  # groups
    for quotient in {0, 1, 2, n_runs // 2, n_runs - 1}:
        for k in (quotient * width - 1, quotient * width, quotient * width + width // 2, (quotient + 1) * width - 1):
            if 0 <= k < most + width:
                assert k * multiplier < 2**64
                assert k * multiplier >> shift == k // width


@pytest.mark.parametrize("mean", [0.5, 3.0, 60.0, 900.0])
def test_items_of_long_groups_are_counted(mean):
    sizes = np.random.default_rng(0).poisson(mean, 3000)
    runs = Runs(np.append(0, np.cumsum(sizes)).astype(np.uint32))
    for most in (0, 1, 64, 900):
        assert runs.count_in_long(most) == sizes[1:][sizes[1:] > most].sum()


def uneven(seed):
    """Groups of very different sizes in runs, and of each item, -1 for none."""
    generator = np.random.default_rng(seed)
    n, n_groups = int(10 ** generator.uniform(3, 6)), int(10 ** generator.uniform(0, 5.5))
    shares = np.arange(1, n_groups + 1) ** -generator.uniform(0.0, 1.3)
    sizes = np.bincount(generator.choice(n_groups, n, p=shares / shares.sum()), minlength=n_groups)
    sizes = generator.permutation(sizes)
    runs = Runs(np.append(0, np.cumsum(sizes)).astype(np.uint32), False)
    return runs, generator.permutation(np.repeat(np.arange(n_groups) - 1, sizes))


@pytest.mark.parametrize("seed", range(20))
def test_first_guesses_of_runs_are_those_of_a_search(seed):
    """Of groups of very different sizes, every 2^bits."""
    runs, _ = uneven(seed)
    guesses, firsts, bits, _ = runs._guess()
    begins = np.arange(0, len(runs.starts), 1 << bits)
    np.testing.assert_array_equal(guesses, np.searchsorted(runs.table[:, 0], begins, "right") - 1)
    np.testing.assert_array_equal(firsts[:-1], runs.table[:, 0])


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_items_are_moved_by_guesses_as_by_a_table_and_back(seed, down):
    """All items, and those that are active."""
    runs, groups = uneven(seed)
    n, table = groups.size, np.empty(len(runs.starts), dtype=np.uint32)
    for number, run in enumerate(runs.every):
        table[run.first : run.last] = (number << core.TILE_BITS) + np.arange(run.last - run.first)
    some = np.random.default_rng(seed).random(n) < 0.7
    bits = np.packbits(np.append(some, np.zeros(-n % 64, bool)), bitorder="little").view(np.uint64)
    for active in (None, bits):
        moved, column = [], np.arange(n, dtype=np.float64)
        for entries in (table, runs.guesses):
            to, member, back = np.full(n, np.nan), np.zeros(n, np.uint16), np.full(n, np.nan)
            following = runs.table[:, 3 if down else 2].astype(np.uint32)
            move_to_runs(groups, entries, following.copy(), down, active, (column, to), None, member)
            move_back(groups, entries, following, down, active, (to, back))
            moved.append((to, member, back))
        for one, other in zip(*moved):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(back, column if active is None else np.where(some, column, np.nan))
        if active is None:
            np.testing.assert_array_equal(runs.groups_of(np.arange(n), member), 1 + groups[to.astype(np.intp)])
