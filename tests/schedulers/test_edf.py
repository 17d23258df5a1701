"""EDF serves everybody on time: exactly, for ever, whatever the amounts."""

import heapq
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import EDFScheduler
from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import DeadlineOrder
from tests.sizes import slow_and_full
from tests.twins import EDFTwin, FixedTwin

AMOUNT = st.floats(1e-3, 10.0) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
AMOUNTS = st.lists(AMOUNT, min_size=1, max_size=30).filter(any)


def exactly(x):
    """A float64 number of at least 2**-200 as an exact multiple of 2**-252."""
    multiple = Fraction(x) * 2**252
    assert multiple.denominator == 1
    return multiple.numerator


def rational_order(amounts, seed, n_polls):
    """Materials and deadlines in rational arithmetic; periods and phases are the floats 1/x and u/x."""
    generator, heap = np.random.default_rng(seed), []
    periods = {i: exactly(1 / x) for i, x in enumerate(amounts) if x > 0}
    for i in periods:
        heapq.heappush(heap, (exactly(generator.random() / amounts[i]), i))
    for _ in range(n_polls):
        deadline, i = heap[0]
        heapq.heapreplace(heap, (deadline + periods[i], i))
        yield i, deadline / 2**252


CALENDAR = 70_000  # materials (of amount 0, where need be) that make the scheduler use its calendar queue


def padded(amounts, queue):
    return [*amounts, *([0.0] * (CALENDAR - len(amounts) if queue == "calendar" else 0))]


@pytest.mark.parametrize("queue", ["tournament", "calendar"])
@pytest.mark.parametrize(
    "amounts",
    [
        [0.5, 0.25, 0.25],
        [1 / k for k in range(1, 40)],
        [0.0, 3.0, 0.0, 0.1, 1e-3, 7.0],
        np.random.default_rng(0).pareto(1.1, 600).tolist(),
    ],
    ids=["dyadic", "harmonic", "zeros", "pareto"],
)
def test_order_equals_exact_rational_arithmetic(amounts, queue):
    n_polls, amounts = 50_000, padded(amounts, queue)
    materials, times = EDFScheduler(amounts, random_state=3).next(n_polls)
    expected = list(rational_order(amounts, 3, n_polls))
    assert materials.tolist() == [i for i, _ in expected]
    assert times == pytest.approx([t for _, t in expected], rel=1e-12, abs=1e-12)


def order_without_phases(amounts, n_polls):
    """Every first deadline is at time 0, so that ties abound."""
    amounts = np.array(amounts)
    learner, order = FixedAmounts(amounts), DeadlineOrder(amounts.size, DeadlineOrder.allocate(amounts.size))
    order.start(FixedAmounts(np.zeros(amounts.size)), np.random.default_rng(0))
    for i in np.flatnonzero(amounts)[::-1]:
        order.insert(i, 0.0)
    materials, times = np.empty(n_polls, dtype=np.intp), np.empty(n_polls)
    assert order.serve(learner, materials, times) == n_polls
    return materials, times


@pytest.mark.parametrize("queue", ["tournament", "calendar"])
@pytest.mark.parametrize("amounts", [[1.0] * 5, [1.0, 0.5, 0.25, 1.0, 0.5], [1 / k for k in (3, 1, 2, 6, 4, 12, 1)]])
def test_ties_go_to_the_lower_index(amounts, queue):
    materials, times = order_without_phases(padded(amounts, queue), 100_000)
    heap = [(0, i) for i in range(len(amounts))]
    for i, time in zip(materials.tolist(), times.tolist()):
        deadline, expected = heap[0]
        assert (i, time) == (expected, deadline / 2**252)
        heapq.heapreplace(heap, (deadline + exactly(1 / amounts[i]), i))


@pytest.mark.slow
def test_a_full_calendar_equals_a_heap_of_integers():
    amounts = np.random.default_rng(9).pareto(1.0, CALENDAR) + 1e-2
    generator, n_polls, twin = np.random.default_rng(6), 300_000, FixedTwin(amounts)
    heap = EDFTwin(twin, generator)
    materials, _ = EDFScheduler(amounts, random_state=6).next(n_polls)
    for k, i in enumerate(materials.tolist()):
        assert heap.next(None) == i, k
        heap.polled(i)


@settings(deadline=None, max_examples=150)
@given(AMOUNTS, st.integers(0, 2**32), st.data())
def test_polls_in_any_window_are_within_one_of_window_times_amount(amounts, seed, data):
    materials, times = EDFScheduler(amounts, random_state=seed).next(4_000)
    assert (np.diff(times) >= 0).all()
    a, b = sorted(data.draw(st.tuples(st.floats(0, 1), st.floats(0, 1))))
    low, high = a * times[-1], b * times[-1]
    counts = np.bincount(materials[(times >= low) & (times < high)], minlength=len(amounts))
    assert (abs(counts - (high - low) * np.array(amounts)) <= 1 + 1e-6).all()
    assert not np.isin(materials, np.flatnonzero(np.array(amounts) == 0)).any()


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.floats(1e-9, 1.0), min_size=2, max_size=12),
    st.sampled_from([1e-290, 1e-30, 1.0, 1e30, 1e290]),
)
def test_the_unit_of_time_does_not_matter(amounts, scale):
    scaled = [x * 2.0 ** np.round(np.log2(scale)) for x in amounts]
    materials, times = EDFScheduler(amounts, random_state=1).next(500)
    other, far = EDFScheduler(scaled, random_state=1).next(500)
    assert materials.tolist() == other.tolist()
    assert far * 2.0 ** np.round(np.log2(scale)) == pytest.approx(times, rel=1e-12)


