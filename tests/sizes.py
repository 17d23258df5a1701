"""Sizes of a check: what CI runs, and the whole size of a claim."""

import pytest


def slow_and_full(slow, full):
    """Parameters of a test, tuples of several: slow ones, and some that take too long for CI."""
    marked = [(each, pytest.mark.slow) for each in slow] + [(each, pytest.mark.full_size) for each in full]
    return [pytest.param(*each if isinstance(each, tuple) else (each,), marks=mark) for each, mark in marked]
