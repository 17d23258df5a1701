"""Sites with ephemeral content, and the loop that lets a chooser crawl them.

Content arrives at site i by a Poisson process of rate lam_i; an item that is s steps old is worth
e^(-c_i s), and nothing once it is older than M_i. A crawl k steps after the last one collects all that
is there: sum over K of e^(-c_i s_j), K Poisson(lam_i w), s_j uniform on [0, w), w = min(k, M_i); or
its mean (lam_i/c_i)(1 - e^(-c_i w)). What was not crawled is not observed, so nothing else is drawn.
"""

import numpy as np

from knapsolve._core.shapes import check_count, check_shapes

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t

from knapsolve._core.crawl_roles cimport LOOK, Chooser, World
from knapsolve._core.random_bits cimport bitgen_t, bits_of
from knapsolve._core.whittle_index cimport decay_exp_sum, whittle_content

cdef extern from "numpy/random/distributions.h":
    int64_t random_poisson(bitgen_t *bitgen, double mean) noexcept nogil

cdef enum:
    BLOCK = 256
    PART = 64  # crawls that a chooser is told of at once

# Content older than this over the decay rate is worth less than 1e-17 of new content.
cdef double FORGOTTEN = 40.0


cdef class EphemeralWorld(World):
    """Views over rates (n,) a step, max_age (n,) steps, the steps `last` (n,) of the last crawls, and the
    clock (1,): the step that is due. bits is NULL for the mean dynamics. A crawl is O(items collected).
    """

    cdef const double[::1] rate
    cdef const double[::1] decay
    cdef const double[::1] max_age
    cdef double[::1] last
    cdef double[::1] clock
    cdef object generator
    cdef bitgen_t *bits
    cdef Py_ssize_t at   # how many sites of a crawl that is not complete are
    cdef int64_t left    # items to draw yet at the next one; -1: not begun
    cdef double sum      # of those drawn

    def __init__(self, const double[::1] rate, const double[::1] decay, const double[::1] max_age,
                 double[::1] last, double[::1] clock, object generator):
        cdef Py_ssize_t n = rate.shape[0]
        check_shapes(decay_rates=((decay.shape[0],), (n,)), max_age=((max_age.shape[0],), (n,)),
                     last=((last.shape[0],), (n,)), clock=((clock.shape[0],), (1,)))
        self.rate, self.decay, self.max_age, self.last, self.clock = rate, decay, max_age, last, clock
        self.n_sites = n
        self.generator = generator
        self.bits = NULL if generator is None else bits_of(generator)
        self.at, self.left, self.sum = 0, -1, 0.0

    cdef bint collect(self, int32_t i, double age) noexcept nogil:
        """Make `sum` what site i holds; False: there is more to draw than should be at once, call again."""
        cdef double draws[BLOCK]
        cdef double window = min(age, self.max_age[i], FORGOTTEN / self.decay[i])
        cdef Py_ssize_t m, j
        self.work += 50.0
        if self.bits == NULL:
            self.sum = whittle_content(self.rate[i] / self.decay[i], self.decay[i], self.max_age[i], age)
            return True
        if self.left < 0:
            self.left = random_poisson(self.bits, self.rate[i] * window)
            self.sum = 0.0
        while self.left > 0:
            if self.work > LOOK:
                return False
            m = <Py_ssize_t>min(self.left, <int64_t>BLOCK)
            for j in range(m):
                draws[j] = self.bits.next_double(self.bits.state)
            self.sum += decay_exp_sum(m, self.decay[i] * window, draws)
            self.left -= m
            self.work += 6.0 * m
        self.left = -1
        return True

    cdef int crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil:
        """Nothing but random numbers has changed until all is collected: an interrupt may come before."""
        cdef Py_ssize_t j
        cdef double now = self.clock[0]
        for self.at in range(self.at, m):
            ages[self.at] = now - self.last[sites[self.at]]
            if not self.collect(sites[self.at], ages[self.at]):
                return 1
            contents[self.at] = self.sum
        self.at = 0
        for j in range(m):
            self.last[sites[j]] = now
        self.clock[0] = now + 1.0
        return 0


def crawl(EphemeralWorld world, const int32_t[::1] sites, double[::1] contents):
    """Crawl distinct `sites` now and let a step pass; the contents in the same order."""
    cdef double[::1] ages = np.empty(sites.shape[0] + 1)
    cdef Py_ssize_t m = sites.shape[0]
    cdef int status = 1
    check_shapes(contents=((contents.shape[0],), (m,)))
    while status:
        world.work = 0.0
        with nogil:
            status = world.crawl(m, &sites[0] if m else NULL, &ages[0], &contents[0] if m else NULL)
        if status:
            PyErr_CheckSignals()


def run(Chooser chooser, World world, Py_ssize_t m, double[::1] reward, Py_ssize_t record_every, look):
    """Crawl m sites a step, reward.shape[0] * record_every steps long; look() is called now and then.

    reward[r] becomes the content collected a step, averaged over record r's steps. O(1) memory.
    """
    cdef int32_t[::1] sites = np.empty(m, dtype=np.int32)
    cdef double[::1] ages = np.empty(m)
    cdef double[::1] contents = np.empty(m)
    cdef Py_ssize_t done = 0, n_steps = reward.shape[0] * record_every, told = 0, many
    cdef int status = 0
    cdef bint chosen = False, collected = False
    check_shapes(sites=((chooser.n_sites,), (world.n_sites,)))
    check_count("n_crawls", m, world.n_sites)
    reward[:] = 0.0
    chooser.start(m)
    while done < n_steps:
        chooser.work = world.work = 0.0
        with nogil:
            while done < n_steps and chooser.work + world.work <= LOOK:
                if not chosen:
                    status = chooser.choose(m, &sites[0])
                    if status:
                        break
                    chosen = True
                if not collected:
                    if world.crawl(m, &sites[0], &ages[0], &contents[0]):
                        break
                    collected = True
                    reward[done // record_every] += total(contents) / record_every
                while told < m and chooser.work <= LOOK:
                    many = min(m - told, <Py_ssize_t>PART)
                    chooser.observe(many, &sites[told], &ages[told], &contents[told])
                    told += many
                if told == m:
                    chosen = collected = False
                    told = 0
                    done += 1
        if status:
            chooser.prepare()
            status = 0
        PyErr_CheckSignals()
        look()


cdef double total(const double[::1] values) noexcept nogil:
    cdef double sum = 0.0
    cdef Py_ssize_t j
    for j in range(values.shape[0]):
        sum += values[j]
    return sum
