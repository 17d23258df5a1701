"""The plug-in Whittle policy: choose by the index of the estimated rates, after a seeding phase."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from knapsolve._core.crawl_roles cimport Chooser
from knapsolve._core.site_book cimport SiteBook
from knapsolve._core.top_sites cimport TopSites
from knapsolve._core.whittle_index cimport whittle_index_raw

cdef enum:
    BLOCK = 512


cdef class PlugInChooser(Chooser):
    """A view over a book. A choice is O(n_sites), an observation one fit.

    Key of a site: while it was crawled less than 2 * n_seeds times, 1e301 after an odd number of crawls (so
    that it is crawled at age 1 right after a longer wait), else 1e300 and more the fewer its crawls; then the
    index of rate + optimism * error of rate.
    """

    cdef SiteBook book
    cdef TopSites top
    cdef double n_seeds, optimism
    cdef double[::1] upper

    def __init__(self, SiteBook book, double n_seeds, double optimism):
        cdef Py_ssize_t i
        self.book, self.n_sites, self.n_seeds, self.optimism = book, book.n_sites, n_seeds, optimism
        self.upper = np.empty(book.n_sites)
        for i in range(book.n_sites):
            self.raise_rate(i)

    cpdef start(self, Py_ssize_t m):
        self.top = TopSites(m)

    cdef void raise_rate(self, Py_ssize_t i) noexcept nogil:
        cdef double rate = self.book.estimates[0, i], error = self.book.estimates[2, i]
        self.upper[i] = rate * (1.0 + self.optimism * error) if rate > 0.0 else self.optimism * error

    cdef void keys(self, Py_ssize_t start, Py_ssize_t m, double *out) noexcept nogil:
        cdef double age[BLOCK]
        cdef double limit[BLOCK]
        cdef double count, full = 2.0 * self.n_seeds
        cdef Py_ssize_t j
        if m < 1:
            return
        for j in range(m):
            age[j] = self.book.age_next(start + j)
            limit[j] = self.book.max_age
        whittle_index_raw(m, age, &self.upper[start], &self.book.estimates[1, start],
                          NULL if self.book.max_age == INFINITY else limit, NULL, out)
        for j in range(m):
            count = self.book.count[start + j]
            if count < full:
                out[j] = 1e301 if count % 2.0 == 1.0 else 1e300 * (1.0 + (full - count) / full)

    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil:
        cdef double key[BLOCK]
        cdef Py_ssize_t start = 0, many
        self.work += 15.0 * self.n_sites
        self.top.start()
        while start < self.n_sites:
            many = min(self.n_sites - start, <Py_ssize_t>BLOCK)
            self.keys(start, many, key)
            self.top.feed(many, key, <int32_t>start)
            start += many
        self.top.finish(sites)
        return 0

    cdef void observe(self, Py_ssize_t m, const int32_t *sites, const double *ages,
                      const double *contents) noexcept nogil:
        cdef Py_ssize_t j
        self.work += m * self.book.work
        for j in range(m):
            self.book.record(sites[j], ages[j], contents[j])
            self.book.refit(sites[j])
            self.raise_rate(sites[j])
