"""Timetables: exact budget, every item in its time, jitter within slots, gaps between polls of a host."""

import heapq
import math
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knapsolve._core.slots import serve_slots
from knapsolve.schedulers import timetable


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    length=st.floats(0.1, 50),
    jitter=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_slot_holds_one_poll(seed, n, length, jitter):
    rng = np.random.default_rng(seed)
    amounts = rng.lognormal(0, 1, n)
    items, times = timetable(amounts, -rng.random(n), 0.0, length, jitter=jitter, random_state=seed)
    slots = times * amounts.sum()
    assert items.size == int(length * amounts.sum() * (1 + 1e-12))
    assert (np.floor(slots + 1e-9) == np.arange(items.size)).all() or jitter == 1.0
    assert ((slots - np.arange(items.size) > -1e-9) & (slots - np.arange(items.size) <= jitter + 1e-9)).all()


def test_polls_come_at_their_intervals():
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(0, 1, 200)
    items, times = timetable(amounts, -rng.random(200) / amounts, 0.0, 100.0, jitter=0.0)
    counts = np.bincount(items, minlength=200)
    assert (np.abs(counts - 100 * amounts) <= 2).all()
    for k in range(200):
        gaps = np.diff(times[items == k])
        assert gaps.min(initial=np.inf) * amounts[k] > 0.45 and gaps.max(initial=0) * amounts[k] < 2


def test_whoever_waits_longest_comes_first_and_nothing_is_made_up():
    items, times = timetable([1.0, 1.0, 1.0], [-50.0, -2.0, -9.0], 0.0, 4.0, jitter=0.0)
    assert items[:3].tolist() == [0, 2, 1]
    assert np.bincount(items).tolist() == [4, 4, 4]
    assert min(np.diff(times[items == k]).min() for k in range(3)) >= 0.5


def test_polls_missed_while_waiting_are_not_made_up():
    """An item of interval .1 waits for sixty that are overdue until 1.5; of the 14 polls missed it makes none."""
    amounts = np.append(np.full(60, 0.5), 10.0)
    items, times = timetable(amounts, np.append(np.full(60, -100.0), 0.0), 0.0, 6.0, jitter=0.0)
    assert times[items == 60][0] == pytest.approx(1.5)
    assert ((items == 60) & (times < 2.0)).sum() <= 7, "five intervals until the others are due again at 2"


def test_an_amount_of_zero_is_never_polled():
    assert set(timetable([0.0, 2.0], [-9.0, -1.0], 0.0, 10.0)[0].tolist()) == {1}


def test_polls_of_a_host_keep_their_distance_and_others_are_not_moved():
    rng = np.random.default_rng(1)
    n, gap = 60, 0.25
    hosts = np.where(np.arange(n) < 40, 0, np.where(np.arange(n) < 50, 1, -1))
    amounts = np.where(hosts == 0, 3.8 / 40, 0.5)  # 3.8 of 4 polls a unit of time that its gap allows
    last = -rng.random(n) / amounts
    items, times = timetable(amounts, last, 0.0, 50.0, hosts=hosts, host_gaps=[gap, 0.0], random_state=2)
    free, free_times = timetable(amounts, last, 0.0, 50.0, random_state=2)
    of_host = times[hosts[items] == 0]
    assert np.diff(of_host).min() >= gap - 1e-12
    assert of_host.size > 0.95 * (hosts[free] == 0).sum()
    np.testing.assert_array_equal(times[hosts[items] != 0], free_times[hosts[free] != 0])
    assert (np.diff(times) >= 0).all()
    assert (times >= 0).all() and (times < 50).all()


def test_hosts_below_their_caps_lose_no_poll_at_the_end():
    """Forty hosts at some 80 % of their caps, of which polls waiting at the end would be some fifteen."""
    rng = np.random.default_rng(4)
    n, n_hosts = 4000, 40
    hosts = np.arange(n) % n_hosts
    amounts = rng.lognormal(0, 1, n)
    amounts *= 800 / amounts.sum()
    gaps = 0.8 / np.bincount(hosts, amounts)
    items, times = timetable(amounts, -rng.random(n) * 9 - 0.2, 0.0, 2.0, hosts=hosts, host_gaps=gaps, random_state=1)
    free = timetable(amounts, np.full(n, -9.0), 0.0, 2.0, random_state=1)
    assert items.size == free.items.size == 1600
    assert (times >= 0).all() and (times < 2).all() and (np.diff(times) >= 0).all()
    for host, gap in enumerate(gaps):
        assert np.diff(times[hosts[items] == host]).min() >= gap * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_a_host_that_has_no_time_left_loses_no_poll_that_has_room(seed):
    rng = np.random.default_rng(seed)
    amounts, gap, last = rng.exponential(size=4), 0.3 + rng.random(), -rng.random(4)
    hosts, n = np.zeros(4, dtype=int), int(30 * amounts.sum())
    items, times = timetable(amounts, last, 0.0, 30.0, hosts=hosts, host_gaps=[gap], random_state=seed)
    begin = max(0.0, last.max() + gap)
    assert items.size == min(n, math.ceil((30.0 - begin) / gap))
    assert np.diff(times).min() >= gap * (1 - 1e-9) and times[0] >= begin and times[-1] < 30.0


