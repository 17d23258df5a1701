# The two roles of the crawling loop (ephemeral.pyx): who chooses the sites, and the world they are in.

from libc.stdint cimport int32_t


cdef class Chooser:
    cdef readonly Py_ssize_t n_sites
    # Make room for choices of m sites.
    cpdef start(self, Py_ssize_t m)
    # Choose m sites, ascending, for the step that is due. Not 0: call prepare() and ask again.
    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil
    # What those crawls brought: `ages` steps of content after the crawl before.
    cdef void observe(self, Py_ssize_t m, const int32_t *sites, const double *ages,
                      const double *contents) noexcept nogil
    # Long work that a choice may need first; looks at Ctrl-C.
    cpdef prepare(self)


cdef class World:
    cdef readonly Py_ssize_t n_sites
    # Crawl m sites, then let a step pass: ages (m,) in steps, contents (m,) in items.
    cdef void crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil
