"""Views over columns of items for the knapsack's passes; the passes themselves are csrc/nefk_kernel."""

from libc.stdint cimport int8_t

cdef extern from "nefk_kernel.h":
    ctypedef struct nefk_column:
        const double *doubles
        const float *singles
        const Py_ssize_t *index
        double scalar
    ctypedef struct nefk_problem:
        int shape
        nefk_column parameter
        nefk_column weight
        nefk_column lower
        nefk_column upper
        double ceiling
    ctypedef struct nefk_sum:
        double high
        double low
    ctypedef struct nefk_response:
        nefk_sum amount
        nefk_sum slope
    ctypedef struct nefk_audit:
        nefk_sum amount
        nefk_sum value
        double residual
        double at_lower
        double at_upper
    void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                            double *amounts, nefk_response *response) noexcept nogil
    void nefk_audit_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                          const double *amounts, int8_t *side, nefk_audit *audit) noexcept nogil
    void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                          double *value, double *slope) noexcept nogil
    int nefk_use_level(int level) noexcept nogil

DETECTION, FRESHNESS, POISSON, HARMONIC, LOGARITHMIC, EXPONENTIAL, QUADRATIC, POWER = range(8)


def use_level(int level):
    """Use at most this instruction set (0 portable, 1 AVX2, 2 AVX-512); return the one in use."""
    return nefk_use_level(level)


nefk_use_level(2)


cdef class Column:
    """n doubles, n floats, or one number for all items; with `index`, a table that it looks up."""

    cdef nefk_column view
    cdef const double[::1] _doubles
    cdef const float[::1] _singles
    cdef const Py_ssize_t[::1] _index

    def __cinit__(self, values, index=None):
        if isinstance(values, float):
            self.view.scalar = values
        elif values.dtype.itemsize == 4:
            self._singles = values
            self.view.singles = &self._singles[0]
        else:
            self._doubles = values
            self.view.doubles = &self._doubles[0]
        if index is not None:
            self._index = index
            self.view.index = &self._index[0]
            self.view.doubles += 1  # index -1 reads the first entry


cdef class Items:
    """A separable concave knapsack without its budget: a family and four columns."""

    cdef nefk_problem problem
    cdef tuple _columns

    def __cinit__(self, int shape, Column parameter, Column weight, Column lower, Column upper, double ceiling):
        self._columns = (parameter, weight, lower, upper)
        self.problem.shape = shape
        self.problem.parameter = parameter.view
        self.problem.weight = weight.view
        self.problem.lower = lower.view
        self.problem.upper = upper.view
        self.problem.ceiling = ceiling


def respond(Items items, Column price, size_t start, size_t stop, double[::1] amounts=None):
    """Sums (x high, low, slope high, low) over items [start, stop); amounts go into amounts[start:stop]."""
    cdef nefk_response out
    cdef double *target = NULL if amounts is None else &amounts[start]
    with nogil:
        nefk_respond_range(&items.problem, &price.view, start, stop, target, &out)
    return out.amount.high, out.amount.low, out.slope.high, out.slope.low


def audit(Items items, Column price, size_t start, size_t stop, const double[::1] amounts, int8_t[::1] side):
    """(x high, low, value high, low, residual, at lower, at upper) of items [start, stop)."""
    cdef nefk_audit out
    with nogil:
        nefk_audit_range(&items.problem, &price.view, start, stop, &amounts[0], &side[0], &out)
    return (out.amount.high, out.amount.low, out.value.high, out.value.low, out.residual,
            int(out.at_lower), int(out.at_upper))


def worth(Items items, const double[::1] amounts, double[::1] value, double[::1] slope):
    """Fill the weighted value and derivative (n,) of amounts (n,)."""
    with nogil:
        nefk_worth_range(&items.problem, 0, amounts.shape[0], &amounts[0], &value[0], &slope[0])
