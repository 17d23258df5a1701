"""The exact sum of an array of doubles (csrc/exact_sum.h)."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint64_t

cdef extern from "exact_sum.h":
    int EXACT_BUCKETS
    void exact_sum_add(uint64_t *bucket, const double *x, Py_ssize_t n) noexcept nogil

SCALE = 1 << 1075             # what an integer sum is divided by
cdef Py_ssize_t CHUNK = 1 << 20


def exact_sum(const double[::1] x):
    """The sum of x (n,), all finite, times SCALE: an integer."""
    cdef uint64_t[128] bucket
    cdef Py_ssize_t start, n = x.shape[0]
    cdef int k
    for k in range(2 * EXACT_BUCKETS):
        bucket[k] = 0
    for start in range(0, n, CHUNK):
        with nogil:
            exact_sum_add(bucket, &x[start], min(CHUNK, n - start))
        PyErr_CheckSignals()
    total = 0
    for k in range(EXACT_BUCKETS):
        part = (<object>bucket[2 * k + 1] << 64) | <object>bucket[2 * k]
        total += (part - (1 << 128) if part >> 127 else part) << (32 * k)
    return total
