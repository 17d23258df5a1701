"""Learners written in Python whose amounts are zero for a time: nobody is lost."""

import numpy as np
import pytest

from knapsolve import simulate
from tests.core.test_python_roles import Odd


class Sleepers(Odd):
    """Amounts that are zero for a time, here for all materials from `since` on, or by turns."""

    def __init__(self, amount):
        super().__init__("none", 0, None)
        self.amount_at, self.seen, self.polled = amount, 0, []

    def amount(self, i):
        return self.amount_at(i, self.seen)

    def observe(self, i, elapsed, changed):
        self.seen += 1

    def poll(self, i, time, amount):
        self.polled.append(i)
        return 0, 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "every"), [(3, None), (3, 7), (70_000, None)])
def test_a_material_whose_amount_was_zero_comes_back(n, every):
    """In the tournament and in the calendar; neither from the start nor later is it lost, recorded often or not."""
    late = Sleepers(lambda i, seen: 1.0 if i < 2 or (i == n - 1 and not 10 <= seen < 20) else 0.0)
    late.n_materials, n_polls = n, 3 * n + 300
    simulate(late, late, n_polls, record_every=every, random_state=0)
    counts = np.bincount(late.polled[n + 20 :], minlength=n)
    assert counts[[0, 1, n - 1]] == pytest.approx([(n_polls - n - 20) / 3] * 3, abs=2 + n / 6)
    assert counts.sum() == counts[[0, 1, n - 1]].sum()


def test_materials_may_take_turns():
    turns = Sleepers(lambda i, seen: float(seen // 10 % 2 == i))
    turns.n_materials = 2
    simulate(turns, turns, 100, random_state=0)
    assert turns.polled == [k // 10 % 2 for k in range(100)]


@pytest.mark.parametrize("n", [3, pytest.param(70_000, marks=pytest.mark.slow)])
def test_all_may_fall_asleep_at_once_while_another_wakes(n):
    """The one that waits for its turn has no amount any more when that comes."""
    turns = Sleepers(lambda i, seen: float(i < 2 if seen < 2 else i == n - 1))
    turns.n_materials = n
    simulate(turns, turns, 20, random_state=0)
    assert sorted(turns.polled[:2]) == [0, 1] or turns.polled[0] == turns.polled[1]
    assert turns.polled[2:] == [n - 1] * 18


def test_all_amounts_zero_ends_a_simulation():
    spent = Sleepers(lambda i, seen: float(seen < 5))
    spent.n_materials = 2
    with pytest.raises(ValueError, match="all amounts are zero after 5 polls"):
        simulate(spent, spent, 100, random_state=0)
