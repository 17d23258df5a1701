"""What a learner keeps of every site, as views over the estimator's arrays.

A log names the age of each crawl, not its time; time is recovered: site i's crawls happen at the running
sums of its ages, counted from step 0 at which every site was empty, and a record whose time is later than
all before it opens a new step. Nothing here draws random numbers, so a log split anywhere gives the
same bits.
"""

import numpy as np

from knapsolve._core.shapes import check_shapes

from libc.math cimport log

from cpython.exc cimport PyErr_CheckSignals


cdef class SiteBook:
    def __init__(self, double[:, :, ::1] totals, double[:, ::1] estimates, double[::1] last,
                 double[::1] count, double[::1] clock, double max_age, tuple prior):
        cdef Py_ssize_t n = totals.shape[0], slots = max(totals.shape[1], <Py_ssize_t>3)
        check_shapes(
            totals_=((n, totals.shape[1], totals.shape[2]), (n, slots, 3)),
            estimates_=((estimates.shape[0], estimates.shape[1]), (4, n)),
            last_crawls_=((last.shape[0],), (n,)),
            n_crawls_=((count.shape[0],), (n,)),
            clock_=((clock.shape[0],), (1,)),
        )
        self.totals, self.estimates, self.last, self.count = totals, estimates, last, count
        self.clock, self.max_age, self.n_sites = clock, max_age, n
        self.work = 250.0 * slots      # about 12 evaluations
        decay, self.prior.spread, self.prior.low, self.prior.high = prior
        self.prior.log_decay = log(decay)

    cdef bint opens(self, Py_ssize_t i, double age) noexcept nogil:
        return self.last[i] + age > self.clock[0]

    cdef void record(self, Py_ssize_t i, double age, double content) noexcept nogil:
        cdef double time = self.last[i] + age
        if time > self.clock[0]:
            self.clock[0] = time
        self.last[i] = self.clock[0]
        self.count[i] += 1.0
        if age > 0.0:
            decay_totals_add(<age_totals *>&self.totals[i, 0, 0], self.totals.shape[1], age, content)

    cdef void refit(self, Py_ssize_t i) noexcept nogil:
        cdef decay_estimate e = decay_fit(<age_totals *>&self.totals[i, 0, 0], self.totals.shape[1],
                                          self.max_age, &self.prior)
        self.estimates[0, i], self.estimates[1, i] = e.rate, e.decay
        self.estimates[2, i], self.estimates[3, i] = e.rate_error, e.decay_error

    cdef double age_next(self, Py_ssize_t i) noexcept nogil:
        return self.clock[0] + 1.0 - self.last[i]

    def learn(self, const int32_t[::1] sites, const double[::1] ages, const double[::1] contents):
        """Enter a log of crawls (n,) in time order, then refit the sites in it."""
        cdef Py_ssize_t j, start = 0, stop, n = sites.shape[0]
        check_shapes(ages=((ages.shape[0],), (n,)), contents=((contents.shape[0],), (n,)))
        cdef unsigned char[::1] touched = np.zeros(self.n_sites, dtype=np.uint8)
        while start < n:
            stop = min(start + 65536, n)
            with nogil:
                for j in range(start, stop):
                    self.record(sites[j], ages[j], contents[j])
                    touched[sites[j]] = 1
            start = stop
            PyErr_CheckSignals()
        for j in range(self.n_sites):
            if touched[j]:
                with nogil:
                    self.refit(j)
            if j % 1024 == 0:
                PyErr_CheckSignals()