def test_extreme_amounts_are_served_in_proportion():
    materials, times = EDFScheduler([1e300, 1e-300, 5e299, 0.0], random_state=0).next(3_000)
    assert np.bincount(materials, minlength=4).tolist() in (
        [2000, 0, 1000, 0],
        [2000, 1, 999, 0],
        [1999, 1, 1000, 0],
    )
    assert np.isfinite(times).all()


def test_updates_take_effect_at_the_next_poll():
    scheduler, amounts = EDFScheduler([1.0, 0.5, 0.0, 2.0], random_state=7), [1.0, 0.5, 0.0, 2.0]
    generator, heap = np.random.default_rng(7), []
    for i, x in enumerate(amounts):
        if x:
            heapq.heappush(heap, (Fraction(generator.random() / x), i))
    rng = np.random.default_rng(1)
    for _ in range(3_000):
        if rng.random() < 0.1:
            i, x = int(rng.choice([0, 1, 3])), float(rng.choice([0.125, 0.3, 1.0, 3.0, 10.0]))
            scheduler.update(i, x)
            amounts[i] = x
        materials, _ = scheduler.next()
        deadline, i = heapq.heappop(heap)
        assert materials.tolist() == [i]
        heapq.heappush(heap, (deadline + Fraction(1 / amounts[i]), i))


def test_a_material_set_to_zero_is_never_served_again_until_it_is_set_back():
    scheduler = EDFScheduler([1.0, 1.0, 1.0], random_state=0)
    scheduler.next(10)
    scheduler.update(1, 0.0)
    assert not (scheduler.next(300)[0] == 1).any()
    scheduler.update(1, 2.0)
    scheduler.update(1, 1.0)
    counts = np.bincount(scheduler.next(300)[0], minlength=3)
    assert abs(counts - 100).max() <= 2
    for i in range(3):
        scheduler.update(i, 0)
    assert scheduler.next(5)[0].size == 0
    scheduler.update(2, 0.5)
    materials, times = scheduler.next(5)
    assert materials.tolist() == [2] * 5
    assert np.diff(times) == pytest.approx(2.0)


def test_one_material_zero_polls_and_single_steps():
    scheduler = EDFScheduler([4.0], random_state=0)
    assert scheduler.next(0)[0].size == 0
    materials, times = scheduler.next(9)
    assert materials.tolist() == [0] * 9
    assert np.diff(times) == pytest.approx(0.25)


@pytest.mark.parametrize("n", [3, 700, 70_000])
def test_pickling_mid_stream_goes_on_identically(n):
    amounts = np.random.default_rng(n).pareto(1.2, n)
    one = EDFScheduler(amounts, random_state=np.random.default_rng(5))
    one.next(1_234)
    one.update(1, 9.5)
    other = pickle.loads(pickle.dumps(one))
    for a, b in zip(one.next(3 * n), other.next(3 * n)):
        assert a.tolist() == b.tolist()
    one.update(0, 3.0)
    other.update(0, 3.0)
    assert one.next(500)[0].tolist() == other.next(500)[0].tolist()


def test_splitting_the_polls_changes_nothing():
    amounts = np.random.default_rng(1).pareto(1.0, 300)
    whole, parts = EDFScheduler(amounts, random_state=2), EDFScheduler(amounts, random_state=2)
    pieces = [parts.next(k)[0] for k in (1, 2, 997, 65_536, 65_537, 0, 40_000)]
    assert whole.next(sum(map(len, pieces)))[0].tolist() == np.concatenate(pieces).tolist()


def counts_stay_within_two(amounts, n_polls):
    """After n polls made without a look, the next ones still come at the times that the amounts ask for."""
    scheduler = EDFScheduler(amounts, random_state=0)
    order, learner = scheduler._views()
    phases = EDFScheduler(amounts, random_state=0)
    first = {}
    for i, t in zip(*phases.next(40 * amounts.size)):
        first.setdefault(int(i), float(t))
    assert len(first) == amounts.size
    order.skip(learner, n_polls)
    materials, times = scheduler.next(3 * amounts.size)
    for i, t in zip(materials.tolist(), times.tolist()):
        turns = (t - first[i]) * amounts[i]
        assert abs(turns - round(turns)) < 1e-3, "a deadline has drifted off its grid"
    assert times[0] * amounts.sum() == pytest.approx(n_polls, abs=2 * amounts.size)


def test_ten_million_polls_do_not_drift():
    counts_stay_within_two(np.random.default_rng(0).uniform(0.5, 1.5, 50), 10_000_000)


@pytest.mark.parametrize("n_polls", slow_and_full([10**8], [10**9]))
def test_many_more_polls_do_not_drift(n_polls):
    counts_stay_within_two(np.random.default_rng(0).uniform(0.5, 1.5, 50), n_polls)


def memory_of(scheduler):
    arrays = [value for value in vars(scheduler).values() if isinstance(value, np.ndarray)]
    return sum(a.nbytes for a in (*arrays, *scheduler._memory))


@pytest.mark.parametrize("n", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.full_size)])
def test_memory_is_at_most_forty_bytes_a_material(n):
    scheduler = EDFScheduler(np.ones(n), random_state=0)
    assert memory_of(scheduler) <= 40 * n
    materials, _ = scheduler.next(2 * n)
    assert np.array_equal(np.bincount(materials), np.full(n, 2))


@pytest.mark.parametrize("n", [30_000, 100_000])
def test_large_queues_keep_every_amount(n):
    amounts = np.random.default_rng(3).pareto(1.0, n) + 1e-3
    materials, times = EDFScheduler(amounts, random_state=4).next(2_000_000)
    counts = np.bincount(materials, minlength=n)
    assert (abs(counts - times[-1] * amounts) <= 1 + 1e-6).all()
