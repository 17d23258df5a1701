"""Loops over tables by group against numpy."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import knapsolve._core.group_tables as group_tables
import knapsolve.nefk.kept_groups as kept_groups

SIZES = [1, 3, 511, 512, 513, 5000]


@pytest.fixture
def generator():
    return np.random.default_rng(0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("groups", SIZES)
def test_sums_under_caps_are_those_of_numpy(kind, groups):
    generator = np.random.default_rng(groups)
    table = np.exp(generator.normal(0, 9, (groups + 1, 2)))  # columns of a table do not lie side by side
    total, slope, caps = table[:, 0], table[:, 1].astype(kind), np.exp(generator.normal(0, 9, groups))
    total[1::7], caps[::3], caps[5::11] = np.inf, np.inf, 0.0
    total[1::21] = 1.0  # no more is taken than is finite, where there is no cap
    total[1:] = np.where(np.isinf(caps) & np.isinf(total[1:]), 2.0, total[1:])
    over = total[1:] > caps
    held = math.fsum(caps[over])
    expected = (
        total[0] + math.fsum(np.minimum(total[1:], caps)),
        float(slope[0]) + math.fsum(slope[1:][~over].astype(float)),
        held,
    )
    assert group_tables.capped_sums(total, slope, caps) == pytest.approx(expected, rel=1e-12)
    sums = group_tables.capped_sums(np.ascontiguousarray(total), slope, caps)
    assert sums == pytest.approx(expected, rel=1e-12)
    assert group_tables.capped_sums(total, None, caps) == (sums[0], 0.0, sums[2])


@pytest.mark.parametrize("groups", SIZES)
def test_sums_of_pairs_in_single_precision_are_those_of_their_columns(groups, generator):
    pairs, caps = generator.random((groups + 1, 2)).astype(np.float32), generator.random(groups)
    columns = [np.ascontiguousarray(column, dtype=np.float64) for column in pairs.T]
    ours, theirs = pairs.T, columns
    assert group_tables.capped_sums(*ours, caps) == group_tables.capped_sums(*theirs, caps)
    assert group_tables.not_surely_capped(ours[0], caps) == group_tables.not_surely_capped(theirs[0], caps)
    marks = np.zeros((2, groups + 1), np.int8)
    for (total, slope), capped in zip((ours, theirs), marks):
        group_tables.mark_surely(total, slope, caps, 0.1, capped)
    np.testing.assert_array_equal(*marks)
    assert groups < 20 or 0 < marks[0].sum() < groups


@pytest.mark.parametrize("groups", SIZES)
def test_sums_of_marked_caps_leave_out_infinite_ones_and_keep_those_that_count(groups, generator):
    caps, marks = generator.random(groups), generator.integers(-1, 3, groups).astype(np.int8)
    caps[marks != 1] = np.inf
    assert group_tables.sum_marked(caps, marks) == pytest.approx(math.fsum(caps[marks == 1]), rel=1e-14)
    caps[0], marks[0] = np.inf, 1
    assert group_tables.sum_marked(caps, marks) == np.inf


@pytest.mark.parametrize("groups", [*SIZES, 8, 511, 513])
def test_sums_of_all_caps_are_those_of_caps_that_are_all_marked(groups, generator):
    caps = generator.random(groups)
    total = group_tables.sum_marked(caps, None)
    assert total == group_tables.sum_marked(caps, np.ones(groups, np.int8))
    assert total == pytest.approx(math.fsum(caps), rel=1e-14)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("groups", SIZES)
def test_guesses_and_marks_are_those_of_numpy(kind, groups, generator):
    total, caps, slope = generator.random(groups + 1), generator.random(groups), generator.random(groups + 1)
    caps[::5], capped = 0.0, np.zeros(groups + 1, np.int8)
    group_tables.mark_surely(total, slope.astype(kind), caps, 0.3, capped)
    np.testing.assert_array_equal(capped[1:], total[1:] - caps > 0.3 * slope[1:])
    assert capped[0] == 0
    tiny = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], np.float32)  # what was less than single precision holds
    group_tables.mark_surely(*tiny.T, np.array([1e-47, 2.0]), 0.3, lost := np.ones(3, np.int8), 0.0, 0.0)
    np.testing.assert_array_equal(lost, [3, 0, 3])
    falling = np.zeros_like(capped)
    group_tables.mark_surely(total, slope.astype(kind), caps, 0.3, falling, 0.0, 0.0)
    np.testing.assert_array_equal(falling, np.where(total <= np.append(np.inf, caps), 3, capped))
    rising = np.zeros_like(capped)
    group_tables.mark_surely(total, slope.astype(kind), caps, 0.3, rising, 0.0, 0.2)
    beyond = np.append(0.0, total[1:] + 0.2 * slope[1:])
    np.testing.assert_array_equal(rising, np.where(beyond <= np.append(np.inf, caps), 3, capped))
    begins = np.outer(2.0 ** np.arange(group_tables.LINES // 8), 1.0 + np.arange(8) / 8.0).ravel()
    ends = np.append(begins[1:], 2.0 * begins[-8])
    prices = np.append(2.0, 2.0 + np.cumsum(generator.random(begins.size)))
    slopes = np.diff(prices) / (ends - begins)
    lines = np.column_stack([prices[:-1] - slopes * begins, slopes])

    def guesses(taken):
        with np.errstate(divide="ignore"):
            return np.where(taken > caps, np.interp(taken / caps, np.append(begins, ends[-1]), prices), np.nan)

    pairs = np.column_stack([total, slope]).astype(np.float32)
    expected, others = guesses(total[1:]), np.empty(groups + 1)
    group_tables.guess_along(total, caps, lines, others, loose=0.5)
    np.testing.assert_allclose(others, np.append(0.5, np.where(np.isnan(expected), 0.5, expected)), rtol=1e-13)
    group_tables.guess_along(total, caps, lines, total)
    np.testing.assert_allclose(total[1:], expected, rtol=1e-13)
    over, expected = pairs.view(np.float64)[:, 0], guesses(pairs[1:, 0])  # guesses lie over the pairs
    group_tables.guess_along(pairs[:, 0], caps, lines, over)
    np.testing.assert_allclose(over[1:], expected, rtol=1e-13)
    with pytest.raises(ValueError, match="lines must have the shape"):
        group_tables.guess_along(total, caps, lines[1:], total)
    own, marks = total.copy(), generator.integers(0, 4, groups + 1).astype(np.int8)
    group_tables.take_marked(own, marks, 9.0)
    np.testing.assert_array_equal(own, np.where(marks % 3, np.where(np.isnan(total), 9.0, total), np.nan))


@pytest.mark.parametrize("upper", [0.3, np.inf])
@pytest.mark.parametrize("groups", SIZES)
def test_the_most_that_groups_take_and_where_they_start(upper, groups, generator):
    sizes, caps = generator.integers(0, 4, groups).astype(np.uint32), generator.random(groups)
    with np.errstate(invalid="ignore"):
        most = np.where(sizes > 0, np.minimum(sizes * upper, caps), 0.0)
    assert group_tables.most_under_caps(sizes, upper, caps) == pytest.approx(math.fsum(most), rel=1e-14)
    starts = np.empty(groups + 1, np.uint32)
    group_tables.starts_of(sizes, 100 + sizes.sum(), starts)
    np.testing.assert_array_equal(starts, 100 + np.append(0, np.cumsum(sizes)))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.4, 1.0])
@pytest.mark.parametrize("groups", [*SIZES, 300_000])
def test_kept_groups_are_split_off_named_and_put_back(share, groups, generator):
    caps, taken, kept = generator.random(groups) + 1.0, generator.random((groups + 1, 2)), np.empty(groups, bool)
    are_capped = generator.random(groups) < share
    taken[1:, 0] = np.where(are_capped, 1.5, 0.5) * caps
    given = taken.copy()
    k, *others = group_tables.keep_capped(taken, caps, 1.0, kept.view(np.uint8), 2)
    np.testing.assert_array_equal(kept, are_capped)
    assert k == kept.sum()
    assert others == pytest.approx(given[0] + [math.fsum(column) for column in given[1:][~kept].T], rel=1e-14)
    expected = np.vstack([others, given[1:][kept]])
    totals, slopes = kept_groups.split(taken, kept, k, others)
    np.testing.assert_array_equal(totals, expected[:, 0])
    np.testing.assert_array_equal(slopes, expected[:, 1].astype(np.float32))
    names = kept_groups.names_of(kept, 2)
    np.testing.assert_array_equal(names, np.append(-1, np.where(kept, np.cumsum(kept) - 1, -1)))
    np.testing.assert_array_equal(kept_groups.take(caps, kept, k), caps[kept])
    out = kept_groups.put_back(expected[1:, 0].copy(), kept, 2)
    np.testing.assert_array_equal(out, np.where(kept, given[1:, 0], np.nan))


EVERY_LEVEL = """
import numpy as np
import knapsolve._core.group_tables as group_tables
generator = np.random.default_rng(0)
pairs = np.exp(generator.normal(0, 3, (1501, 2)))
total, slope = pairs.T
caps, sizes = np.exp(generator.normal(0, 3, 1500)), generator.integers(0, 4, 1500).astype(np.uint32)
singles, marks = pairs.astype(np.float32), np.zeros(1501, np.int8)
lines = generator.random((group_tables.LINES, 2))
for given in (pairs.T, pairs.T.copy(), singles.T, (total.copy(), slope.astype(np.float32))):
    print(*(x.hex() for x in group_tables.capped_sums(*given, caps)))
    print(group_tables.not_surely_capped(given[0], caps).hex(), group_tables.most_under_caps(sizes, 0.7, caps).hex())
    group_tables.mark_surely(*given, caps, 0.3, marks)
    own = np.empty(1501)
    group_tables.guess_along(given[0], caps, lines, own)
    print(marks.tobytes().hex(), own[1:].tobytes().hex())
kept = np.empty(1500, np.uint8)
k, *others = group_tables.keep_capped(pairs, caps, 0.9, kept)
print(k, others[0].hex(), others[1].hex(), kept.tobytes().hex())
print(group_tables.vector_level())
"""


@pytest.mark.slow
def test_every_vector_width_gives_the_same_bits():
    answers, highest = [], group_tables.vector_level()
    for level in range(highest + 1):
        answers.append(
            subprocess.run(
                [sys.executable, "-c", EVERY_LEVEL],
                env=os.environ | {"KNAPSOLVE_CPU_LEVEL": str(level)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
        )
        assert int(answers[-1].pop()) == level
    assert len(answers[0]) == 13
    assert all(answer == answers[0] for answer in answers)
