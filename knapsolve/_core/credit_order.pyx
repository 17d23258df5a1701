"""Access that follows amounts which change with every poll, where DeadlineOrder waits for deadlines set long ago.

CreditOrder. Each poll every material earns its share of the capacity, and the richest is polled. It pays 1; ties go
  to the lower index; credits start at zero. Every material's polls follow the sum of its shares to within about one,
  however the amounts change.
PresentDeadlineOrder. The material is polled whose last poll plus 1 / amount, the amount held now, is earliest; ties go
  to the lower index; all were polled at time 0.
  O(n) a poll: made for the two materials of Glimsdal and Granmo's tables, whose amounts change with every draw.
  Reference: Glimsdal and Granmo, section 2.2, step 4; deficit round robin (Shreedhar and Varghese 1996).
"""

import numpy as np

from libc.math cimport INFINITY

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner, Scheduler


cdef class CreditOrder(Scheduler):
    cdef double[::1] credit               # (n,) polls owed

    def start(self, Learner learner, generator):
        self.credit = np.zeros(learner.n_materials)

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t i, richest = -1
        cdef double total = 0.0
        for i in range(learner.n_materials):
            total += learner.amount(i)
        if not total > 0.0:
            return -1
        for i in range(learner.n_materials):
            self.credit[i] += learner.amount(i) / total
            if learner.amount(i) > 0.0 and (richest < 0 or self.credit[i] > self.credit[richest]):
                richest = i
        self.credit[richest] -= 1.0
        return richest


cdef class PresentDeadlineOrder(Scheduler):
    cdef double[::1] last                 # (n,) polls made until that of each material
    cdef double polls

    def start(self, Learner learner, generator):
        self.last, self.polls = np.zeros(learner.n_materials), 0.0

    cdef Py_ssize_t next(self, Learner learner, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t i, first = -1
        cdef double total = 0.0, deadline, earliest = INFINITY
        for i in range(learner.n_materials):
            total += learner.amount(i)
        for i in range(learner.n_materials):
            deadline = self.last[i] + total / learner.amount(i)
            if deadline < earliest:
                first, earliest = i, deadline
        self.polls += 1.0
        if first >= 0:
            self.last[first] = self.polls
        return first
