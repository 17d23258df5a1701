"""Threshold policies learnt by LSPE(0) and a policy gradient.

The state is what the sites are believed to hold, as shares of the most they can: x_i = 1 - e^(-c_i k_i), k_i
the age and c_i the estimated decay. Site i's threshold is T_i = q_i . (1, s_i, s_i^2), s_i the mean of the
other sites' x, put back into [1 - e^-c_i, 1], where x_i lives; the chance to crawl it is modelled as
    p_i = 1/(1 + e^-z_i),  z_i = steepness * (x_i - T_i - 0.5/ceiling_i),
and the step is decided by the n_crawls largest z_i plus standard Gumbel noise, which draws sites in
proportion to their odds. A transition from x to x' that collected R/sum(ceilings) updates the LSPE weights r
of features (x_j, and x_i x_j for i <= j), and then q_i <- q_i + a_n d ln p / d q_i * (r . features(x')).
Avrachenkov and Borkar (2019), eqs (8)-(9).
"""

import numpy as np

from knapsolve._core.shapes import check_count, check_shapes

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport ceil, exp, expm1, log
from libc.stdint cimport int32_t, uint64_t

from knapsolve._core.crawl_roles cimport Chooser
from knapsolve._core.lspe cimport LSPE
from knapsolve._core.random_bits cimport split_mix
from knapsolve._core.site_book cimport SiteBook
from knapsolve._core.top_sites cimport TopSites


