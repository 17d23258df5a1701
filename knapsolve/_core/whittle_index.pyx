"""Whittle indices over arrays: from age, from content, and back; and the sums behind the relaxed bound.

Every array is one-dimensional float64 of length n, or of length 1 to stand for all sites. Rates are
per step, ages in steps. O(n), no allocation; the formulae are in csrc/whittle_index.h.
"""

cimport cython
from libc.math cimport INFINITY

cdef enum:
    BLOCK = 512


cdef const double *spread(const double[::1] values, Py_ssize_t start, Py_ssize_t m,
                          double *room) noexcept nogil:
    """Entries start..start+m of `values`, or its one entry m times in `room`."""
    cdef Py_ssize_t j
    if values.shape[0] != 1:
        return &values[start]
    for j in range(m):
        room[j] = values[0]
    return room


ctypedef int (*index_kernel)(Py_ssize_t, const double *, const double *, const double *, const double *,
                             const double *, double *) noexcept nogil


cdef bint by_blocks(index_kernel kernel, const double[::1] first, const double[::1] rate,
                    const double[::1] decay, const double[::1] max_age, const double[::1] cost,
                    double[::1] out) noexcept nogil:
    cdef double firsts[BLOCK]
    cdef double rates[BLOCK]
    cdef double decays[BLOCK]
    cdef double limits[BLOCK]
    cdef double costs[BLOCK]
    cdef Py_ssize_t n = out.shape[0], start = 0, m
    cdef const double *limit = NULL
    cdef const double *price = NULL
    cdef int good = 1
    while start < n:
        m = min(n - start, <Py_ssize_t>BLOCK)
        if max_age.shape[0] != 1 or max_age[0] != INFINITY:
            limit = spread(max_age, start, m, limits)
        if cost.shape[0] != 1 or cost[0] != 1.0:
            price = spread(cost, start, m, costs)
        good &= kernel(m, spread(first, start, m, firsts), spread(rate, start, m, rates),
                       spread(decay, start, m, decays), limit, price, &out[start])
        start += m
    return good


def index_from_age(const double[::1] age, const double[::1] rate, const double[::1] decay,
                   const double[::1] max_age, const double[::1] cost, double[::1] out):
    """Write the indices at whole ages into out (n,); False if anything was outside its domain.

    Twin: tests/restless/whittle_twins.py, `index_from_age`.
    """
    cdef bint good
    with nogil:
        good = by_blocks(&whittle_index_raw, age, rate, decay, max_age, cost, out)
    return good


def index_from_state(const double[::1] state, const double[::1] rate, const double[::1] decay,
                     const double[::1] max_age, const double[::1] cost, double[::1] out):
    """Write the indices at contents `state` into out (n,); False if anything was outside its domain.

    Twin: tests/restless/whittle_twins.py, `exact_state_index`.
    """
    cdef bint good
    with nogil:
        good = by_blocks(&whittle_index_state, state, rate, decay, max_age, cost, out)
    return good


def age_at_index(const double[::1] index, const double[::1] rate, const double[::1] decay,
                 const double[::1] max_age, const double[::1] cost, double[::1] out):
    """Write the least whole ages at which the index is at least `index` into out (n,); inf: never."""
    cdef Py_ssize_t i, n = out.shape[0]
    cdef site s
    with nogil:
        for i in range(n):
            s = one_site(rate, decay, max_age, i)
            out[i] = whittle_first_age(&s, at(index, i) * at(cost, i))


def state_at_index(const double[::1] index, const double[::1] rate, const double[::1] decay,
                   const double[::1] max_age, const double[::1] cost, double[::1] out):
    """Write the contents at which the index is `index` into out (n,); False if one is not finite."""
    cdef Py_ssize_t i, n = out.shape[0]
    cdef bint good = True
    cdef site s
    with nogil:
        for i in range(n):
            s = one_site(rate, decay, max_age, i)
            out[i] = whittle_state_at(&s, at(index, i) * at(cost, i))
            good &= out[i] < INFINITY
    return good


def response_to_price(const double[::1] rate, const double[::1] decay, const double[::1] max_age,
                      double price, Py_ssize_t start, Py_ssize_t stop):
    """(sum of a site's best net income a step, sum of its crawls a step) at a price a crawl.

    Site i is best crawled at the least whole age k whose index is at least the price, k >= 1, and then
    earns (x_k - price)/k a step; a site whose index never gets there is not crawled.
    """
    cdef Py_ssize_t i
    cdef double income = 0.0, crawls = 0.0, age
    cdef site s
    with nogil:
        for i in range(start, stop):
            s = one_site(rate, decay, max_age, i)
            age = whittle_first_age(&s, price)
            if age == INFINITY:
                continue
            age = max(age, 1.0)
            income += (whittle_content(s.ceiling, s.decay, s.max_age, age) - price) / age
            crawls += 1.0 / age
    return income, crawls


cdef inline double at(const double[::1] values, Py_ssize_t i) noexcept nogil:
    return values[i if values.shape[0] != 1 else 0]


@cython.cdivision(True)
cdef inline site one_site(const double[::1] rate, const double[::1] decay, const double[::1] max_age,
                          Py_ssize_t i) noexcept nogil:
    cdef site s
    cdef double a = at(rate, i), c = at(decay, i), m = at(max_age, i)
    whittle_prepare(1, &a, &c, &m, &s)
    return s
