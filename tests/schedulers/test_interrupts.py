"""Ctrl-C loses no poll and leaves no queue half done."""

import contextlib
import pickle
import signal

import numpy as np
import pytest

from knapsolve import EDFScheduler, RandomScheduler
from knapsolve._core.policies import FixedAmounts
from knapsolve._core.schedulers import DeadlineOrder


@contextlib.contextmanager
def interrupted_within(seconds):
    """Press Ctrl-C once, that much later; between calls it is not felt."""

    def press(number, frame):
        if "schedulers" in frame.f_code.co_filename and "test" not in frame.f_code.co_filename:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, press)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.parametrize(("kind", "n"), [(EDFScheduler, 50), (EDFScheduler, 70_000), (RandomScheduler, 50)])
@pytest.mark.parametrize(("size", "calls", "longest"), [(40, 30, 3e-4), (150_000, 1, 4e-3)])
def test_no_poll_is_lost_in_an_interrupted_call(kind, n, size, calls, longest):
    amounts = np.random.default_rng(0).pareto(1.2, n) + 0.01
    scheduler, alone = (kind(amounts, random_state=1) for _ in range(2))
    parts, interrupted = [], 0
    for wait in np.linspace(1e-6, longest, 30):
        with interrupted_within(wait):
            for _ in range(calls):
                parts.append(scheduler.next(size))
        interrupted += len(scheduler._undelivered) > 0
        scheduler = pickle.loads(pickle.dumps(scheduler))
    parts.append(scheduler.next(size))
    assert interrupted > 0 or size < 1_000
    materials, times = map(np.concatenate, zip(*parts))
    expected = alone.next(materials.size)
    assert np.array_equal(materials, expected[0])
    assert np.allclose(times, expected[1], rtol=1e-9)
    assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize("kind", [EDFScheduler, RandomScheduler])
def test_polls_left_by_an_interrupt_are_handed_over_in_pieces_of_any_size(kind):
    left, alone = 0, kind([1.0, 2.0, 3.0], random_state=0)
    for wait in 1e-2 * 2.0 ** np.arange(8):  # a busy machine may not have come to the first polls
        if left < 8:
            scheduler = kind([1.0, 2.0, 3.0], random_state=0)
            with interrupted_within(wait):
                scheduler.next(2**23)
            left = sum(materials.size for materials, _ in scheduler._undelivered)
    assert left >= 8
    sizes = [0, 1, 5, left - 7, 3, 100]
    materials, times = map(np.concatenate, zip(*[scheduler.next(size) for size in sizes]))
    expected = alone.next(materials.size)
    assert np.array_equal(materials, expected[0])
    assert np.allclose(times, expected[1], rtol=1e-9)


def test_a_queue_interrupted_in_long_work_goes_on_with_it():
    """Ties of more materials than a slice of work takes, and a rescaling, each interrupted many times."""
    n, polls = 400_000, 900_000
    amounts = np.ones(n)
    order, learner = DeadlineOrder(n, DeadlineOrder.allocate(n)), FixedAmounts(amounts)
    order.start(FixedAmounts(np.zeros(n)), np.random.default_rng(0))
    for i in range(n):
        order.insert(i, 0.0)
    served, interrupts = [], 0
    for round_ in range(2):
        done = 0
        while done < polls:
            materials, times = np.empty(polls - done, dtype=np.intp), np.empty(polls - done)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            try:
                signal.setitimer(signal.ITIMER_REAL, 3e-4 * (1 + interrupts % 40))
                order.serve(learner, materials, times)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupts += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
            served.append(materials[: order.served])
            done += order.served
        if round_ == 0:
            amounts *= 2.0**-60  # rescaled at the next poll
    assert interrupts > 20
    assert np.array_equal(np.concatenate(served), np.arange(2 * polls) % n)
