"""The two roles of the crawling loop: Chooser and World.

Subclasses are views over numpy state, made for one call and never pickled; their methods are
noexcept and nogil.
"""


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


cdef class World:
    cdef int crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil:
        return 0