cdef class LSPEChooser(Chooser):
    """A view over a book, an LSPE, thresholds q (n_sites, 3) and the step in progress.

    Of that step, pending (n_sites,) holds the ages at which its sites were crawled, or -1, and collected (1,)
    the content. A choice is O(n_sites), a step O(features^2) or, with Tikhonov's delta, O(features^3).
    """

    cdef SiteBook book
    cdef LSPE evaluation
    cdef TopSites top
    cdef double[:, ::1] q
    cdef double[::1] pending
    cdef double[::1] collected
    cdef double steepness, step_size, n_seeds
    cdef int degree
    cdef uint64_t seed
    cdef double[:, ::1] state
    cdef double[:, ::1] features
    cdef double[::1] key

    def __init__(self, SiteBook book, LSPE evaluation, double[:, ::1] q, double[::1] pending,
                 double[::1] collected, double steepness, double step_size, double n_seeds, int degree,
                 uint64_t seed):
        cdef Py_ssize_t n = book.n_sites
        check_count("degree", degree, 2)
        check_shapes(
            weights_=((evaluation.n_features,), (n if degree == 1 else n + n * (n + 1) // 2,)),
            thresholds_=((q.shape[0], q.shape[1]), (n, 3)),
            pending_=((pending.shape[0],), (n,)),
            collected_=((collected.shape[0],), (1,)),
        )
        self.book, self.evaluation, self.q = book, evaluation, q
        self.pending, self.collected = pending, collected
        self.n_sites, self.seed, self.degree = book.n_sites, seed, degree
        self.steepness, self.step_size, self.n_seeds = steepness, step_size, n_seeds
        self.state = np.empty((2, book.n_sites))
        self.features = np.empty((2, evaluation.n_features))
        self.key = np.empty(book.n_sites)

    cpdef start(self, Py_ssize_t m):
        self.top = TopSites(m)

    cdef double share(self, Py_ssize_t i, double age) noexcept nogil:
        return -expm1(-self.book.estimates[1, i] * min(age, self.book.max_age))

    cdef double odds(self, Py_ssize_t i, const double *x, double total, double *psi) noexcept nogil:
        """z_i; psi (3,) becomes d T_i / d q_i."""
        cdef double others = (total - x[i]) / max(self.n_sites - 1, 1)
        cdef double ceiling = self.book.estimates[0, i] / self.book.estimates[1, i]
        cdef double threshold, z
        psi[0], psi[1], psi[2] = 1.0, others, others * others
        threshold = self.q[i, 0] + self.q[i, 1] * psi[1] + self.q[i, 2] * psi[2]
        threshold = min(max(threshold, -expm1(-self.book.estimates[1, i])), 1.0)
        z = self.steepness * (x[i] - threshold - 0.5 / max(ceiling, 0.5))
        return min(max(z, -40.0), 40.0)

    cdef void write_features(self, const double *x, double *out) noexcept nogil:
        cdef Py_ssize_t i, j, at = 0
        for j in range(self.n_sites):
            out[at] = x[j]
            at += 1
            if self.degree == 2:
                for i in range(j + 1):
                    out[at] = x[i] * x[j]
                    at += 1

    cdef void close(self) noexcept nogil:
        """Learn from the step in progress, now that it is over."""
        cdef Py_ssize_t i, k
        cdef double total = 0.0, scale = 0.0, value, z, p, push, a
        cdef double psi[3]
        cdef double *x = &self.state[0, 0]
        for i in range(self.n_sites):
            x[i] = self.share(i, self.pending[i] if self.pending[i] >= 0.0 else self.book.age_next(i) - 1.0)
            self.state[1, i] = self.share(i, self.book.age_next(i))
            total += x[i]
            scale += self.book.estimates[0, i] / self.book.estimates[1, i]
        self.write_features(x, &self.features[0, 0])
        self.write_features(&self.state[1, 0], &self.features[1, 0])
        self.evaluation.update(&self.features[0, 0], &self.features[1, 0],
                               self.collected[0] / scale if scale > 0.0 else 0.0)
        value = self.evaluation.value(&self.features[1, 0])
        a = self.step_size / ceil(self.evaluation.numbers[0] / 500.0)
        for i in range(self.n_sites):
            z = self.odds(i, x, total, psi)
            p = 1.0 / (1.0 + exp(-z))
            push = -(1.0 - p) if self.pending[i] >= 0.0 else p
            for k in range(3):
                self.q[i, k] += a * self.steepness * push * psi[k] * value
                self.q[i, k] = min(max(self.q[i, k], -1e6), 1e6)
            self.pending[i] = -1.0
        self.collected[0] = 0.0

    cdef void feed(self, Py_ssize_t i, double age, double content) noexcept nogil:
        self.work += self.book.work
        if self.book.opens(i, age) and self.book.clock[0] > 0.0:
            self.work += self.evaluation.work + 50.0 * self.n_sites
            self.close()
        self.book.record(i, age, content)
        self.book.refit(i)
        self.pending[i] = age
        self.collected[0] += content

    cdef int choose(self, Py_ssize_t m, int32_t *sites) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0.0, count
        cdef double psi[3]
        self.work += 50.0 * self.n_sites
        for i in range(self.n_sites):
            self.state[0, i] = self.share(i, self.book.age_next(i))
            total += self.state[0, i]
        for i in range(self.n_sites):
            count = self.book.count[i]
            if count < 2.0 * self.n_seeds:
                self.key[i] = 1e301 if count % 2.0 == 1.0 else 1e300 * (3.0 - count / (2.0 * self.n_seeds))
            else:
                self.key[i] = self.odds(i, &self.state[0, 0], total, psi) + self.gumbel(i)
        self.top.start()
        self.top.feed(self.n_sites, &self.key[0], 0)
        self.top.finish(sites)
        return 0

    cdef double gumbel(self, Py_ssize_t i) noexcept nogil:
        """Standard Gumbel noise, a function of the seed, the step and the site alone."""
        cdef uint64_t bits = split_mix(split_mix(self.seed + <uint64_t>self.book.clock[0]) + <uint64_t>i)
        return -log(-log(((bits >> 12) + 0.5) * 2.220446049250313e-16))

    cdef void observe(self, Py_ssize_t m, const int32_t *sites, const double *ages,
                      const double *contents) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(m):
            self.feed(sites[j], ages[j], contents[j])

    def learn(self, const int32_t[::1] sites, const double[::1] ages, const double[::1] contents):
        """Learn from a log of crawls (n,) in time order."""
        cdef Py_ssize_t j, n = sites.shape[0]
        check_shapes(ages=((ages.shape[0],), (n,)), contents=((contents.shape[0],), (n,)))
        for j in range(n):
            with nogil:
                self.feed(sites[j], ages[j], contents[j])
            PyErr_CheckSignals()
