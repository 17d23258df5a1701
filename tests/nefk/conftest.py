"""Which cases are slow, and what happened while caps were filled first."""

import math
from collections import defaultdict
from pathlib import Path

import pytest

import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps

BY_DEFAULT = 8  # cases of a test, or some fewer or more


@pytest.hookimpl(tryfirst=True)  # before marks select
def pytest_collection_modifyitems(items):
    """Of a test with many cases here, only so many run by default, with every value of every parameter among them."""
    here, cases = Path(__file__).parent, defaultdict(list)
    for item in items:
        if item.path.parent == here and not any(map(item.get_closest_marker, ("slow", "full_size"))):
            cases[item.path, item.originalname].append(item)
    for some in cases.values():
        stride = max(1, len(some) // BY_DEFAULT)
        while math.gcd(stride, len(some)) > 1:
            stride += 1
        for k, item in enumerate(some):
            if k % stride:
                item.add_marker(pytest.mark.slow)


class Filled(list):
    """Whether caps were filled, and above which price."""

    def __init__(self):
        super().__init__()
        self.above = []


@pytest.fixture
def all_items(monkeypatch):
    """No items are left out where caps are filled: these are groups above the price that is told."""
    monkeypatch.setattr(loose_caps, "price_without_idle", lambda *_: None)


@pytest.fixture
def filled(monkeypatch, all_items):
    """Whether caps were filled first, of every time that this was tried."""
    seen, fill = Filled(), reduced.fill_and_solve

    def spy(problem, layout, between, *args):
        found = fill(problem, layout, between, *args)
        seen.append(found is not None)
        seen.above.append(between[1])
        return found

    monkeypatch.setattr(reduced, "fill_and_solve", spy)
    return seen


@pytest.fixture
def sampled(monkeypatch):
    """No price is known by what caps leave over for the items of no group."""
    monkeypatch.setattr(reduced, "price_beside_caps", lambda *_: math.nan)


@pytest.fixture
def taken_back(monkeypatch):
    """How many items were left after groups were taken back, every time."""
    seen, take = [], tight_caps._take_back

    def spy(*args):
        found = take(*args)
        seen.append(len(found[0]))
        return found

    monkeypatch.setattr(tight_caps, "_take_back", spy)
    return seen
