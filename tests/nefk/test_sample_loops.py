"""Loops over what sampled groups take, beside numpy."""

import numpy as np
import pytest

from knapsolve._core.group_samples import shrink_to_mean, sums_under_caps


@pytest.mark.parametrize("seed", range(5))
def test_sums_under_caps_are_those_of_numpy(seed):
    """T, its slope and what caps hold, of all; and of some groups each one's, and these along weights."""
    generator = np.random.default_rng(seed)
    taken, caps = generator.exponential(size=(41, 2)), generator.exponential(size=40)
    caps[:4] = 0.0, np.inf, taken[3, 0], np.nextafter(taken[4, 0], 0.0)
    some, weights = np.flatnonzero(generator.random(40) < 0.6), generator.normal(size=40)
    under, total = np.empty(some.size), np.minimum(taken[1:, 0], caps)
    found = sums_under_caps(taken, caps, some, weights[: some.size], under)
    np.testing.assert_array_equal(under, total[some])
    is_held = taken[1:, 0] > caps
    assert is_held[3] and not is_held[2]
    expected = [total.sum(), taken[1:, 1][~is_held].sum(), caps[is_held].sum(), under.sum()]
    assert found == pytest.approx([*expected, under @ weights[: some.size]], rel=1e-12)


def shrunk(column, which, sampled, sizes, trust):
    """Means of groups brought to the mean of all, as far as they are not trusted, times sizes."""
    mean, own = column[which].sum() / sampled.sum(), column[which] / np.maximum(sampled, 1.0)
    return sizes * (mean + trust * (own - mean))


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("within", [0.0, 0.5, 30.0])
def test_groups_are_brought_to_the_mean_as_far_as_chance_explains_them(within, spread):
    """By DerSimonian and Laird's estimate of what truly differs; where chance explains all, entirely."""
    generator = np.random.default_rng(7)
    which, sampled = np.array([2, 3, 5, 8]), np.array([12.0, 0.0, 40.0, 25.0])
    means = np.exp(spread * generator.normal(size=4))
    taken = generator.exponential(size=(10, 2))
    taken[which] = (sampled * means)[:, np.newaxis] * [1.0, 3.0]
    before, sizes, trust = taken.copy(), generator.uniform(10.0, 90.0, 4), np.empty(4)
    assert shrink_to_mean(taken, which, sampled, sizes, within, trust)
    n, mean = sampled.sum(), before[which, 0].sum() / sampled.sum()
    heard = within * mean**2
    more = (sampled * (before[which, 0] / np.maximum(sampled, 1.0) - mean) ** 2).sum() - heard * 2
    between = max(more, 0.0) / (n - (sampled**2).sum() / n)
    expected = sampled * between / (sampled * between + heard) if within else np.sign(sampled)
    np.testing.assert_allclose(trust, expected, rtol=1e-12)
    for column in range(2):
        own = shrunk(before[:, column], which, sampled, sizes, expected)
        np.testing.assert_allclose(taken[which, column], own, rtol=1e-12)
    others = np.setdiff1d(np.arange(10), which)
    np.testing.assert_array_equal(taken[others], before[others])


@pytest.mark.parametrize("scale", [1e101, 1e-101, 0.0, np.inf])
def test_groups_of_which_squares_would_overflow_stay(scale):
    """And nothing is said of how far they are trusted."""
    taken = np.full((4, 2), scale)
    before = taken.copy()
    assert not shrink_to_mean(taken, np.array([1, 2]), np.full(2, 3.0), np.full(2, 9.0), 0.5, np.empty(2))
    np.testing.assert_array_equal(taken, before)
