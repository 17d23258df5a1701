"""Exact sums, and amounts that meet the capacity to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve._core.exact_sum import SCALE, exact_sum
from knapsolve.nefk.shares import absorb

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@settings(deadline=None, max_examples=300)
@given(st.lists(FINITE | st.sampled_from([5e-324, -5e-324, 0.0, -0.0, 2.0**-1022]), max_size=60))
def test_exact_sums_equal_fsum(numbers):
    assert exact_sum(np.array(numbers, dtype=float)) / SCALE == math.fsum(numbers)


def test_exact_sums_of_many_numbers_do_not_overflow():
    numbers = np.full(3_000_000, np.nextafter(1.0, 0.0))
    assert exact_sum(numbers) / SCALE == math.fsum(numbers)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50), st.data())
def test_what_rounding_leaves_goes_to_free_amounts_alone(amounts, data):
    amounts = np.array(amounts) + 1e-3
    free = np.array(data.draw(st.lists(st.booleans(), min_size=amounts.size, max_size=amounts.size)))
    capacity = float(amounts.sum()) * (1 + data.draw(st.sampled_from([0.0, 1e-15, -1e-15, 3e-16])))
    after = absorb(amounts.copy(), capacity, free)
    if free.sum() > 1:
        assert math.fsum(after) == capacity
    if free.any():
        assert (after[~free] == amounts[~free]).all()
    np.testing.assert_allclose(after, amounts, rtol=1e-9)


def test_the_one_free_amount_is_the_only_one_that_changes():
    amounts = np.array([0.01271875, 0.001])
    for e in np.linspace(0, 2e-15, 41):
        after = absorb(amounts.copy(), float(amounts.sum()) * (1 + e), np.array([True, False]))
        assert after[1] == 0.001


@pytest.mark.parametrize("capacity", [1.0, 0.1, 1e-300, 1e300])
def test_a_single_amount_becomes_the_capacity(capacity):
    assert absorb(np.array([capacity * (1 + 1e-15)]), capacity).tolist() == [capacity]
