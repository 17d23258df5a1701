# The two roles of the crawling loop (ephemeral.pyx): who chooses the sites, and the world they are in.

from libc.stdint cimport int32_t

cdef enum:
    LOOK = 5000000  # work between two looks at signals


cdef class Chooser:
    cdef readonly Py_ssize_t n_sites
    cdef double work  # what its calls have taken since it was set to 0, about a nanosecond a unit
    # Make room for choices of m sites.
    cpdef start(self, Py_ssize_t m)
    # Choose m sites, ascending, for the step that is due. Not 0: call prepare() and ask again.
    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil
    # What those crawls brought: `ages` steps of content after the crawl before. Told at once or in parts.
    cdef void observe(self, Py_ssize_t m, const int32_t *sites, const double *ages,
                      const double *contents) noexcept nogil
    # Long work that a choice may need first; looks at Ctrl-C.
    cpdef prepare(self)


cdef class World:
    cdef readonly Py_ssize_t n_sites
    cdef double work  # as a Chooser's
    # Crawl m sites, then let a step pass: ages (m,) in steps, contents (m,) in items. Not 0: it is not complete,
    # since `work` is beyond LOOK: set that to 0 and ask again, for the same.
    cdef int crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil
