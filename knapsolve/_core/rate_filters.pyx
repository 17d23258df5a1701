"""Change rates learnt from a poll log, one poll at a time: a view over rows (n, width), the pool and the grid.

Rows must have room for every material of the log; a material's first row admits it.
O(1) a poll (Bayes: O(grid)). Reference: csrc/rate_filter.h.
"""

from cpython.exc cimport PyErr_CheckSignals

CHUNK = 65536     # polls between two looks at pending signals, divided by the grid's points
cdef Py_ssize_t AHEAD = 16        # rows whose state is fetched before its turn
KINDS = {"recursive": RATE_RECURSIVE, "multiplicative": RATE_MULTIPLICATIVE, "bayes": RATE_BAYES}
POOL = POOL_SIZE
FIXED_COLUMNS = RATE_GRID         # of a row, before the grid


cdef class RateFilter:
    def __init__(self, int kind, double[:, ::1] rows, Py_ssize_t n_known, double[::1] pool, const double[::1] grid,
                 double prior, double memory, double gain, double limit):
        if rows.shape[1] != FIXED_COLUMNS + grid.shape[0] or n_known > rows.shape[0] or pool.shape[0] != POOL_SIZE:
            raise ValueError("rows, pool and grid must be those of one filter")
        self.rows, self.pool, self.grid = rows, pool, grid
        self.n_known = n_known
        self.view.kind, self.view.width, self.view.n_grid = kind, rows.shape[1], grid.shape[0]
        self.view.prior, self.view.memory, self.view.gain, self.view.limit = prior, memory, gain, limit
        self.view.pool = &pool[0]
        self.view.row = NULL
        self.view.grid = NULL
        if rows.shape[0]:
            self.view.row = &rows[0, 0]
        if grid.shape[0]:
            self.view.grid = &grid[0]

    def admit(self, Py_ssize_t n):
        """Start materials up to the n-th at the pooled rate."""
        cdef Py_ssize_t i
        if n > self.rows.shape[0]:
            raise ValueError(f"rows must have room for {n} materials")
        with nogil:
            for i in range(self.n_known, n):
                rate_filter_admit(&self.view, i)
        self.n_known = max(self.n_known, n)

    def learn(self, const intp_t[::1] materials, const double[::1] elapsed, const int8_t[::1] changed, commit,
              const double[::1] weights=None, const double[::1] counts=None, const double[::1] exposures=None):
        """Replay a log; where a count is not NaN there were that many changes in that exposure. Weight 0: no row.

        `commit`, a call without bytecode, follows the last row with no look at signals between.
        """
        cdef Py_ssize_t row = 0, stop, n_rows = materials.shape[0]
        cdef Py_ssize_t chunk = <Py_ssize_t>CHUNK // (1 + self.view.n_grid // 4)
        cdef rate_poll poll
        while row < n_rows:
            stop = min(row + chunk, n_rows)
            with nogil:
                for row in range(row, stop):
                    if row + AHEAD < n_rows:
                        rate_filter_prefetch(&self.view, materials[row + AHEAD])
                    if materials[row] == self.n_known:
                        rate_filter_admit(&self.view, self.n_known)
                        self.n_known += 1
                    poll.elapsed = elapsed[row]
                    poll.changed = changed[row]
                    poll.weight = 1.0 if weights is None else weights[row]
                    poll.count = -1.0
                    if counts is not None and counts[row] >= 0.0:
                        poll.count, poll.exposure = counts[row], exposures[row]
                    if poll.weight > 0.0:
                        rate_filter_learn(&self.view, materials[row], poll)
            row = stop
            if row < n_rows:
                PyErr_CheckSignals()
        commit()


def pooled_rate(const double[::1] pool):
    """The rate at which a newcomer would start."""
    return rate_pooled(&pool[0])
