"""The Whittle index policy over n sites: brute force, and the calendar that gives the same crawls.

Both decide one step at a time: the n_crawls sites of largest index, lower site number first among
equals; then every site is one step older. State lives in numpy arrays that the caller keeps.
"""

import numpy as np

from knapsolve._core.shapes import check_count, check_shapes
from knapsolve._core.top_sites import RANKED

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t

from knapsolve._core.crawl_roles cimport Chooser
from knapsolve._core.top_sites cimport TopSites, ranked, top_stream, top_stream_start
from knapsolve._core.whittle_index cimport (
    site,
    whittle_content,
    whittle_index_columns,
    whittle_prepare,
    whittle_prepare_columns,
)

cdef extern from "index_calendar.h":
    enum:
        CALENDAR_LOWER
        CALENDAR_PATH
        CALENDAR_SAMPLE
    cdef struct site_chunk:
        int32_t next
    cdef struct bucket_head:
        int32_t chunk
    cdef struct site_buckets:
        bucket_head *heads
        site_chunk *chunks
        Py_ssize_t n_buckets
        int32_t n_used
        int32_t free
    cdef struct calendar:
        Py_ssize_t n_sites
        Py_ssize_t n_crawls
        site *sites
        site_buckets due
        ranked *hot
        int32_t *room
        Py_ssize_t n_hot
        Py_ssize_t slack
        Py_ssize_t window
        Py_ssize_t waited
        Py_ssize_t least_rest
        double level
        double cutoff
        double swing
        Py_ssize_t n_path
        const double *path_step
        const double *path_level
        double now

    Py_ssize_t site_buckets_wanted(Py_ssize_t n_sites, Py_ssize_t n_buckets) noexcept nogil
    int calendar_step(calendar *c, int32_t *sites, double *contents) noexcept nogil
    Py_ssize_t calendar_wanted(const calendar *c) noexcept nogil
    void calendar_scan(const calendar *c, top_stream *stream, Py_ssize_t start,
                       Py_ssize_t stop) noexcept nogil
    void calendar_set_level(calendar *c, top_stream *stream) noexcept nogil
    void calendar_clear(calendar *c) noexcept nogil
    void calendar_place(calendar *c, Py_ssize_t start, Py_ssize_t stop) noexcept nogil

cdef extern from "calendar_path.h":
    Py_ssize_t calendar_foresee(calendar *c, site *sample, double *steps, double *levels) noexcept nogil

cdef enum:
    BLOCK = 512
    RANGE = 1 << 17  # sites handled between two looks at Ctrl-C
    PATH = 12  # the place of the path among a calendar's numbers

NUMBERS = PATH + 2 * CALENDAR_PATH


def chunks_wanted(Py_ssize_t n_sites, Py_ssize_t n_buckets):
    """Rows of 16 numbers that so many sites in so many buckets may take."""
    return site_buckets_wanted(n_sites, n_buckets)


cdef class BruteForce(Chooser):
    """Views over columns (8, n) of csrc's `struct site`, for one call. O(n) a step."""

    cdef double[:, ::1] columns
    cdef TopSites top
    cdef double[::1] clock
    cdef Py_ssize_t n_crawls

    def __init__(self, double[:, ::1] columns, double[::1] clock, Py_ssize_t n_crawls):
        check_shapes(columns=((columns.shape[0], columns.shape[1]), (8, columns.shape[1])),
                     clock=((clock.shape[0],), (NUMBERS,)))
        check_count("n_crawls", n_crawls, columns.shape[1])
        self.columns = columns
        self.clock = clock
        self.n_crawls = n_crawls
        self.n_sites = columns.shape[1]
        self.top = TopSites(n_crawls)

    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil:
        self.work += 5.0 * self.n_sites
        self.step(sites, NULL)
        return 0

    cdef void step(self, int32_t *sites, double *contents) noexcept nogil:
        cdef double age[BLOCK]
        cdef double key[BLOCK]
        cdef Py_ssize_t n = self.columns.shape[1], start = 0, m, j
        cdef double now = self.clock[0]
        cdef double *last = &self.columns[7, 0]
        self.top.start()
        while start < n:
            m = min(n - start, <Py_ssize_t>BLOCK)
            for j in range(m):
                age[j] = now - last[start + j]
            whittle_index_columns(m, age, &self.columns[0, start], &self.columns[1, start],
                                  &self.columns[2, start], &self.columns[3, start], &self.columns[5, start],
                                  &self.columns[6, start], key)
            self.top.feed(m, key, <int32_t>start)
            start += m
        self.top.finish(sites)
        for j in range(self.n_crawls):
            if contents != NULL:
                contents[j] = whittle_content(self.columns[0, sites[j]], self.columns[1, sites[j]],
                                              self.columns[5, sites[j]], now - last[sites[j]])
            last[sites[j]] = now
        self.clock[0] = now + 1.0

    def run(self, double[::1] reward, int32_t[:, ::1] crawls):
        """Decide reward.shape[0] steps; crawls has as many rows, or one that is used again and again."""
        cdef Py_ssize_t t, n_steps = reward.shape[0]
        cdef bint keep = crawls.shape[0] == n_steps
        cdef double[::1] contents = np.empty(self.n_crawls)
        check_shapes(crawls=((crawls.shape[0], crawls.shape[1]), (n_steps if keep else 1, self.n_crawls)))
        for t in range(n_steps):
            with nogil:
                self.step(&crawls[t if keep else 0, 0], &contents[0])
                reward[t] = total(contents)
            PyErr_CheckSignals()


