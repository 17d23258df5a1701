# A sum tree over the materials' amounts, as integer units: exact whatever the number of changes.

from libc.stdint cimport int64_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t

cdef extern from "sum_tree.h":
    ctypedef struct sum_tree:
        pass
    int64_t sum_tree_size(int64_t n) nogil
    void sum_tree_init(sum_tree *tree, uint64_t *node, int64_t n, int level) nogil
    void sum_tree_build(sum_tree *tree, const uint64_t *weight, int64_t n) nogil
    uint64_t sum_tree_total(const sum_tree *tree) noexcept nogil
    int64_t sum_tree_draw(const sum_tree *tree, uint64_t u) noexcept nogil
    void sum_tree_add(sum_tree *tree, int64_t item, uint64_t change) noexcept nogil
    uint64_t scale_bits(uint64_t bits, uint64_t total) noexcept nogil


cdef class WeightTree:
    cdef sum_tree tree
    cdef readonly Py_ssize_t size
    cdef readonly double unit          # the amount that one unit stands for
    cdef uint64_t[::1] nodes
    cdef Py_ssize_t draw(self, bitgen_t *bits) noexcept nogil
    cpdef build_units(self, const uint64_t[::1] units)
    cpdef build(self, const double[::1] amounts, double unit=*)
