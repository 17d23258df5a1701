"""Selection of the top sites, and the sort of their numbers, against numpy's stable sort."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve._core.top_sites import top_sites


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 5000), st.floats(0, 1), st.integers(1, 50), st.integers(0, 2**32))
def test_top_sites_are_those_of_a_stable_sort(n, share, n_keys, seed):
    keys = np.random.default_rng(seed).integers(0, n_keys, n).astype(float)
    m = max(1, round(share * n))
    expected = np.sort(np.argsort(-keys, kind="stable")[:m])
    assert np.array_equal(top_sites(keys, m), expected)


def test_sorted_reversed_and_infinite_keys():
    n = 20000
    for keys in (np.arange(n, dtype=float), np.arange(n, 0.0, -1), np.zeros(n), np.full(n, np.inf)):
        expected = np.sort(np.argsort(-keys, kind="stable")[:777])
        assert np.array_equal(top_sites(keys, 777), expected)


def test_site_numbers_beyond_two_radix_digits_are_sorted():
    keys = np.zeros(5_000_000)
    chosen = np.random.default_rng(0).choice(keys.size, 3000, replace=False)
    keys[chosen] = 1.0
    assert np.array_equal(top_sites(keys, 3000), np.sort(chosen))
