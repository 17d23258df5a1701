"""Policies that do not learn while they poll, or learn once.

FixedAmounts keeps the amounts it was given. EstimateThenFix logs its first polls at uniform amounts; when
the log is full it calls back once for the amounts to keep from then on. O(1) a poll, O(log n) with random access.
Reference: the classical policies of Granmo et al. (2007), section III.C.
"""

import numpy as np


cdef class FixedAmounts(Learner):
    def __init__(self, double[::1] amounts):
        self.x = amounts
        self.n_materials = amounts.shape[0]

    cdef double amount(self, Py_ssize_t i) noexcept nogil:
        return self.x[i]

    cpdef prepare_draws(self):
        self.tree = WeightTree(self.n_materials)
        self.tree.build(self.x)

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        return self.tree.draw(bits)

    cpdef amounts(self):
        return np.array(self.x)


cdef class EstimateThenFix(FixedAmounts):
    """`finish(material, elapsed, changed)` returns the amounts (n_materials,) to keep."""

    def __init__(self, double[::1] amounts, int32_t[::1] log_material, double[::1] log_elapsed,
                 int8_t[::1] log_changed, Py_ssize_t n_logged, finish):
        FixedAmounts.__init__(self, amounts)
        self.log_material = log_material
        self.log_elapsed = log_elapsed
        self.log_changed = log_changed
        self.n_logged = n_logged
        self.finish = finish

    cdef void observe(self, Py_ssize_t i, double elapsed, int v, bitgen_t *bits) noexcept nogil:
        if self.n_logged >= self.log_material.shape[0]:
            return
        self.log_material[self.n_logged] = <int32_t>i
        self.log_elapsed[self.n_logged] = elapsed
        self.log_changed[self.n_logged] = v
        self.n_logged += 1
        if self.n_logged == self.log_material.shape[0]:
            self.failed = self.end_phase() < 0

    cdef int end_phase(self) noexcept nogil:
        with gil:
            try:
                self.x[:] = self.finish(np.asarray(self.log_material), np.asarray(self.log_elapsed),
                                        np.asarray(self.log_changed))
                if self.tree is not None:
                    self.tree.build(self.x)
            except BaseException as error:
                self.error = error
                return -1
        return 0
