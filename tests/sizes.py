"""Sizes of a check: what CI runs, and the whole size of a claim."""

import pytest


def slow_and_full(slow, full):
    """Parameters of a test: slow ones, and some that take too long for CI."""
    marks = pytest.mark.slow, pytest.mark.full_size
    return [pytest.param(each, marks=mark) for some, mark in zip((slow, full), marks) for each in some]
