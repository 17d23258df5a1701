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

from knapsolve._core.crawl_roles cimport Chooser, World
from knapsolve._core.random_bits cimport bitgen_t, bits_of
from knapsolve._core.whittle_index cimport decay_exp_sum, whittle_content

cdef extern from "numpy/random/distributions.h":
    int64_t random_poisson(bitgen_t *bitgen, double mean) noexcept nogil

cdef enum:
    BLOCK = 256

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

    def __init__(self, const double[::1] rate, const double[::1] decay, const double[::1] max_age,
                 double[::1] last, double[::1] clock, object generator):
        cdef Py_ssize_t n = rate.shape[0]
        check_shapes(decay_rates=((decay.shape[0],), (n,)), max_age=((max_age.shape[0],), (n,)),
                     last=((last.shape[0],), (n,)), clock=((clock.shape[0],), (1,)))
        self.rate, self.decay, self.max_age, self.last, self.clock = rate, decay, max_age, last, clock
        self.n_sites = n
        self.generator = generator
        self.bits = NULL if generator is None else bits_of(generator)

    cdef double collect(self, int32_t i, double age) noexcept nogil:
        cdef double draws[BLOCK]
        cdef double window = min(age, self.max_age[i], FORGOTTEN / self.decay[i]), sum = 0.0
        cdef int64_t left
        cdef Py_ssize_t m, j
        if self.bits == NULL:
            return whittle_content(self.rate[i] / self.decay[i], self.decay[i], self.max_age[i], age)
        left = random_poisson(self.bits, self.rate[i] * window)
        while left > 0:
            m = <Py_ssize_t>min(left, <int64_t>BLOCK)
            for j in range(m):
                draws[j] = self.bits.next_double(self.bits.state)
            sum += decay_exp_sum(m, self.decay[i] * window, draws)
            left -= m
        return sum

    cdef void crawl(self, Py_ssize_t m, const int32_t *sites, double *ages, double *contents) noexcept nogil:
        cdef Py_ssize_t j
        cdef double now = self.clock[0]
        for j in range(m):
            ages[j] = now - self.last[sites[j]]
            contents[j] = self.collect(sites[j], ages[j])
            self.last[sites[j]] = now
        self.clock[0] = now + 1.0


def crawl(EphemeralWorld world, const int32_t[::1] sites, double[::1] contents):
    """Crawl distinct `sites` now and let a step pass; the contents in the same order."""
    cdef double[::1] ages = np.empty(sites.shape[0] + 1)
    cdef Py_ssize_t m = sites.shape[0]
    with nogil:
        world.crawl(m, &sites[0] if m else NULL, &ages[0], &contents[0] if m else NULL)


def run(Chooser chooser, World world, Py_ssize_t m, double[::1] reward, Py_ssize_t record_every):
    """Crawl m sites a step, reward.shape[0] * record_every steps long.

    reward[r] becomes the content collected a step, averaged over record r's steps. O(1) memory.
    """
    cdef int32_t[::1] sites = np.empty(m, dtype=np.int32)
    cdef double[::1] ages = np.empty(m)
    cdef double[::1] contents = np.empty(m)
    cdef Py_ssize_t done = 0, n_steps = reward.shape[0] * record_every, burst, j
    cdef Py_ssize_t at_once = max((1 << 17) // (chooser.n_sites + 64), <Py_ssize_t>1)
    cdef double collected
    cdef int status = 0
    reward[:] = 0.0
    chooser.start(m)
    while done < n_steps:
        burst = min(n_steps - done, at_once)
        with nogil:
            while burst > 0:
                status = chooser.choose(m, &sites[0])
                if status:
                    break
                world.crawl(m, &sites[0], &ages[0], &contents[0])
                chooser.observe(m, &sites[0], &ages[0], &contents[0])
                collected = 0.0
                for j in range(m):
                    collected += contents[j]
                reward[done // record_every] += collected / record_every
                done += 1
                burst -= 1
        if status:
            chooser.prepare()
        PyErr_CheckSignals()
