"""Schedulers may be shared by threads and copied; nobody else writes what they trust."""

import copy
import pickle

import joblib
import numpy as np
import pytest

from knapsolve import EDFScheduler, RandomScheduler
from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import DeadlineOrder
from tests.processes import check_script

KINDS = [EDFScheduler, RandomScheduler]
THREADS = """
import sys, threading
import numpy as np
from knapsolve import EDFScheduler, RandomScheduler
kind, n = {"edf": EDFScheduler, "random": RandomScheduler}[sys.argv[1]], int(sys.argv[2])
amounts = np.random.default_rng(0).pareto(1.5, n) + .1
shared, alone, parts = kind(amounts, random_state=1), kind(amounts, random_state=1), []

def work():
    for k in range(40):
        parts.append(shared.next(20_000))
        shared.update(k, float(amounts[k]))

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
materials, times = map(np.concatenate, zip(*parts))
order = np.lexsort((materials, times))
expected = alone.next(materials.size)
assert (np.bincount(materials) == np.bincount(expected[0])).all()
assert np.allclose(times[order], expected[1], rtol=1e-9)
"""


@pytest.mark.parametrize(("kind", "n"), [("edf", 500), ("edf", 70_000), ("random", 500)])
def test_threads_divide_one_schedule_between_them(kind, n):
    check_script(THREADS, kind, n)


@pytest.mark.parametrize("kind", KINDS)
def test_amounts_are_read_only_to_others(kind):
    scheduler = kind([1.0, 2.0], random_state=0)
    scheduler.amounts[:] = -1.0
    assert scheduler.amounts.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError):
        scheduler.amounts = np.ones(1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 70_000])
def test_a_copy_goes_its_own_way(kind, copied, n):
    one, other = (kind(np.ones(n), random_state=2) for _ in range(2))
    twin = copied(one)
    twin.next(7)
    twin.update(0, 9.0)
    assert one.next(50)[0].tolist() == other.next(50)[0].tolist()
    assert one.amounts[0] == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [300, 70_000])
def test_a_scheduler_mapped_from_a_file_for_reading_goes_on(kind, n, tmp_path):
    one = kind(np.linspace(1, 2, n), random_state=0)
    one.next(7)
    joblib.dump(one, tmp_path / "scheduler")
    mapped = joblib.load(tmp_path / "scheduler", mmap_mode="r")
    for each in (one, mapped):
        each.update(3, 9.0)
    assert one.next(50)[0].tolist() == mapped.next(50)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [5, 70_000])
def test_equal_schedulers_pickle_equally(kind, n):
    one, other = (kind(np.ones(n), random_state=2) for _ in range(2))
    for scheduler in (one, other):
        scheduler.next(100)
        scheduler.update(1, 3.0)
    assert pickle.dumps(one) == pickle.dumps(other)


@pytest.mark.parametrize("n", [5, 70_000])
def test_a_queue_takes_only_memory_of_its_size(n):
    memory = DeadlineOrder.allocate(n)
    for part in range(3):
        short = [array[: array.size - (k == part)] for k, array in enumerate(memory)]
        with pytest.raises(ValueError, match="allocate"):
            DeadlineOrder(n, short)
    order = DeadlineOrder(n, memory)
    with pytest.raises(ValueError, match="materials"):
        order.start(FixedAmounts(np.ones(n - 1)), np.random.default_rng(0))
    order.start(FixedAmounts(np.ones(n)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="times"):
        order.serve(FixedAmounts(np.ones(n)), np.empty(3, dtype=np.intp), np.empty(2))
    with pytest.raises(IndexError, match="material"):
        order.insert(n, 1.0)
