"""Event simulation of the queue that the robots feed, under any policy on (level of robots, queue).

Shapes: action (N + 1, K + 1) by what an event leaves; state (2,): pages queued and robots active, taken up
and left.
Units: times in mean service times; load = lam / mu of one robot.
Invariant: between events the time is exponential with rate load r + 1(q > 0); an arrival happens next with
probability load r over it, and for certain while the queue is empty. Complexity: O(events), two random numbers each.
Reference: Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", Section 3.1.
"""

from libc.stdint cimport uint8_t

from knapsolve._core.random_bits cimport bitgen_t, bits_of, random_standard_exponential

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef Py_ssize_t CHUNK = 1_000_000  # events between two looks at the signals: about 20 ms


cdef struct Sums:
    double time, empty, lost, active, queue


cdef void walk(const uint8_t[:, ::1] action, double load, Py_ssize_t events, Py_ssize_t *q, Py_ssize_t *r,
               Sums *sums, bitgen_t *bits) noexcept nogil:
    """Make `events` events from (q, r) and add up what happens between them."""
    cdef Py_ssize_t K = action.shape[1] - 1, _event
    cdef double arrive, total, wait
    for _event in range(events):
        arrive = load * <double>r[0]
        total = arrive + (1.0 if q[0] > 0 else 0.0)
        wait = random_standard_exponential(bits) / total
        sums.time += wait
        sums.active += wait * <double>r[0]
        sums.queue += wait * <double>q[0]
        if q[0] == 0:
            sums.empty += wait
        if bits.next_double(bits.state) * total < arrive or q[0] == 0:
            if q[0] == K:
                sums.lost += 1.0
            else:
                q[0] += 1
            r[0] -= 1
        else:
            q[0] -= 1
        r[0] += action[r[0], q[0]]


def simulate_events(const uint8_t[:, ::1] action, double load, Py_ssize_t events, Py_ssize_t[::1] state,
                    generator):
    """Return (time, time empty, pages lost, robot time, page time) of `events` events; `state` moves on."""
    cdef bitgen_t *bits = bits_of(generator)
    cdef Sums sums = Sums(0.0, 0.0, 0.0, 0.0, 0.0)
    cdef Py_ssize_t q = state[0], r = state[1], done = 0, now
    with generator.bit_generator.lock:
        while done < events:
            now = min(CHUNK, events - done)
            with nogil:
                walk(action, load, now, &q, &r, &sums, bits)
            done += now
            PyErr_CheckSignals()
    state[0], state[1] = q, r
    return sums.time, sums.empty, sums.lost, sums.active, sums.queue
