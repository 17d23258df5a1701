"""Schedulers: amounts in, next poll out.

DeadlineOrder is earliest-deadline-first: a material's deadline is its last one plus 1 / amount, at the amount
it has when it is polled (lazy); first deadlines have a uniform phase in [0, 1 / amount); amount 0 is never
served.
RandomOrder draws materials in proportion to their amounts. Both leave the amounts to the learner.
Reference: Liu and Layland (1973) for EDF; Granmo and Oommen (2011), section 3.1 for its use here.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport intptr_t as intp_t, uint64_t

from knapsolve._core.random_bits cimport bits_of

cdef Py_ssize_t CHUNK = 65536     # polls between two looks at pending signals
cdef Py_ssize_t SMALL = 65536     # up to here the tournament is faster than the calendar


cdef class DeadlineOrder(Scheduler):
    """View over `memory` = (queue struct, entries, bucket heads or winners), all but the last in words of 64 bits.

    Up to SMALL materials in a tournament, more in a calendar; both serve in the same order.
    """

    def __init__(self, Py_ssize_t n, memory):
        cdef uint64_t[::1] queue = memory[0]
        cdef uint64_t[::1] entry = memory[1]
        cdef int32_t[::1] links = memory[2]
        if n < 1 or [part.size for part in memory] != self.sizes(n):
            raise ValueError(f"memory must be that of allocate({n})")
        self.small = n <= SMALL
        self.n = n
        self.memory = memory
        if self.small:
            self.tree = <deadline_tree *>&queue[0]
            self.tree.entry = <deadline_entry *>&entry[0]    # a copied or unpickled queue has moved
            self.tree.winner = &links[0]
        else:
            self.queue = <deadline_queue *>&queue[0]
            self.queue.entry = <deadline_entry *>&entry[0]
            self.queue.bucket = &links[0]

    @staticmethod
    def sizes(Py_ssize_t n):
        """Lengths of the parts of the memory for n materials."""
        entries, links = n, deadline_queue_buckets(n)
        if n <= SMALL:
            entries, links = deadline_tree_leaves(n) + 1, 2 * deadline_tree_leaves(n)
        words = (max(sizeof(deadline_queue), sizeof(deadline_tree)) + 7) // 8
        return [words, entries * (sizeof(deadline_entry) // 8), links]

    @staticmethod
    def allocate(Py_ssize_t n):
        """Memory for n materials: 20 to 24 bytes each in the calendar, 24 to 48 in the tournament."""
        kinds = (np.uint64, np.uint64, np.int32)
        return tuple(np.zeros(size, dtype=kind) for size, kind in zip(DeadlineOrder.sizes(n), kinds))

    @staticmethod
    def copied(memory):
        """A copy without the pointers, which lie first: equal queues have equal copies."""
        copy = tuple(part.copy() for part in memory)
        copy[0][:2] = 0
        return copy

    def start(self, Learner learner, generator):
        """Enter every material of positive amount at a random phase of its period."""
        cdef Py_ssize_t i, n = learner.n_materials
        cdef double x, total = 0.0
        cdef bitgen_t *bits = bits_of(generator)
        if n != self.n:
            raise ValueError(f"learner must have {self.n} materials, got {n}")
        with generator.bit_generator.lock, nogil:
            for i in range(n):
                total += learner.amount(i)
            if not 0.0 < total < INFINITY:
                total = 1.0
            if self.small:
                deadline_tree_init(self.tree, self.tree.entry, self.tree.winner, n, total)
            else:
                deadline_queue_init(self.queue, self.queue.entry, self.queue.bucket, n, total)
            for i in range(n):
                x = learner.amount(i)
                if x > 0.0:
                    self.enter(i, bits.next_double(bits.state) / x)

    cdef inline Py_ssize_t pop(self) noexcept nogil:
        return deadline_tree_pop(self.tree) if self.small else deadline_queue_pop(self.queue)

    cdef inline void drop(self, Py_ssize_t i) noexcept nogil:
        if self.small:
            deadline_tree_drop(self.tree, i)

    cdef inline void enter(self, Py_ssize_t i, double delay) noexcept nogil:
        if self.small:
            deadline_tree_insert(self.tree, i, delay)
        else:
            deadline_queue_insert(self.queue, i, delay)

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t i = self.pop()
        while i >= 0 and not learner.amount(i) > 0.0:      # set to zero while its deadline was pending
            self.drop(i)
            i = self.pop()
        return i

    cdef void polled(self, Learner learner, Py_ssize_t i) noexcept nogil:
        cdef double x = learner.amount(i)
        if not x > 0.0:
            self.drop(i)
        elif self.small:
            deadline_tree_push(self.tree, i, 1.0 / x)
        else:
            deadline_queue_push(self.queue, i, 1.0 / x)

    def serve(self, Learner learner, intp_t[::1] materials, double[::1] times):
        """Fill (n,) materials and their deadlines; return how many there were."""
        cdef Py_ssize_t k = 0, stop, i = 0, n = materials.shape[0]
        if learner.n_materials != self.n or times.shape[0] != n:
            raise ValueError(f"learner must have {self.n} materials and times {n} numbers")
        while k < n and i >= 0:
            stop = min(k + CHUNK, n)
            with nogil:
                for k in range(k, stop):
                    i = self.next(learner, NULL)
                    if i < 0:
                        stop = k
                        break
                    materials[k] = i
                    if self.small:
                        times[k] = deadline_tree_time(self.tree, i)
                    else:
                        times[k] = deadline_queue_time(self.queue, i)
                    self.polled(learner, i)
            k = stop
            PyErr_CheckSignals()
        return k

    def skip(self, Learner learner, Py_ssize_t n):
        """Serve n polls without telling which: for tests and benchmarks of long runs."""
        cdef Py_ssize_t _k, i
        with nogil:
            for _k in range(n):
                i = self.next(learner, NULL)
                if i < 0:
                    break
                self.polled(learner, i)

    def insert(self, Py_ssize_t i, double delay):
        """Enter a material unless it is waiting already; its next deadline comes `delay` from now."""
        if not 0 <= i < self.n:
            raise IndexError(f"material must lie between 0 and {self.n - 1}, got {i}")
        if not (deadline_tree_holds(self.tree, i) if self.small else deadline_queue_holds(self.queue, i)):
            self.enter(i, delay)


cdef class RandomOrder(Scheduler):
    def start(self, Learner learner, generator):
        learner.prepare_draws()

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        return learner.draw(bits)

    def serve(self, Learner learner, intp_t[::1] materials, generator):
        """Fill (n,) materials; return how many there were."""
        cdef Py_ssize_t k = 0, stop, i = 0, n = materials.shape[0]
        cdef bitgen_t *bits = bits_of(generator)
        while k < n and i >= 0:
            stop = min(k + CHUNK, n)
            with generator.bit_generator.lock, nogil:
                for k in range(k, stop):
                    i = learner.draw(bits)
                    if i < 0:
                        stop = k
                        break
                    materials[k] = i
            k = stop
            PyErr_CheckSignals()
        return k
