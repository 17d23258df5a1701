"""Work that is shared out to threads."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

from knapsolve import criteria, solve_nefk
from knapsolve._core.threads import work_through


@pytest.mark.parametrize("jobs", [1, 2, 5, 2**70])
def test_results_are_in_the_order_of_the_parts(jobs):
    def work(part):
        time.sleep(0.001 * (part % 3))
        return -part

    assert work_through(work, range(30), jobs) == [-part for part in range(30)]
    assert work_through(work, [], jobs) == []


def test_the_thread_that_asks_works_and_others_do_too():
    both = threading.Barrier(2, timeout=30)
    names = work_through(lambda _: (both.wait(), threading.current_thread())[1], range(2), 2)
    assert threading.current_thread() in names
    assert len(set(names)) == 2


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("here", [False, True])
def test_after_an_error_in_any_thread_no_part_is_begun(fault, here):
    """The error arrives once all threads have come to rest, and the next work is done as if it had not been."""
    asked, begun, both = threading.current_thread(), [], threading.Barrier(2, timeout=30)

    def work(part):
        begun.append(part)
        if part < 2:
            both.wait()
            if (threading.current_thread() is asked) is here:
                raise fault("part")
            time.sleep(0.05)

    with pytest.raises(fault):
        work_through(work, range(10), 2)
    count = len(begun)
    assert count <= 3
    time.sleep(0.05)
    assert len(begun) == count
    assert work_through(str, range(3), 2) == ["0", "1", "2"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize("every", [0.0, 3e-4])
def test_no_thread_is_at_work_after_interrupts_however_fast_they_come(every):
    """A part that is interrupted is not done, but all others that are begun are, before the interrupt gets out."""
    begun, ended, interrupted = [], [], 0

    def work(part):
        begun.append(part)
        time.sleep(0.002)
        ended.append(part)

    def interrupt(number, frame):
        if frame.f_code is work.__code__ or frame.f_code.co_filename == threading.__file__:  # not this test's own code,
            raise KeyboardInterrupt  # nor what others have called as garbage is collected

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(150):
            begun.clear()
            ended.clear()
            signal.setitimer(signal.ITIMER_REAL, 1e-3 + 1e-4 * (k % 40), every)
            try:
                work_through(work, range(4), 3)
            except KeyboardInterrupt:
                interrupted += 1
                count = len(begun)
                assert len(ended) >= count - 1  # but for this thread's own
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                time.sleep(0.004)
                assert len(begun) == count
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 30
    assert work_through(str, range(3), 3) == ["0", "1", "2"]


def test_work_may_ask_for_threads_itself():
    assert work_through(lambda k: sum(work_through(lambda j: j * k, range(4), 3)), range(50), 3) == [
        6 * k for k in range(50)
    ]


def _works_on_two_threads():
    both = threading.Barrier(2, timeout=10)
    work_through(lambda _: both.wait(), range(2), 2)
    return True


def test_where_no_thread_can_be_had_the_one_that_asks_does_all():
    """As when the interpreter ends."""
    script = """
import atexit
from knapsolve._core.threads import work_through
work_through(str, range(9), 3)
atexit.register(lambda: print(work_through(str, range(3), 3)))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert (ran.stdout, ran.stderr) == ("['0', '1', '2']\n", "")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_after_a_solve_has_threads_of_its_own():
    assert _works_on_two_threads()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_works_on_two_threads).get(timeout=60)


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_threads_solve_can_solve():
    """No lock that another thread held is waited for."""
    n, stop = 200_000, threading.Event()
    generator = np.random.default_rng(1)
    rates, groups = generator.random(n) + 0.1, generator.integers(0, n // 5, n)
    solve = partial(
        solve_nefk, criteria.Freshness(rates), 0.2 * n, groups=groups, group_caps=np.full(n // 5, 1.1), n_jobs=3
    )

    def solve_on():
        while not stop.is_set():
            solve()

    others = [threading.Thread(target=solve_on) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for _ in range(40):
            child = multiprocessing.get_context("fork").Process(target=solve)
            child.start()
            child.join(60)
            assert child.exitcode == 0
    finally:
        child.kill()
        stop.set()
        for other in others:
            other.join()
