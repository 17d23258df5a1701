"""The m sites with the largest keys; lower site number first among equals."""

import numpy as np

from knapsolve._core.shapes import check_count

RANKED = np.dtype([("key", np.float64), ("site", np.int32), ("unused", np.int32)])
assert RANKED.itemsize == sizeof(ranked)


cdef class TopSites:
    def __init__(self, Py_ssize_t m):
        self.m = m
        self.items = np.empty(2 * m, dtype=RANKED)

    cdef void start(self) noexcept nogil:
        top_stream_start(&self.stream, &self.items[0], self.m)

    cdef void feed(self, Py_ssize_t n, const double *keys, int32_t first) noexcept nogil:
        top_stream_feed(&self.stream, n, keys, first)

    cdef void finish(self, int32_t *sites) noexcept nogil:
        cdef Py_ssize_t j
        top_stream_finish(&self.stream)
        for j in range(self.m):
            sites[j] = self.items[j].site
        top_sort_sites(sites, self.m, <int32_t *>&self.items[0])


def top_sites(const double[::1] keys, Py_ssize_t m):
    """The m sites with the largest keys (n,), ascending; NaN counts as -inf."""
    check_count("m", m, keys.shape[0])
    result = np.empty(m, dtype=np.int32)
    cdef int32_t[::1] sites = result
    cdef TopSites top = TopSites(m)
    with nogil:
        top.start()
        top.feed(keys.shape[0], &keys[0], 0)
        top.finish(&sites[0])
    return result