def test_a_host_keeps_its_distance_from_its_last_poll_before_the_start():
    hosts, gaps = [0, 0, 1, -1], [3.0, 0.5]
    items, times = timetable([1.0] * 4, [-1.0, -9.0, -0.1, -0.1], 0.0, 12.0, jitter=0.0, hosts=hosts, host_gaps=gaps)
    first = {host: times[np.take(hosts, items) == host][0] for host in (0, 1, -1)}
    assert first[0] == 2.0, "three after -1, though its turn was the first slot"
    assert first[1] == 0.5 and first[-1] == 0.75, "their turns; a host's last poll binds no other host"


def test_the_same_seed_gives_the_same_timetable():
    one, other, third = (timetable([1.0, 2.0], [0, 0], 0, 9, random_state=seed) for seed in (3, 3, 4))
    assert one.times.tolist() == other.times.tolist() != third.times.tolist()
    assert one.items.tolist() == other.items.tolist()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"amounts": [-1.0, 1.0]}, "amounts must be"),
        ({"amounts": [0.0, 0.0]}, "capacity must be"),
        ({"last": [0.0]}, "last must have 2 entries"),
        ({"last": [0.0, 5.0]}, "last must be finite and less than|last must be finite and at most|last must be"),
        ({"stop": 0.0}, "stop must be after start=0"),
        ({"stop": 1e300}, "the number of polls must be"),
        ({"stop": np.nan}, "stop must be"),
        ({"jitter": 2}, "jitter must be in"),
        ({"hosts": [0, 1], "host_gaps": [1.0]}, "host_gaps must have an entry for each host, 2, got 1"),
        ({"hosts": [0.5, 1], "host_gaps": [1.0]}, "hosts must be 2 integers"),
        ({"hosts": [0, -2], "host_gaps": [1.0]}, "hosts must be numbers of hosts, or -1 for none, got -2"),
        ({"hosts": [0, 0], "host_gaps": [-1.0]}, "host_gaps must be"),
    ],
)
def test_bad_input_is_named(bad, message):
    with pytest.raises((ValueError, TypeError), match=message):
        timetable(**({"amounts": [1.0, 2.0], "last": [0.0, 0.0], "start": 0.0, "stop": 5.0} | bad))


def slots_by_heapq(amounts, last, start, n_slots):
    """The twin: whoever is due first, one after another."""
    capacity = sum(amounts)
    queue = [(t + 1 / x, i) for i, (x, t) in enumerate(zip(amounts, last)) if x > 0]
    heapq.heapify(queue)
    items = []
    for slot in range(n_slots):
        due, item = queue[0]
        gap = 1 / amounts[item]
        again = max(max(due, start) + gap, start + slot / capacity + 0.5 * gap)
        heapq.heapreplace(queue, (again, item))
        items.append(item)
    return items


@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 0.25, 1.0, 3.0]) | st.floats(1e-3, 1e3), st.sampled_from([0.0, 1.0, 50.0])),
        min_size=1,
        max_size=20,
    ).filter(lambda rows: any(amount > 0 for amount, _ in rows)),
    start=st.sampled_from([0.0, -3.5, 1e6]),
    n_slots=st.integers(0, 300),
)
def test_slots_are_those_of_a_plain_heap(rows, start, n_slots):
    amounts, ages = np.array(rows).T
    length = (n_slots + 0.5) / amounts.sum()
    items, _ = timetable(amounts, start - ages, start, start + length, jitter=0.0)
    assert items.tolist() == slots_by_heapq(amounts.tolist(), (start - ages).tolist(), start, items.size)


def test_more_polls_than_memory_holds_are_refused_and_long_tables_can_be_interrupted():
    with pytest.raises(ValueError, match="the number of polls must be"):
        timetable([1.0, 2.0], [0.0, 0.0], 0.0, 1e8)

    def press(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, press)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            serve_slots(np.zeros(2), np.arange(2), np.ones(2), 0.0, 2.0, np.empty(2 * 10**8, dtype=np.intp))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
