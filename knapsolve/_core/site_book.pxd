# What a learner keeps of every site: totals by age, estimates, the step of the last crawl, and the clock.

from libc.stdint cimport int32_t


cdef extern from "decay_fit.h":
    cdef struct age_totals:
        double age
        double count
        double content

    cdef struct decay_prior:
        double log_decay
        double spread
        double low
        double high

    cdef struct decay_estimate:
        double rate
        double decay
        double rate_error
        double decay_error

    void decay_totals_add(age_totals *totals, Py_ssize_t slots, double age, double content) noexcept nogil
    decay_estimate decay_fit(const age_totals *totals, Py_ssize_t slots, double max_age,
                             const decay_prior *prior) noexcept nogil


cdef class SiteBook:
    cdef readonly Py_ssize_t n_sites
    cdef double[:, :, ::1] totals  # (n_sites, slots, 3): age, count, content
    cdef double[:, ::1] estimates  # (4, n_sites): rate, decay, error of ln rate, error of ln decay
    cdef double[::1] last          # (n_sites,) step of the last crawl
    cdef double[::1] count         # (n_sites,) crawls so far
    cdef double[::1] clock         # (1,) step of the newest record
    cdef double max_age
    cdef double work               # of a record and a fit: see Chooser
    cdef decay_prior prior

    # Whether a record opens a new step.
    cdef bint opens(self, Py_ssize_t i, double age) noexcept nogil
    # Enter a crawl; the estimates wait for refit.
    cdef void record(self, Py_ssize_t i, double age, double content) noexcept nogil
    cdef void refit(self, Py_ssize_t i) noexcept nogil
    # Steps of content that site i will hold when the step after the newest record is decided.
    cdef double age_next(self, Py_ssize_t i) noexcept nogil
