"""The two roles of the crawling loop: Chooser and World.

Subclasses are views over numpy state, made for one call and never pickled; their methods are
noexcept and nogil.
"""

import numpy as np

from knapsolve._core.shapes import check_count


cdef class Chooser:
    cpdef start(self, Py_ssize_t m):
        pass

    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil:
        return 0

    cdef void observe(self, Py_ssize_t m, const int32_t *sites, const double *ages,
                      const double *contents) noexcept nogil:
        pass

    cpdef prepare(self):
        pass

    def suggest(self, Py_ssize_t m):
        """The m sites to crawl now, ascending, of a chooser that need not prepare."""
        check_count("n_crawls", m, self.n_sites)
        result = np.empty(m, dtype=np.int32)
        cdef int32_t[::1] sites = result
        self.start(m)
        with nogil:
            self.choose(m, &sites[0])
        return result


cdef class World:
    cdef int crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil:
        return 0
