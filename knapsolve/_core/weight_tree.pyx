"""Draws in proportion to amounts: csrc/sum_tree over numpy memory.

A learner with its own table of integer weights builds from units; anything else builds from
amounts, which are rounded to multiples of `unit`, a power of two chosen so that their sum has 61 bits.
"""

import math
import os

import numpy as np

cdef extern from "cpu_level.h":
    int cpu_level() nogil


def vector_level():
    """Level of vector code in use: 0 portable, 1 AVX2, 2 AVX-512 (KNAPSOLVE_CPU_LEVEL lowers it)."""
    return min(cpu_level(), int(os.environ.get("KNAPSOLVE_CPU_LEVEL", "2")))


cdef class WeightTree:
    def __init__(self, Py_ssize_t size):
        cdef Py_ssize_t length = sum_tree_size(size)
        cdef Py_ssize_t skip
        memory = np.zeros(length + 7, dtype=np.uint64)
        skip = (-memory.ctypes.data // 8) % 8      # one node is one cache line
        self.nodes = memory[skip:skip + length]
        self.size = size
        self.unit = 1.0
        sum_tree_init(&self.tree, &self.nodes[0], size, vector_level())

    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil:
        """A material, or -1 if every weight is zero."""
        cdef uint64_t total = sum_tree_total(&self.tree)
        if total == 0:
            return -1
        return sum_tree_draw(&self.tree, scale_bits(bits.next_uint64(bits.state), total))

    cpdef build_units(self, const uint64_t[::1] units):
        sum_tree_build(&self.tree, &units[0], self.size)

    cpdef build(self, const double[::1] amounts, double unit=0.0):
        vector = np.asarray(amounts)
        if unit == 0.0:
            total = float(vector.sum())
            unit = max(math.ldexp(1.0, math.frexp(total)[1] - 61), 5e-324) if total > 0 else 1.0
        self.unit = unit
        self.build_units(np.rint(vector / unit).astype(np.uint64))

    @property
    def total(self):
        """Sum of all weights, in units."""
        return sum_tree_total(&self.tree)
