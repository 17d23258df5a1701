# The m sites with the largest keys, fed in ascending ranges (csrc/top_select.h).

from libc.stdint cimport int32_t

cdef extern from "top_select.h":
    cdef struct ranked:
        double key
        int32_t site
        int32_t unused

    cdef struct top_stream:
        ranked *items
        Py_ssize_t wanted
        Py_ssize_t size

    void top_stream_start(top_stream *stream, ranked *items, Py_ssize_t wanted) noexcept nogil
    void top_stream_feed(top_stream *stream, Py_ssize_t n, const double *keys, int32_t first) noexcept nogil
    void top_stream_finish(top_stream *stream) noexcept nogil
    void top_sort_sites(int32_t *sites, Py_ssize_t n, int32_t *room) noexcept nogil


cdef class TopSites:
    cdef Py_ssize_t m
    cdef ranked[::1] items
    cdef top_stream stream
    cdef void start(self) noexcept nogil
    cdef void feed(self, Py_ssize_t n, const double *keys, int32_t first) noexcept nogil
    # At least m sites must have been fed; sites (m,) ascending.
    cdef void finish(self, int32_t *sites) noexcept nogil