cdef class Calendar(Chooser):
    """Views over the arrays of csrc's `struct calendar`, for one call.

    numbers (NUMBERS,) holds (now, level, n_hot, waited, least_rest, window, slack, n_path, cutoff, swing, chunks
    used, first free chunk, steps and levels of the path) between calls; level NaN: not placed yet.
    """

    cdef calendar c
    cdef double[::1] numbers
    cdef double[:, ::1] sites
    cdef int32_t[:, ::1] heads
    cdef int32_t[:, ::1] chunks
    cdef int32_t[::1] room
    cdef ranked[::1] hot

    def __init__(self, double[:, ::1] sites, int32_t[:, ::1] heads, int32_t[:, ::1] chunks, ranked[::1] hot,
                 double[::1] numbers, Py_ssize_t n_crawls):
        cdef Py_ssize_t n = sites.shape[0], n_buckets = 1
        while 2 * n_buckets <= heads.shape[0]:
            n_buckets *= 2
        check_shapes(sites=((n, sites.shape[1]), (n, 8)),
                     heads=((heads.shape[0], heads.shape[1]), (n_buckets, 2)),
                     chunks=((chunks.shape[0], chunks.shape[1]), (site_buckets_wanted(n, n_buckets), 16)),
                     hot=((hot.shape[0],), (n,)), numbers=((numbers.shape[0],), (NUMBERS,)))
        check_count("n_crawls", n_crawls, n)
        self.sites, self.heads, self.chunks, self.hot, self.numbers = sites, heads, chunks, hot, numbers
        self.room = np.empty(n_crawls, dtype=np.int32)
        self.n_sites = sites.shape[0]
        self.c.n_sites, self.c.n_crawls = sites.shape[0], n_crawls
        self.c.sites = <site *>&sites[0, 0]
        self.c.due.heads, self.c.due.chunks = <bucket_head *>&heads[0, 0], <site_chunk *>&chunks[0, 0]
        self.c.due.n_buckets = n_buckets
        self.c.due.n_used, self.c.due.free = <int32_t>numbers[10], <int32_t>numbers[11]
        self.c.hot, self.c.room = &self.hot[0], &self.room[0]
        self.c.now, self.c.level, self.c.n_hot = numbers[0], numbers[1], <Py_ssize_t>numbers[2]
        self.c.cutoff, self.c.swing = numbers[8], numbers[9]
        self.c.waited, self.c.least_rest = <Py_ssize_t>numbers[3], <Py_ssize_t>numbers[4]
        self.c.window, self.c.slack = <Py_ssize_t>numbers[5], <Py_ssize_t>numbers[6]
        self.c.n_path = <Py_ssize_t>numbers[7]
        self.c.path_step, self.c.path_level = &self.numbers[PATH], &self.numbers[PATH + CALENDAR_PATH]

    cpdef prepare(self):
        """Place all sites anew: at first for a level that a sample foresees, else below one that enough
        reach."""
        cdef bint first = self.numbers[1] != self.numbers[1]
        cdef Py_ssize_t least = max(self.c.n_crawls, <Py_ssize_t>64)
        self.numbers[1] = np.nan  # a Ctrl-C before the end leaves the calendar to be placed again
        self.c.slack = least if first else min(2 * self.c.slack, 4 * least)
        self.c.window = 64
        if first:
            self.foresee()
        if not first or self.c.n_hot < self.c.n_crawls:
            self.scan()
        self.keep()

    cdef int foresee(self) except -1:
        cdef double[:, ::1] sample = np.empty((CALENDAR_SAMPLE, self.sites.shape[1]))
        self.c.n_path = calendar_foresee(&self.c, <site *>&sample[0, 0], &self.numbers[PATH],
                                         &self.numbers[PATH + CALENDAR_PATH])
        return self.place()

    cdef int scan(self) except -1:
        cdef top_stream stream
        cdef Py_ssize_t start, wanted = calendar_wanted(&self.c)
        cdef ranked[::1] best = np.empty(2 * wanted, dtype=RANKED)
        top_stream_start(&stream, &best[0], wanted)
        for start in range(0, self.c.n_sites, RANGE):
            PyErr_CheckSignals()
            with nogil:
                calendar_scan(&self.c, &stream, start, min(start + RANGE, self.c.n_sites))
        calendar_set_level(&self.c, &stream)
        return self.place()

    cdef int place(self) except -1:
        """Sort all sites into hot ones and the calendar; looks at Ctrl-C now and then."""
        cdef Py_ssize_t start
        calendar_clear(&self.c)
        for start in range(0, self.c.n_sites, RANGE):
            PyErr_CheckSignals()
            with nogil:
                calendar_place(&self.c, start, min(start + RANGE, self.c.n_sites))
        return 0

    cdef void keep(self) noexcept nogil:
        self.numbers[0], self.numbers[1], self.numbers[2] = self.c.now, self.c.level, <double>self.c.n_hot
        self.numbers[3], self.numbers[4] = <double>self.c.waited, <double>self.c.least_rest
        self.numbers[5], self.numbers[6] = <double>self.c.window, <double>self.c.slack
        self.numbers[7], self.numbers[8], self.numbers[9] = <double>self.c.n_path, self.c.cutoff, self.c.swing
        self.numbers[10], self.numbers[11] = <double>self.c.due.n_used, <double>self.c.due.free

    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil:
        self.work += 100.0 * m + 10.0 * self.c.n_hot
        return self.step(sites, NULL)

    cdef int step(self, int32_t *sites, double *contents) noexcept nogil:
        cdef int status
        if self.numbers[1] != self.numbers[1]:
            return CALENDAR_LOWER
        status = calendar_step(&self.c, sites, contents)
        self.keep()
        return status

    def run(self, double[::1] reward, int32_t[:, ::1] crawls):
        """As BruteForce.run; returns how many times the level had to be lowered."""
        cdef Py_ssize_t t = 0, n_steps = reward.shape[0]
        cdef int n_lowered = 0
        cdef bint keep = crawls.shape[0] == n_steps
        cdef double[::1] contents = np.empty(self.c.n_crawls)
        cdef int status
        check_shapes(crawls=((crawls.shape[0], crawls.shape[1]), (n_steps if keep else 1, self.c.n_crawls)))
        while t < n_steps:
            with nogil:
                status = self.step(&crawls[t if keep else 0, 0], &contents[0])
                if status != CALENDAR_LOWER:
                    reward[t] = total(contents)
            if status == CALENDAR_LOWER:
                self.prepare()
                n_lowered += 1
            else:
                t += 1
            PyErr_CheckSignals()
        return n_lowered


cdef double total(const double[::1] values) noexcept nogil:
    cdef double s = 0.0
    cdef Py_ssize_t j
    for j in range(values.shape[0]):
        s += values[j]
    return s


def site_rows(const double[::1] rate, const double[::1] decay, const double[::1] max_age, double[:, ::1] out):
    """Fill rows (n, 8) of csrc's `struct site`."""
    cdef Py_ssize_t n = rate.shape[0]
    check_shapes(decay=((decay.shape[0],), (n,)), max_age=((max_age.shape[0],), (n,)),
                 out=((out.shape[0], out.shape[1]), (n, 8)))
    whittle_prepare(rate.shape[0], &rate[0], &decay[0], &max_age[0], <site *>&out[0, 0])


def site_columns(const double[::1] rate, const double[::1] decay, const double[::1] max_age,
                 double[:, ::1] out):
    """Fill the same as columns (8, n)."""
    cdef Py_ssize_t n = rate.shape[0]
    check_shapes(decay=((decay.shape[0],), (n,)), max_age=((max_age.shape[0],), (n,)),
                 out=((out.shape[0], out.shape[1]), (8, n)))
    whittle_prepare_columns(rate.shape[0], &rate[0], &decay[0], &max_age[0], &out[0, 0])
