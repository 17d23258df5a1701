"""Policies that do not learn while they poll, or learn once, or now and then.

FixedAmounts keeps the amounts it was given. EstimateThenFix logs its first polls at uniform amounts; when
the log is full it calls back once for the amounts to keep from then on. FixAnew goes on with an empty log.
O(1) a poll, O(log n) with random access.
Reference: the classical policies of Granmo et al. (2006), section III.C.
"""

import numpy as np

from libc.math cimport llrint
from libc.stdint cimport uint64_t

from knapsolve._core.weight_tree cimport sum_tree_add, sum_tree_total


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

    def set_amount(self, Py_ssize_t i, double amount):
        """Change one amount and its weight in the draws; O(log n), or O(n) where the unit does not fit."""
        cdef double unit = self.tree.unit
        cdef uint64_t change = <uint64_t>llrint(amount / unit) - <uint64_t>llrint(self.x[i] / unit)
        cdef double others = (<double>sum_tree_total(&self.tree.tree)) * self.tree.unit - self.x[i]
        self.x[i] = amount
        if 2.0 ** 50 < (others + amount) / self.tree.unit < 2.0 ** 62:
            sum_tree_add(&self.tree.tree, i, change)
        else:
            self.tree.build(self.x)

    def prepare_draws_in(self, double unit):
        """As prepare_draws, with weights in multiples of `unit`: a restored scheduler draws the same."""
        self.tree = WeightTree(self.n_materials)
        self.tree.build(self.x, unit)

    @property
    def unit(self):
        """What one unit of weight stands for."""
        return self.tree.unit

    @property
    def total_amount(self):
        """Sum of the amounts that draws go by."""
        return self.tree.total * self.tree.unit


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
                np.asarray(self.x)[:] = self.finish(
                    np.asarray(self.log_material), np.asarray(self.log_elapsed), np.asarray(self.log_changed)
                )
                if self.tree is not None:
                    self.tree.build(self.x)
            except BaseException as error:
                self.error = error
                return -1
        return 0


cdef class FixAnew(EstimateThenFix):
    """Every full log is handed to `finish` and begun again."""

    cdef int end_phase(self) noexcept nogil:
        self.n_logged = 0
        return EstimateThenFix.end_phase(self)
