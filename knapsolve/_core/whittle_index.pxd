# The Whittle index of one site and of columns of sites (csrc/whittle_index.h has shapes, units, reference).

cdef extern from "whittle_index.h":
    cdef struct site:
        double ceiling
        double decay
        double loss
        double curvature
        double offset
        double max_age
        double cap
        double last

    double WHITTLE_LARGEST_AGE
    double whittle_content(double ceiling, double decay, double max_age, double age) noexcept nogil
    void whittle_prepare(Py_ssize_t n, const double *lam, const double *decay, const double *max_age,
                         site *out) noexcept nogil
    void whittle_prepare_columns(Py_ssize_t n, const double *lam, const double *decay, const double *max_age,
                                 double *columns) noexcept nogil
    int whittle_index_raw(Py_ssize_t n, const double *age, const double *lam, const double *decay,
                          const double *max_age, const double *cost, double *out) noexcept nogil
    void whittle_index_columns(Py_ssize_t n, const double *age, const double *ceiling, const double *decay,
                               const double *loss, const double *curvature, const double *max_age,
                               const double *cap, double *out) noexcept nogil
    void whittle_content_columns(Py_ssize_t n, const double *age, const double *ceiling, const double *decay,
                                 const double *max_age, double *out) noexcept nogil
    double decay_exp_sum(Py_ssize_t n, double scale, const double *draws) noexcept nogil
    int whittle_index_state(Py_ssize_t n, const double *state, const double *lam, const double *decay,
                            const double *max_age, const double *cost, double *out) noexcept nogil
    double whittle_first_age(const site *s, double price) noexcept nogil
    double whittle_state_at(const site *s, double price) noexcept nogil
    double whittle_index_row(const site *s, double age) noexcept nogil
