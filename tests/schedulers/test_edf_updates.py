"""EDF under any sequence of calls equals a heap of Python integers, in both queues."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import EDFScheduler
from knapsolve._core.schedulers import DeadlineOrder
from knapsolve.schedulers import edf
from tests.schedulers.edf_twin import ScheduleTwin


class Calendar(DeadlineOrder):
    """The queue for many materials, at any number of them."""

    @staticmethod
    def allocate(n):
        return DeadlineOrder.allocate(n, True)


class Tournament(DeadlineOrder):
    """The queue for few materials, at any number of them."""

    @staticmethod
    def allocate(n):
        return DeadlineOrder.allocate(n, False)


QUEUES = pytest.mark.parametrize("queue", [Tournament, Calendar])


def make(queue, amounts, seed=0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edf, "DeadlineOrder", queue)
        return EDFScheduler(amounts, random_state=seed)


def assert_equal_polls(scheduler, twin, n):
    materials, times = scheduler.next(n)
    expected = [poll for poll in (twin.next() for _ in range(n)) if poll]
    assert materials.tolist() == [i for i, _ in expected]
    assert times.tolist() == pytest.approx([t for _, t in expected], rel=1e-12)


AMOUNT = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 3.0]) | st.floats(1e-3, 1e3)
EXTREME = AMOUNT | st.sampled_from([1e-300, 1e-30, 1e-13, 2.0**-43, 2.0**40, 1e15, 1e200])
CALL = st.one_of(
    st.tuples(st.just("next"), st.integers(0, 60), st.none()),
    st.tuples(st.just("update"), st.integers(0, 2**30), EXTREME),
    st.tuples(st.sampled_from(["pickle", "copy"]), st.none(), st.none()),
)


@QUEUES
@settings(deadline=None, max_examples=100)
@given(st.lists(AMOUNT, min_size=1, max_size=40).filter(any), st.integers(0, 2**32), st.lists(CALL, max_size=40))
def test_any_sequence_of_calls_equals_a_heap(queue, amounts, seed, calls):
    scheduler, twin = make(queue, amounts, seed), ScheduleTwin(amounts, seed)
    for name, k, x in calls:
        if name == "next":
            assert_equal_polls(scheduler, twin, k)
        elif name == "update":
            scheduler.update(k % len(amounts), x)
            twin.update(k % len(amounts), x)
        else:
            scheduler = pickle.loads(pickle.dumps(scheduler)) if name == "pickle" else copy.copy(scheduler)
    assert_equal_polls(scheduler, twin, 100)


@QUEUES
@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_polls_under_updates_equal_a_heap(queue, seed):
    rng, n = np.random.default_rng(seed), [1, 2, 17, 64, 65, 1025][seed]
    amounts = rng.pareto(1.0, n) + 0.01
    scheduler, twin = make(queue, amounts, seed), ScheduleTwin(amounts, seed)
    for _ in range(40):
        for _ in range(int(rng.integers(20))):
            i, x = int(rng.integers(n)), float(rng.choice([0.0, rng.pareto(1.0) * 2.0 ** rng.integers(-50, 50), 1.0]))
            scheduler.update(i, x)
            twin.update(i, x)
        assert_equal_polls(scheduler, twin, int(rng.integers(1_000)))


@QUEUES
def test_a_newcomer_never_comes_before_a_poll_already_served(queue):
    scheduler, last = make(queue, [1.0] * 40 + [0.0]), 0.0
    for _ in range(300):
        last = scheduler.next(7)[1][-1]
        scheduler.update(40, 1e6)
        materials, times = scheduler.next(1)
        assert materials[0] == 40
        assert last <= times[0] <= last + 1e-6
        scheduler.update(40, 0.0)


@QUEUES
def test_newcomers_enter_at_phases_of_their_own(queue):
    n = 3_000
    scheduler = make(queue, [1.0] + [0.0] * n)
    for i in range(1, n + 1):
        scheduler.update(i, 1.0)
    materials, times = scheduler.next(n + 1)
    first = times[materials > 0]
    assert np.unique(materials).size == n + 1
    assert np.unique(first).size == n
    assert abs(first.mean() - 0.5) < 0.03


@QUEUES
def test_materials_passed_over_do_not_move_the_clock(queue):
    scheduler = make(queue, [1.0, 1e-6])
    last = scheduler.next(10)[1][-1]
    for i in (0, 1):
        scheduler.update(i, 0.0)
    assert scheduler.next(1)[0].size == 0
    scheduler.update(0, 1.0)
    assert last < scheduler.next(1)[1][0] <= last + 1.0


@QUEUES
@pytest.mark.parametrize("exponent", [-900, -60, -40, -13, 13, 40, 60, 900])
def test_frequencies_stay_right_when_amounts_change_by_any_factor(queue, exponent):
    amounts = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    scheduler = make(queue, amounts)
    start = scheduler.next(500)[1][-1]
    for changed in (0.0 * amounts, amounts * 2.0**exponent):
        assert scheduler.next(1)[0].size == (1 if changed.any() == 0 else 0)
        for i, x in enumerate(changed):
            scheduler.update(i, x)
    assert_frequencies(scheduler, amounts * 2.0**exponent, start)


@QUEUES
@pytest.mark.parametrize("exponent", [-900, -60, -40, -13])
def test_frequencies_stay_right_when_amounts_fall_while_all_are_waiting(queue, exponent):
    amounts = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    scheduler = make(queue, amounts)
    start = scheduler.next(500)[1][-1]
    for i, x in enumerate(amounts):
        scheduler.update(i, x * 2.0**exponent)
    scheduler.next(50)  # at the deadlines that they had
    assert_frequencies(scheduler, amounts * 2.0**exponent, start)


def assert_frequencies(scheduler, amounts, start):
    """Polls come in time order, in proportion to the amounts, from `start` on."""
    materials, times = scheduler.next(50_000)
    assert times[0] >= start
    assert (np.diff(times) >= 0).all()
    counts = np.bincount(materials, minlength=amounts.size)
    assert abs(counts - materials.size * amounts / amounts.sum()).max() <= 2


@QUEUES
def test_frequencies_stay_right_through_growth_step_by_step(queue):
    amounts = np.array([1.0, 2.0, 3.0])
    scheduler = make(queue, amounts)
    for _ in range(100):
        amounts *= 3.0
        for i, x in enumerate(amounts):
            scheduler.update(i, x)
        scheduler.next(20)
    scheduler.next(1_000)
    counts = np.bincount(scheduler.next(60_000)[0])
    assert abs(counts - [10_000, 20_000, 30_000]).max() <= 2


@QUEUES
def test_ties_of_all_materials_are_served_in_order_for_ever(queue):
    """All deadlines tie exactly: a poll from a bucket of all materials must not search them all."""
    n = 200_000
    amounts = np.ones(n)
    order = queue(n, queue.allocate(n))
    learner = edf.FixedAmounts(amounts)
    order.start(edf.FixedAmounts(np.zeros(n)), np.random.default_rng(0))
    for i in np.random.default_rng(1).permutation(n).tolist():
        order.insert(i, 0.0)
    materials, times = np.empty(5 * n, dtype=np.intp), np.empty(5 * n)
    assert order.serve(learner, materials, times) == 5 * n
    assert np.array_equal(materials, np.tile(np.arange(n), 5))
    assert np.array_equal(times, np.repeat(np.arange(5.0), n))


@pytest.mark.parametrize("n", [2, 3, 5, 2**10 + 1, 2**15 + 1, 2**16, 2**16 + 1, 2**20 + 1])
def test_memory_is_at_most_thirty_two_bytes_a_material_even_above_a_power_of_two(n):
    memory = sum(part.nbytes for part in DeadlineOrder.allocate(n)[1:])
    assert memory <= 28 * n + 64


@pytest.mark.parametrize("n", [2**16, 2**16 + 1])
def test_both_queues_serve_alike_where_they_change_over(n):
    amounts = np.random.default_rng(n).pareto(1.0, n) + 0.1
    served = [make(queue, amounts) for queue in (Tournament, Calendar)] + [EDFScheduler(amounts, random_state=0)]
    for _ in range(3):
        polls = [scheduler.next(50_000) for scheduler in served]
        for scheduler in served:
            for i in range(100):
                scheduler.update(i, float(i % 5))
        for materials, times in polls:
            assert np.array_equal(materials, polls[0][0])
            assert np.array_equal(times, polls[0][1])
