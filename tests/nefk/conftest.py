"""What happened while caps were filled first."""

import math

import pytest

import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps


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
