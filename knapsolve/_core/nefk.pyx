"""Views over columns of items for the knapsack's passes and searches; the work itself is in csrc/nefk_*."""

from libc.stdint cimport int8_t

cdef extern from "nefk_kernel.h":
    ctypedef struct nefk_column:
        const double *doubles
        const float *singles
        const double *table
        const Py_ssize_t *index
        double scalar
    ctypedef struct nefk_problem:
        int shape
        nefk_column parameter
        nefk_column weight
        nefk_column lower
        nefk_column upper
        double ceiling
        const Py_ssize_t *group
    ctypedef struct nefk_sum:
        double high
        double low
    ctypedef struct nefk_group_sum:
        double high
        double low
        double slope
    ctypedef struct nefk_response:
        nefk_sum amount
        nefk_sum slope
    ctypedef struct nefk_prices:
        nefk_column low
        nefk_column high
        nefk_column share
    ctypedef struct nefk_audit:
        nefk_sum amount
        nefk_sum slope
        nefk_sum value
        double residual
    void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                            double *amounts, nefk_group_sum *groups, nefk_response *response) noexcept nogil
    void nefk_settle_range(const nefk_problem *problem, const nefk_prices *prices, size_t start, size_t stop,
                           double *doubles, float *singles, int8_t *side, nefk_group_sum *groups,
                           nefk_audit *audit) noexcept nogil
    size_t nefk_narrow_range(const nefk_problem *problem, double low, double high, double width, double tolerance,
                             size_t start, size_t stop, Py_ssize_t *rough, size_t room,
                             nefk_response *at_low, nefk_response *at_high) noexcept nogil
    void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                          double *value, double *slope) noexcept nogil
    size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop, nefk_group_sum *groups,
                             nefk_sum *lower, nefk_sum *upper) noexcept nogil

cdef extern from "nefk_blocks.h":
    int nefk_use_level(int level) noexcept nogil

cdef extern from "nefk_search.h":
    ctypedef struct nefk_search:
        double low
        double high
        double price
        double target
        double tolerance
        double top
        double slow
        double state
    void nefk_search_update(nefk_search *search, int shape, double total, double slope) noexcept nogil

DETECTION, FRESHNESS, POISSON, HARMONIC, LOGARITHMIC, EXPONENTIAL, QUADRATIC, POWER, LOG_EXPONENTIAL = range(9)
RUNNING, MET, ENCLOSED = range(3)
LOW, HIGH, PRICE, TARGET, TOLERANCE, TOP, SLOW, STATE = range(8)  # columns of an array of searches (n, 8)

nefk_use_level(2)


def use_level(int level):
    """Use at most this instruction set (0 portable, 1 AVX2, 2 AVX-512); return the one in use."""
    return nefk_use_level(level)


cdef class Column:
    """n doubles, n floats, or one number for all items; with `index`, a table (one more than groups) to look up."""

    cdef nefk_column view
    cdef object _keep

    def __cinit__(self, values, index=None):
        cdef const double[::1] doubles
        cdef const float[::1] singles
        cdef const Py_ssize_t[::1] positions
        self._keep = (values, index)
        if isinstance(values, float):
            self.view.scalar = values
        elif index is not None:
            doubles, positions = values, index
            self.view.table = &doubles[1]  # index -1 reads the first entry
            self.view.index = &positions[0]
        elif values.dtype.itemsize == 4:
            singles = values
            self.view.singles = &singles[0]
        else:
            doubles = values
            self.view.doubles = &doubles[0]


cdef class Items:
    """A separable concave knapsack without its budget: a family, four columns, perhaps a group for each item."""

    cdef nefk_problem problem
    cdef object _keep

    def __cinit__(self, int shape, Column parameter, Column weight, Column lower, Column upper, double ceiling,
                  const Py_ssize_t[::1] group=None):
        self._keep = (parameter, weight, lower, upper, group)
        self.problem.shape = shape
        self.problem.parameter = parameter.view
        self.problem.weight = weight.view
        self.problem.lower = lower.view
        self.problem.upper = upper.view
        self.problem.ceiling = ceiling
        self.problem.group = NULL if group is None else &group[0]

    @property
    def shape(self):
        """Family of the items, one of the constants of this module."""
        return self.problem.shape


