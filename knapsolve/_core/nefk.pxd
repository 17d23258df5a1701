# Declarations of csrc/nefk_*.

from libc.stdint cimport int8_t, uint16_t, uint32_t, uint64_t

cdef extern from "nefk_kernel.h":
    double NEFK_ROUGH
    enum:
        NEFK_SAMPLE_RUN
    ctypedef struct nefk_column:
        const double *doubles
        const float *singles
        double scalar
        const uint32_t *place
    ctypedef struct nefk_problem:
        int shape
        nefk_column parameter
        nefk_column weight
        nefk_column lower
        nefk_column upper
        double ceiling
        uint32_t *order
    ctypedef struct nefk_sum:
        double high
        double low
    ctypedef struct nefk_response:
        nefk_sum amount
        nefk_sum slope
    ctypedef struct nefk_series_sum:
        nefk_sum term[5]
    ctypedef struct nefk_prices:
        double low
        double high
        double share
    ctypedef struct nefk_audit:
        nefk_sum amount
        nefk_sum value
        double residual
    void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                            double *amounts, nefk_response *response) noexcept nogil
    size_t nefk_respond_sample(const nefk_problem *problem, double price, size_t start, size_t stop, size_t every,
                               nefk_response *response) noexcept nogil
    void nefk_respond_each(const nefk_problem *problem, double price, size_t start, size_t stop, int roughly,
                           double *x, double *d) noexcept nogil
    void nefk_respond_by_group(const nefk_problem *problem, const Py_ssize_t *group, size_t start, size_t count,
                               double price, double *sums) noexcept nogil
    void nefk_respond_some_by_group(const nefk_problem *problem, const Py_ssize_t *group, size_t start, size_t count,
                                    double price, Py_ssize_t first, Py_ssize_t last, double *sums) noexcept nogil
    void nefk_settle_range(const nefk_problem *problem, nefk_prices prices, size_t start, size_t stop,
                           double *doubles, float *singles, int8_t *side, int streams,
                           nefk_audit *audit) noexcept nogil
    void nefk_share_groups(const nefk_problem *problem, const Py_ssize_t *group, const double *table, size_t start,
                           size_t stop, double *amounts, int8_t *side, nefk_audit *audit) noexcept nogil
    size_t nefk_expand_range(const nefk_problem *problem, double price, double half, double tolerance, size_t start,
                             size_t stop, Py_ssize_t *rough, size_t room, nefk_series_sum *sums) noexcept nogil
    size_t nefk_list_free(const nefk_problem *problem, double price, int at_lower, size_t start, size_t stop,
                          Py_ssize_t *list, size_t room, nefk_sum *all, nefk_sum *held) noexcept nogil
    void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                          double *value, double *slope) noexcept nogil
    size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop,
                             nefk_sum *lower, nefk_sum *upper) noexcept nogil

cdef extern from "nefk_groups.h":
    enum:
        NEFK_TILE, NEFK_TILE_BITS, NEFK_TILE_GROUPS
    ctypedef struct nefk_grouped:
        const nefk_problem *problem
        const uint16_t *start
        const uint16_t *member
        const double *cap
    ctypedef struct nefk_tile:
        size_t first
        size_t last
        size_t begin
        size_t end
    size_t NEFK_SHORT
    ctypedef struct nefk_tile_space:
        pass
    ctypedef struct nefk_tile_audit:
        nefk_audit audit
        double over
        double n_passes
        size_t n_wrong
    ctypedef struct nefk_left:
        uint32_t *entry
        double *over
    size_t nefk_tile_space_size() noexcept nogil
    void nefk_tile_bounds(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *lower,
                          double *upper) noexcept nogil
    void nefk_tile_respond(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                           double *total, double *slope) noexcept nogil
    void nefk_tile_respond_roughly(const nefk_grouped *all, nefk_tile tile, double price, float *taken) noexcept nogil
    void nefk_tile_unmark(const nefk_grouped *all, nefk_tile tile, double low, double high,
                          int8_t *marks) noexcept nogil
    size_t nefk_tile_expand(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                            double half, double tolerance, int8_t *marks, uint32_t *rough, uint32_t *passing,
                            size_t *opened, nefk_series_sum *sums) noexcept nogil
    void nefk_tile_settle(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                          double floor, double *own, double *doubles, float *singles,
                          nefk_tile_audit *audit) noexcept nogil
    size_t nefk_tile_fill(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, bint guesses, double above,
                          double *own, double *doubles, float *singles, nefk_left left,
                          nefk_tile_audit *audit) noexcept nogil
    void nefk_tile_serve(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *own,
                         double *doubles, nefk_tile_audit *audit) noexcept nogil

cdef extern from "nefk_ramps.h":
    enum:
        NEFK_BLOCK
    ctypedef struct nefk_ramps:
        double *top
        double *end
        double *rise
    ctypedef struct nefk_crossing:
        double low
        double price
        double high
    int nefk_cross_items(const nefk_problem *problem, size_t n, nefk_ramps ramps, size_t room, double target,
                         nefk_crossing *at) noexcept nogil

cdef extern from "nefk_blocks.h":
    size_t NEFK_DEPTH
    int nefk_use_level(int level) noexcept nogil

cdef extern from "nefk_marks.h":
    void nefk_mark_started(const nefk_problem *problem, double price, size_t start, size_t stop,
                           uint64_t *marks) noexcept nogil

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

cdef extern from "nefk_run.h":
    size_t nefk_run_search(const nefk_problem *problem, size_t n, nefk_search *search, size_t most) noexcept nogil
