"""Schedulers: amounts in, next poll out.

DeadlineOrder is earliest-deadline-first: a material's deadline is its last one plus 1 / amount, at the amount
it has when it is polled (lazy); first deadlines have a uniform phase in [0, 1 / amount). Amount 0 is not served;
materials that fell out for that are looked through every n polls, and enter again with what they have then. Work
that may take O(n) is done in slices (csrc/deadline_queue.h), with a look at signals between them.
RandomOrder draws materials in proportion to their amounts. Both leave the amounts to the learner.
Reference: Liu and Layland (1973) for EDF; Granmo and Oommen (2011), section 3.1 for its use here.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.float cimport DBL_MAX
from libc.math cimport fmod
from libc.stdint cimport intptr_t as intp_t, uint64_t

from knapsolve._core.policies cimport FixedAmounts
from knapsolve._core.random_bits cimport bits_of

cdef Py_ssize_t CHUNK = 16384     # polls between two looks at pending signals
cdef Py_ssize_t ROWS = 1 << 19    # materials between two looks, where each is only entered or added up
cdef double GOLDEN = 0.6180339887498949
cdef Py_ssize_t SMALL = 65536     # up to here the tournament is faster than the calendar


cdef class DeadlineOrder(Scheduler):
    """View over `memory` = (queue struct, entries, links), all but the last in words of 64 bits.

    A tournament or a calendar, as `allocate` chose; both serve in the same order.
    """

    def __init__(self, Py_ssize_t n, memory):
        cdef uint64_t[::1] queue = memory[0]
        cdef uint64_t[::1] entry = memory[1]
        cdef int32_t[::1] link = memory[2]
        sizes = [part.size for part in memory]
        if n < 1 or sizes not in (self.sizes(n, False), self.sizes(n, True)):
            raise ValueError(f"memory must be that of allocate({n})")
        self.small = sizes == self.sizes(n, False)
        self.n = n
        self.memory = memory
        self.queue = <deadline_queue *>&queue[0]
        self.clock = &self.queue.clock
        self.clock.entry = <deadline_entry *>&entry[0]    # a copied or unpickled queue has moved
        self.clock.link = &link[0]

    @staticmethod
    def sizes(Py_ssize_t n, bint calendar):
        """Lengths of the parts of the memory for n materials."""
        words = sizeof(deadline_entry) // 8
        if calendar:
            return [sizeof(deadline_queue) // 8, n * words, deadline_queue_buckets(n) + n]
        return [sizeof(deadline_queue) // 8, (n + 1) * words, 2 * n]

    @staticmethod
    def allocate(Py_ssize_t n, calendar=None):
        """Memory for n materials: 24 bytes each in the tournament, 23 to 26 in the calendar.

        By default the tournament up to SMALL materials, where it is faster, and the calendar beyond.
        """
        kinds = (np.uint64, np.uint64, np.int32)
        sizes = DeadlineOrder.sizes(n, n > SMALL if calendar is None else calendar)
        return tuple(np.zeros(size, dtype=kind) for size, kind in zip(sizes, kinds))

    @staticmethod
    def copied(memory):
        """A copy without the pointers, which lie first: equal queues have equal copies."""
        copy = tuple(part.copy() for part in memory)
        copy[0][:2] = 0
        return copy

    def start(self, Learner learner, generator):
        """Enter every material of positive amount at a random phase of its period."""
        cdef Py_ssize_t i = 0, stop, n = learner.n_materials
        cdef double x, total
        cdef bitgen_t *bits = bits_of(generator)
        if n != self.n:
            raise ValueError(f"learner must have {self.n} materials, got {n}")
        self.dropped, self.waited, self.looked = 0, 0, False
        total = self.total(learner) or 1.0
        if self.small:
            deadline_init(self.clock, self.clock.entry, self.clock.link, n, total)
        else:
            deadline_queue_init(self.queue, self.clock.entry, self.clock.link, n, total)
        while i < n:
            stop = min(i + ROWS, n)
            with generator.bit_generator.lock, nogil:
                for i in range(i, stop):
                    x = learner.amount(i)
                    self.clock.entry[i].next = DEADLINE_ABSENT
                    if x > 0.0:
                        deadline_write(self.clock, i, bits.next_double(bits.state) / x)
                    else:
                        self.dropped += 1
            i = stop
            PyErr_CheckSignals()
        self.clock.task, self.clock.tolerance = 0, 1      # no strain: the scale is that of these amounts
        if self.small:
            deadline_tree_build(self.clock)
        else:
            deadline_queue_build(self.queue)
            self.settle(learner)

    cdef double total(self, Learner learner) except -1.0:
        """Sum of all amounts, at most the largest number."""
        cdef Py_ssize_t i = 0, stop, n = learner.n_materials
        cdef double total = 0.0
        while i < n:
            stop = min(i + ROWS, n)
            with nogil:
                for i in range(i, stop):
                    total += learner.amount(i)
            i = stop
            PyErr_CheckSignals()
        return min(total, DBL_MAX) if total > 0.0 else 0.0

    cpdef settle(self, Learner learner):
        """Do the long work that a call has left, a slice at a time between looks at signals."""
        if self.clock.task & DEADLINE_STRAINED and deadline_refit(self.clock, self.total(learner)):
            if self.small:
                deadline_tree_rescale(self.clock)
            else:
                deadline_queue_rescale(self.queue)
        while not self.small and not deadline_queue_work(self.queue):
            PyErr_CheckSignals()
        if self.waited >= self.n:
            self.enter_dropped(learner)

    cdef enter_dropped(self, Learner learner):
        """Enter every material that does not wait but has an amount by now, at phases spread evenly. O(n)."""
        cdef Py_ssize_t i
        cdef double x
        self.dropped, self.waited, self.looked = 0, 0, True
        for i in range(self.n):
            if not deadline_holds(self.clock, i):
                x = learner.amount(i)
                if x > 0.0:
                    self.insert(i, fmod(<double>(i + 1) * GOLDEN, 1.0) / x)
                    self.settle(learner)
                else:
                    self.dropped += 1
            if i % ROWS == 0:
                PyErr_CheckSignals()
        if learner.failed:
            raise learner.error

    cdef inline Py_ssize_t pop(self) noexcept nogil:
        return deadline_tree_pop(self.clock) if self.small else deadline_queue_pop(self.queue)

    cdef inline void drop(self, Py_ssize_t i) noexcept nogil:
        self.dropped += 1
        if self.small:
            deadline_tree_drop(self.clock, i)

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        """The next material, -1 if there is none, less if `settle` must be called first."""
        cdef Py_ssize_t i = self.pop() if self.waited < self.n else DEADLINE_LATER
        if i >= 0 and not learner.amount(i) > 0.0:
            i = self.pass_over(learner, i)
        if i == DEADLINE_NONE and self.dropped and not self.looked:
            self.waited = self.n
            return DEADLINE_LATER
        if i >= 0:
            deadline_serve(self.clock, i)
        return i

    cdef Py_ssize_t pass_over(self, Learner learner, Py_ssize_t i) noexcept nogil:
        """From a popped material that was set to zero while it waited, to the next that was not."""
        cdef Py_ssize_t _passed
        for _passed in range(CHUNK):
            self.drop(i)
            i = self.pop()
            if i < 0 or learner.amount(i) > 0.0:
                return i
        self.drop(i)
        return DEADLINE_LATER

    cdef void polled(self, Learner learner, Py_ssize_t i) noexcept nogil:
        cdef double x = learner.amount(i)
        if not x > 0.0:
            self.drop(i)
        elif self.small:
            deadline_tree_push(self.clock, i, 1.0 / x)
        else:
            deadline_queue_push(self.queue, i, 1.0 / x)
        self.looked = False
        if self.dropped:
            self.waited += 1

    def serve(self, Learner learner, intp_t[::1] materials, double[::1] times):
        """Fill (n,) materials and deadlines; return how many there were. An interrupted call tells by `served`."""
        cdef Py_ssize_t k = 0, stop, i = 0, n = materials.shape[0]
        self.served = 0
        if learner.n_materials != self.n or times.shape[0] != n:
            raise ValueError(f"learner must have {self.n} materials and times {n} numbers")
        while k < n and i != DEADLINE_NONE:
            self.settle(learner)
            stop = min(k + CHUNK, n)
            with nogil:
                for k in range(k, stop):
                    i = self.next(learner, NULL)
                    if i < 0:
                        stop = k
                        break
                    materials[k] = i
                    times[k] = deadline_time(self.clock, i)
                    self.polled(learner, i)
            self.served = k = stop
            PyErr_CheckSignals()
        return k

    def skip(self, Learner learner, Py_ssize_t n):
        """Serve n polls without telling which: for tests and benchmarks of long runs."""
        cdef Py_ssize_t k = 0, i = 0
        while k < n and i != DEADLINE_NONE:
            self.settle(learner)
            with nogil:
                while k < n:
                    i = self.next(learner, NULL)
                    if i < 0:
                        break
                    self.polled(learner, i)
                    k += 1

    def holds(self, Py_ssize_t i):
        """Whether a material is waiting for its deadline."""
        if not 0 <= i < self.n:
            raise IndexError(f"material must lie between 0 and {self.n - 1}, got {i}")
        return deadline_holds(self.clock, i)

    def insert(self, Py_ssize_t i, double delay):
        """Enter a material unless it is waiting already, to come `delay` after the last poll; `settle` before."""
        if self.holds(i):
            return
        if self.small:
            deadline_tree_insert(self.clock, i, delay)
        else:
            deadline_queue_insert(self.queue, i, delay)


cdef class RandomOrder(Scheduler):
    def start(self, Learner learner, generator):
        learner.prepare_draws()

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        return learner.draw(bits)

    def serve(self, FixedAmounts learner, intp_t[::1] materials, double[::1] times, double[::1] clock, generator):
        """Fill (n,) materials and times, evenly spaced.

        clock (3,) holds the time at which the rate last changed, the polls since, and that rate: times do not
        depend on how many polls are asked for at once. Returns how many there were. An interrupted call tells by
        `served`.
        """
        cdef Py_ssize_t k = 0, stop, i = 0, n = materials.shape[0]
        cdef double rate = learner.total_amount, start, before
        cdef bitgen_t *bits = bits_of(generator)
        self.served = 0
        if times.shape[0] != n or clock.shape[0] != 3:
            raise ValueError(f"times must hold {n} numbers, clock 3")
        if clock[2] != rate:
            clock[0] += clock[1] / clock[2] if clock[1] > 0.0 else 0.0
            clock[1], clock[2] = 0.0, rate
        start, before = clock[0], clock[1]
        while k < n and i >= 0:
            stop = min(k + CHUNK, n)
            with generator.bit_generator.lock, nogil:
                for k in range(k, stop):
                    i = learner.draw(bits)
                    if i < 0:
                        stop = k
                        break
                    materials[k] = i
                    times[k] = start + (before + <double>(k + 1)) / rate
                    clock[1] = before + <double>(k + 1)
            self.served = k = stop
            PyErr_CheckSignals()
        return k
