"""Censored maximum likelihood over poll logs: group the polls by item, then csrc/censored_fit item by item.

A Grouped holds the changed polls of each item in time order and the sums of everything else; a log goes in once,
O(polls). Old polls of an item weigh exp(-time since then / memory).
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp
from libc.stdint cimport int8_t, int32_t, int64_t, intptr_t as intp_t

cdef extern from "censored_fit.h":
    ctypedef struct censored_item:
        const double *gap
        const double *weight
        Py_ssize_t changes
        double count, exposure
    double censored_rate(const censored_item *item, int steps, double *curvature, double *last_step) noexcept nogil
    void censored_likelihoods(const censored_item *item, const double *log_rate, Py_ssize_t m, Py_ssize_t stride,
                              double *out) noexcept nogil
    void censored_quantiles(const censored_item *item, double rate, double curvature, const double *share,
                            Py_ssize_t m, double *quantile) noexcept nogil

cdef Py_ssize_t CHUNK = 262144    # polls, or items' polls, between two looks at pending signals


cdef class Grouped:
    """Sufficient statistics of n items."""

    cdef readonly Py_ssize_t n_items
    cdef readonly object counts, exposures, polls   # (n,) changes counted, quiet time, weight of telling polls
    cdef readonly object found   # (n,) weight of the polls that found a change and do not tell how many there were
    cdef readonly int64_t[::1] first   # (n + 1,) where each item's changed polls begin
    cdef double[::1] gap, weight
    cdef double[::1] count, exposure
    cdef bint weighted

    def __init__(self, Py_ssize_t n, const int32_t[::1] materials, const double[::1] elapsed,
                 const int8_t[::1] changed, const double[::1] weights=None, const double[::1] known_counts=None,
                 const double[::1] known_exposures=None, double memory=INFINITY):
        """Where a known count is not NaN, that many changes took place in the known exposure.

        A change found in no time at all is one change in an exposure of 0: the limit of its likelihood.
        """
        cdef Py_ssize_t row, stop, n_rows = materials.shape[0], i, k
        cdef double w
        cdef double[::1] polls, found, later
        self.n_items = n
        self.counts, self.exposures, self.polls = np.zeros(n), np.zeros(n), np.zeros(n)
        self.found = np.zeros(n)
        self.count, self.exposure, polls, found = self.counts, self.exposures, self.polls, self.found
        self.first = np.zeros(n + 1, dtype=np.int64)
        with nogil:
            for row in range(n_rows):
                if changed[row] and elapsed[row] > 0.0 and not (known_counts is not None and known_counts[row] >= 0.0):
                    self.first[materials[row] + 1] += 1
            for i in range(n):
                self.first[i + 1] += self.first[i]
        self.weighted = weights is not None or memory < INFINITY
        self.gap = np.empty(self.first[n])
        self.weight = np.empty(self.first[n] if self.weighted else 0)
        later = np.zeros(n if memory < INFINITY else 0)
        end = np.array(self.first[1:])
        cdef int64_t[::1] place = end
        stop = n_rows
        while stop > 0:       # backwards: how long ago a poll was is known then
            row = stop
            stop = max(0, stop - CHUNK)
            with nogil:
                while row > stop:
                    row -= 1
                    i = materials[row]
                    w = 1.0 if weights is None else weights[row]
                    if memory < INFINITY:
                        w *= exp(-later[i] / memory)
                        later[i] += elapsed[row]
                    if changed[row] or elapsed[row] > 0.0:
                        polls[i] += w
                    if known_counts is not None and known_counts[row] >= 0.0:
                        self.count[i] += w * known_counts[row]
                        self.exposure[i] += w * known_exposures[row]
                    elif not changed[row]:
                        self.exposure[i] += w * elapsed[row]
                    elif elapsed[row] == 0.0:
                        self.count[i] += w
                    else:
                        found[i] += w
                        place[i] -= 1
                        k = place[i]
                        self.gap[k] = elapsed[row]
                        if self.weighted:
                            self.weight[k] = w
            PyErr_CheckSignals()

    cdef inline censored_item item(self, Py_ssize_t i, double count, double exposure) noexcept nogil:
        """Item i with what the prior adds."""
        cdef censored_item one
        one.changes = self.first[i + 1] - self.first[i]
        one.gap = one.weight = NULL
        if one.changes:
            one.gap = &self.gap[self.first[i]]
            if self.weighted:
                one.weight = &self.weight[self.first[i]]
        one.count = self.count[i] + count
        one.exposure = self.exposure[i] + exposure
        return one

    def rates(self, double prior_count, double prior_exposure, int max_steps=100):
        """Rates (n,), curvatures (n,) and the largest relative last step, the prior's changes and time added."""
        cdef Py_ssize_t i = 0
        cdef int64_t done
        cdef double step, worst = 0.0
        cdef double[::1] rate, curvature
        cdef censored_item one
        rates, curvatures = np.empty(self.n_items), np.empty(self.n_items)
        rate, curvature = rates, curvatures
        while i < self.n_items:
            done = 0
            with nogil:
                while i < self.n_items and done < CHUNK:
                    one = self.item(i, prior_count, prior_exposure)
                    rate[i] = censored_rate(&one, max_steps, &curvature[i], &step)
                    worst = max(worst, step)
                    done += 1 + one.changes
                    i += 1
            PyErr_CheckSignals()
        return rates, curvatures, worst

    def likelihoods(self, const intp_t[::1] items, const double[:, ::1] log_rates, Py_ssize_t most_polls):
        """Log likelihood of each of k items, a constant apart, at the logs of m rates (k, m) of its own.

        Of an item with more than `most_polls` changed polls, evenly spaced ones stand for the others.
        """
        cdef Py_ssize_t at = 0, n_items = items.shape[0], m = log_rates.shape[1], stride
        cdef int64_t done
        cdef double[:, ::1] out
        cdef censored_item one
        result = np.empty((n_items, m))
        out = result
        while at < n_items:
            done = 0
            with nogil:
                while at < n_items and done < CHUNK:
                    one = self.item(items[at], 0.0, 0.0)
                    stride = max(1, one.changes // most_polls)
                    censored_likelihoods(&one, &log_rates[at, 0], m, stride, &out[at, 0])
                    done += m * (1 + one.changes // stride)
                    at += 1
            PyErr_CheckSignals()
        return result

    def quantiles(self, double prior_count, double prior_exposure, const double[::1] rate,
                  const double[::1] curvature, const double[::1] share):
        """Posterior quantiles (n, m) of each rate at the given ascending shares (m,).

        NaN for items of which no poll hides how many changes there were: their posterior is a Gamma.
        """
        cdef Py_ssize_t i = 0
        cdef int64_t done
        cdef double[:, ::1] out
        cdef censored_item one
        result = np.full((self.n_items, share.shape[0]), np.nan)
        out = result
        while i < self.n_items:
            done = 0
            with nogil:
                while i < self.n_items and done < CHUNK:
                    one = self.item(i, prior_count, prior_exposure)
                    if one.changes:
                        censored_quantiles(&one, rate[i], curvature[i], &share[0], share.shape[0], &out[i, 0])
                        done += 260 * one.changes
                    done += 1
                    i += 1
            PyErr_CheckSignals()
        return result
