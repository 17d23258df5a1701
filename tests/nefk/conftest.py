"""Which cases are slow, and what happened while caps were filled first."""

import math
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps

BY_DEFAULT = 8  # cases of a test


@pytest.hookimpl(tryfirst=True)  # before marks select
def pytest_collection_modifyitems(config, items):
    """Of a test with many cases here, only so many run by default, or as many more as it takes to have every value of a
    parameter among them, if these are no more; all that are named one by one.
    """
    here, cases = Path(__file__).parent, defaultdict(list)
    for item in items if not any("::" in arg for arg in config.args) else []:
        if item.path.parent == here and not any(map(item.get_closest_marker, ("slow", "full_size"))):
            cases[item.parent.nodeid, item.originalname].append(item)
    for some in cases.values():
        if len(some) > BY_DEFAULT:
            values = [set(item.callspec.indices.items()) for item in some]
            counts = Counter(name for name, _ in set.union(*values))
            missing = {each for each in set.union(*values) if counts[each[0]] <= BY_DEFAULT}
            for k, item in enumerate(some):
                if k * BY_DEFAULT % len(some) < BY_DEFAULT or values[k] & missing:
                    missing -= values[k]
                else:
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
    seen, take = [], tight_caps.take_back

    def spy(*args):
        found = take(*args)
        seen.append(len(found[0]))
        return found

    monkeypatch.setattr(tight_caps, "take_back", spy)
    return seen
