"""Schedulers refuse bad amounts and calls, and go on as before."""

import numpy as np
import pytest

from knapsolve import EDFScheduler, RandomScheduler

nan, inf = float("nan"), float("inf")
BAD_AMOUNTS = [
    [],
    [0.0],
    [0.0, 0.0],
    [nan, 1.0],
    [inf, 1.0],
    [-1.0, 2.0],
    [[1.0]],
    3.0,
    None,
    "ab",
    ["a"],
    [1 + 2j],
    [1e308, 1e308],
    [1e-320],
    {1: 2},
    [None, 1.0],
    [10**400],
    np.array(["2020"], dtype="M8[D]"),
]


@pytest.mark.parametrize("scheduler", [EDFScheduler, RandomScheduler])
@pytest.mark.parametrize("amounts", BAD_AMOUNTS, ids=repr)
def test_bad_amounts_are_refused(scheduler, amounts):
    with pytest.raises((ValueError, TypeError), match="amounts"):
        scheduler(amounts)


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
@pytest.mark.parametrize(
    ("call", "named"),
    [
        *((lambda s, n=n: s.next(n), "n must") for n in (-1, 1.5, None, "1", nan, True, 10**30)),
        *((lambda s, i=i: s.update(i, 1.0), "material") for i in (-1, 2, 0.0, None, "0", 10**30)),
        *((lambda s, x=x: s.update(0, x), "amount") for x in (-1.0, nan, inf, None, "1", [1.0], 10**400, 1e305)),
    ],
)
def test_bad_calls_of_schedulers_are_refused_and_change_nothing(kind, call, named):
    scheduler, other = kind([1.0, 2.0], random_state=0), kind([1.0, 2.0], random_state=0)
    with pytest.raises((ValueError, TypeError), match=named):
        call(scheduler)
    assert scheduler.next(50)[0].tolist() == other.next(50)[0].tolist()
    assert scheduler.amounts.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
def test_amounts_without_a_finite_period_leave_the_clock_finite(kind):
    scheduler = kind([1.0, 5e-324], random_state=0)
    scheduler.next(3)
    scheduler.update(0, 0.0)
    assert scheduler.next(3)[0].tolist() == [1, 1, 1]
    scheduler.update(1, 1e-310)
    assert np.isfinite(scheduler.next(3)[1]).all()
    assert scheduler.amounts.tolist() == [0.0, 1e-301]


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
def test_what_is_passed_in_is_copied(kind):
    amounts = np.array([1.0, 2.0])
    scheduler = kind(amounts, random_state=0)
    scheduler.update(0, 5.0)
    assert amounts.tolist() == [1.0, 2.0]
