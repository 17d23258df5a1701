"""Groups cut into runs: tiles, and groups too large for one."""

import numpy as np
import pytest

import knapsolve._core.nefk as core
from knapsolve.nefk.runs import Runs


@pytest.mark.parametrize("largest", [[0, 1], [0, 1, 5, 3000, core.TILE, core.TILE + 1, 40_000]])
def test_tiles_and_large_groups_cover_all_groups_once(largest):
    sizes = np.random.default_rng(2).choice(largest, 20_000 // len(largest))
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    runs = Runs(offset)
    covered = np.concatenate([np.arange(run.first, run.last) for run in runs.every])
    np.testing.assert_array_equal(covered, np.arange(sizes.size))
    assert sorted(runs.tiles + runs.large) == runs.every
    for run in runs.every:
        assert run.end - run.begin == sizes[run.first : run.last].sum()
    assert all(run.end - run.begin <= core.TILE and run.last - run.first <= core.TILE_GROUPS for run in runs.tiles)
    assert all(run.end - run.begin > core.TILE and run.last - run.first == 1 for run in runs.large)
    for run in runs.tiles:  # as many as fit
        is_full = run.last - run.first == core.TILE_GROUPS or run.last == sizes.size
        assert is_full or offset[run.last + 1] - run.begin > core.TILE
        np.testing.assert_array_equal(runs.starts[run.first : run.last], offset[run.first : run.last] - run.begin)
    assert runs.ungrouped() == sizes[0]
    np.testing.assert_array_equal(np.concatenate([found for _, found in runs.sizes()]), sizes)
    for most in (0, 1, 16, int(np.median(sizes)), int(sizes.max())):
        assert runs.count_in_long(most) == sizes[1:][sizes[1:] > most].sum()
    some = np.flatnonzero(np.random.default_rng(3).random(sizes.size) < 0.1)
    items, which = runs.items_of(some)
    np.testing.assert_array_equal(items, np.concatenate([np.arange(offset[g], offset[g + 1]) for g in some]))
    np.testing.assert_array_equal(which, np.repeat(np.arange(some.size), sizes[some]))


@pytest.mark.parametrize("mean", [0.5, 3.0, 60.0, 900.0])
def test_items_of_long_groups_are_counted(mean):
    sizes = np.random.default_rng(0).poisson(mean, 3000)
    runs = Runs(np.append(0, np.cumsum(sizes)).astype(np.uint32))
    for most in (0, 1, 64, 900):
        assert runs.count_in_long(most) == sizes[1:][sizes[1:] > most].sum()