cdef nefk_group_sum *group_sums(double[:, ::1] groups) noexcept:
    """The row after the first, which is that of index -1."""
    return NULL if groups is None else <nefk_group_sum *> &groups[1, 0]


def respond(Items items, Column price, size_t start, size_t stop, double[::1] amounts=None,
            double[:, ::1] groups=None):
    """(x high, low, slope high, low) summed over items [start, stop); amounts (n,) and groups (g + 1, 3) change."""
    cdef nefk_response out
    cdef double *target = NULL if amounts is None else &amounts[0]
    cdef nefk_group_sum *sums = group_sums(groups)
    with nogil:
        nefk_respond_range(&items.problem, &price.view, start, stop, target, sums, &out)
    return out.amount.high, out.amount.low, out.slope.high, out.slope.low


def settle(Items items, Column low, Column high, Column share, size_t start, size_t stop, double[::1] doubles,
           float[::1] singles, int8_t[::1] side, double[:, ::1] groups=None):
    """Write amounts; (x high, low, slope high, low, value high, low, violation) of items [start, stop)."""
    cdef nefk_prices prices
    cdef nefk_audit out
    cdef double *wide = NULL if doubles is None else &doubles[0]
    cdef float *narrow = NULL if singles is None else &singles[0]
    cdef nefk_group_sum *sums = group_sums(groups)
    prices.low, prices.high, prices.share = low.view, high.view, share.view
    with nogil:
        nefk_settle_range(&items.problem, &prices, start, stop, wide, narrow, &side[0], sums, &out)
    return (out.amount.high, out.amount.low, out.slope.high, out.slope.low, out.value.high, out.value.low,
            out.residual)


def narrow(Items items, double low, double high, double width, double tolerance, size_t start, size_t stop,
           Py_ssize_t[::1] rough):
    """List items of [start, stop) that are rough between two prices, and sum the others' amounts and slopes there.

    (how many are rough, then pairs high, low: amount and slope at the low price, amount and slope at the high one)
    """
    cdef nefk_response a, b
    cdef size_t count
    with nogil:
        count = nefk_narrow_range(&items.problem, low, high, width, tolerance, start, stop, &rough[0],
                                  rough.shape[0], &a, &b)
    return (count, a.amount.high, a.amount.low, a.slope.high, a.slope.low,
            b.amount.high, b.amount.low, b.slope.high, b.slope.low)


def worth(Items items, size_t start, size_t stop, const double[::1] amounts, double[::1] value, double[::1] slope):
    """Fill the weighted value and derivative (n,) of amounts (n,) of items [start, stop)."""
    with nogil:
        nefk_worth_range(&items.problem, start, stop, &amounts[0], &value[0], &slope[0])


def bounds(Items items, size_t start, size_t stop, double[:, ::1] groups=None):
    """(lower high, low, upper high, low, first item with crossed bounds or stop) of items [start, stop)."""
    cdef nefk_sum lower, upper
    cdef size_t crossed
    cdef nefk_group_sum *sums = group_sums(groups)
    lower.high = lower.low = upper.high = upper.low = 0.0
    with nogil:
        crossed = nefk_bounds_range(&items.problem, start, stop, sums, &lower, &upper)
    return lower.high, lower.low, upper.high, upper.low, crossed


def advance(double[:, ::1] searches, int shape, const double[::1] totals, const double[::1] slopes,
            const Py_ssize_t[::1] which):
    """One step of the searches `which` of (n, 8), given what is taken at their prices."""
    cdef Py_ssize_t k
    for k in range(which.shape[0]):
        nefk_search_update(<nefk_search *> &searches[which[k], 0], shape, totals[which[k]], slopes[which[k]])


def search(Items items, size_t n, double[::1] state, int n_most):
    """Run one search (8,) over n items until it ends or n_most totals are taken; return how many were."""
    cdef nefk_search *own = <nefk_search *> &state[0]
    cdef nefk_column price
    cdef nefk_response out
    cdef int count = 0
    price.doubles = price.table = NULL
    price.singles = NULL
    price.index = NULL
    with nogil:
        while own.state == 0 and count < n_most:
            price.scalar = own.price
            nefk_respond_range(&items.problem, &price, 0, n, NULL, NULL, &out)
            nefk_search_update(own, items.problem.shape, out.amount.high + out.amount.low,
                               out.slope.high + out.slope.low)
            count += 1
    return count
