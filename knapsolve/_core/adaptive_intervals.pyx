"""Crawlers' adaptive intervals: shorter after a poll that found a change, longer after one that did not.

Item i holds a weight x_i; its amount is capacity * x_i / total and its interval one over that, so that the amounts
always sum to the capacity: the rules move weights, and the budget sets the scale. After a poll with interval I, in
units of the mean interval n / capacity,
    nutch         I <- (1 - 0.2) I if changed, else (1 + 0.2) I;
    stormcrawler  I <- (I + low) / 2 if changed, else 1.5 I;
clipped to [low, high]; then x_i follows from I at the total before the poll.
State: weights (room,), numbers (1,) = total. Invariant: total is the sum of the weights, to 1e-12; when it has moved
2^10-fold it is brought back by a power of two and summed anew, and no weight is let sink below 2^-500.
O(1) a poll, O(log n) with random access.
Reference: Apache Nutch, AdaptiveFetchSchedule; StormCrawler, AdaptiveScheduler.
"""

import math

from libc.math cimport frexp, ldexp, llrint
from libc.stdint cimport uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner
from knapsolve._core.shapes import check_room, check_shapes
from knapsolve._core.weight_tree cimport WeightTree, sum_tree_add

cdef double NUTCH_FASTER = 0.8, NUTCH_SLOWER = 1.2
cdef double STORM_FASTER = 0.5, STORM_SLOWER = 1.5
cdef double FAR = 1024.0          # how far the total may move from the number of items
cdef double LEAST = ldexp(1.0, -500)  # weight of an item that was not polled for so long that it would underflow


cdef class AdaptiveIntervals(Learner):
    cdef double[::1] x
    cdef double[::1] numbers
    cdef double capacity, low, high
    cdef bint storm
    cdef WeightTree tree

    def __init__(self, double[::1] weights, double[::1] numbers, Py_ssize_t n_materials, double capacity,
                 bint storm, double low, double high):
        check_room("weights_", weights.shape[0], n_materials)
        check_shapes(numbers_=((numbers.shape[0],), (1,)))
        self.x, self.numbers, self.n_materials = weights, numbers, n_materials
        self.capacity, self.storm, self.low, self.high = capacity, storm, low, high

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return self.capacity * (self.x[i] / self.numbers[0])

    cdef void admit(self) noexcept nogil:
        """A newcomer takes the mean weight."""
        cdef double mean = self.numbers[0] / <double>self.n_materials if self.n_materials else 1.0
        self.x[self.n_materials] = mean
        self.numbers[0] += mean
        self.n_materials += 1

    cdef double next_interval(self, double interval, int v) noexcept nogil:
        """The rule; in units of the mean interval."""
        if self.storm:
            interval = self.low + (interval - self.low) * STORM_FASTER if v else interval * STORM_SLOWER
        else:
            interval *= NUTCH_FASTER if v else NUTCH_SLOWER
        return min(max(interval, self.low), self.high)

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        cdef double n = <double>self.n_materials, total = self.numbers[0], before = self.x[i]
        self.x[i] = total / (n * self.next_interval(total / (n * before), v))
        self.numbers[0] = total - before + self.x[i]
        if not n / FAR < self.numbers[0] < n * FAR:
            self.sum_anew()
        elif self.tree is not None:
            sum_tree_add(&self.tree.tree, i, self.units(self.x[i]) - self.units(before))

    cdef uint64_t units(self, double weight) noexcept nogil:
        return <uint64_t>llrint(weight / self.tree.unit)

    cdef void sum_anew(self) noexcept nogil:
        """Bring the total near the number of items, exactly in proportion, and sum the weights. O(n)."""
        cdef int exponent
        cdef double total = 0.0
        cdef Py_ssize_t i
        frexp(self.numbers[0] / <double>self.n_materials, &exponent)
        for i in range(self.n_materials):
            self.x[i] = max(ldexp(self.x[i], -exponent), LEAST)
            total += self.x[i]
        self.numbers[0] = total
        if self.tree is not None:
            with gil:
                self.plant()

    def plant(self):
        """Weights for draws, in units that leave room for as large a total as there may be."""
        cdef double unit = ldexp(1.0, math.frexp(self.n_materials * FAR)[1] - 60)
        self.tree.build(self.x[:self.n_materials], unit)

    cpdef prepare_draws(self):
        self.tree = WeightTree(self.n_materials)
        self.plant()

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return self.tree.draw(bits)
