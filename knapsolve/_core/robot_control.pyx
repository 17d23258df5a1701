"""Solvers of the robots' control problem over the kernels of csrc/robot_policy.c and csrc/robot_sweep.c.

Shapes: states are (N + 1, K + 1), robots first; rates are per step of the uniformised chain (see
robot_model.h).
Invariant: whatever ended a run, (lower, upper) of `bounds` hold for the bias returned.
Complexity: a sweep O(NK); an evaluation O(NK + M^2 K + M^3) for M unknowns, about one for each level with
both actions.
Reference: Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", Section 3.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, fmax, fmin, isfinite
from libc.stdint cimport int32_t, uint8_t
from scipy.linalg.cython_lapack cimport dgetrf, dgetrs

cdef extern from "robot_model.h":
    ctypedef struct RobotModel:
        Py_ssize_t robots, buffer
        double depart, arrive, empty_cost, full_cost, active_cost
        int cpu

cdef extern from "robot_plan.h":
    enum: POLICY_OK, POLICY_SINGULAR, POLICY_TOO_LARGE
    ctypedef struct PolicyLine:
        pass
    ctypedef struct PolicyPlan:
        const uint8_t *action
        int32_t *slot
        double *climb
        double *inverse
        PolicyLine *lines
        Py_ssize_t unknowns, stores, top, low, high
    int policy_plan(const RobotModel *model, PolicyPlan *plan, Py_ssize_t limit) noexcept nogil

cdef extern from "robot_policy.h":
    enum: POLICY_LANES
    void policy_hits(const RobotModel *model, const PolicyPlan *plan, Py_ssize_t first,
                     double *line, double *store, double *hits) noexcept nogil
    void policy_sources(const RobotModel *model, const PolicyPlan *plan,
                        double *line, double *store, double *sources) noexcept nogil
    void policy_values(const RobotModel *model, const PolicyPlan *plan, const double *unknown,
                       double gain, double *values) noexcept nogil

cdef extern from "robot_improve.h":
    double policy_bias(const RobotModel *model, const double *values, double gain,
                       double *bias) noexcept nogil
    Py_ssize_t policy_improve(const RobotModel *model, const double *bias, double noise, uint8_t *action,
                              double *gained) noexcept nogil

cdef extern from "robot_sweep.h":
    void robot_bounds(const RobotModel *model, const double *bias, double *lower,
                      double *upper) noexcept nogil
    void robot_sweeps(const RobotModel *model, double step, Py_ssize_t sweeps,
                      double *bias, double *other, double *best) noexcept nogil

cdef extern from "cpu_level.h":
    int cpu_level() noexcept nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef int CPU = cpu_level()
cdef Py_ssize_t LARGEST_SYSTEM = 3000  # unknowns: 72 MB, a few seconds; beyond, sweeps take less
cdef Py_ssize_t PATIENCE = 10_000  # sweeps, and as many as were made, without gaining on the bounds: stuck
cdef Py_ssize_t CHUNK = 10_000_000  # states times lanes between two looks at the signals: about 10 ms


cdef class RobotSolver:
    """One control problem and the scratch memory of its solvers; made for one solution, never pickled."""

    cdef RobotModel model
    cdef PolicyPlan plan
    cdef double *scratch  # values, climb, inverse, line, sources, unknown: one allocation
    cdef int32_t *marks   # slot, lines, pivots
    cdef double *values
    cdef double *line
    cdef double *sources
    cdef double *unknown
    cdef double *store
    cdef double *hits
    cdef int *pivots
    cdef Py_ssize_t limit, stored, capacity  # unknowns at most; rows of `store` and `hits` that fit

    def __cinit__(self, Py_ssize_t robots, Py_ssize_t buffer, double load, double empty_cost,
                  double full_cost, double active_cost=0.0, int cpu=CPU):
        """`load` is lam / mu of one robot; costs are per step and, for the last two, per active robot.

        A lower `cpu` (see cpu_level.h) than the machine's takes plainer code to the same bits.
        """
        cdef double rate = load * <double>robots + 1.0
        self.model = RobotModel(robots, buffer, 1.0 / rate, load / rate, empty_cost, full_cost, active_cost,
                                min(cpu, CPU))
        self.limit = min(2 * (robots + buffer) + 16, LARGEST_SYSTEM)

    def __dealloc__(self):
        PyMem_Free(self.scratch)
        PyMem_Free(self.marks)
        PyMem_Free(self.store)
        PyMem_Free(self.hits)

    cdef int reserve_plan(self) except -1:
        """Allocate what every evaluation needs, once."""
        cdef Py_ssize_t N1 = self.model.robots + 1, W = self.model.buffer + 1, n = N1 * W
        if self.scratch is not NULL:
            return 0
        self.scratch = <double *>PyMem_Malloc((3 * n + W * POLICY_LANES + 3 * self.limit) * sizeof(double))
        self.marks = <int32_t *>PyMem_Malloc((n + self.limit) * sizeof(int32_t) + N1 * sizeof(PolicyLine))
        if self.scratch is NULL or self.marks is NULL:
            raise MemoryError
        self.values, self.plan.climb, self.plan.inverse = self.scratch, self.scratch + n, self.scratch + 2 * n
        self.line = self.scratch + 3 * n
        self.sources = self.line + W * POLICY_LANES
        self.unknown = self.sources + 2 * self.limit
        self.plan.slot, self.pivots = self.marks, <int *>self.marks + n
        self.plan.lines = <PolicyLine *>(self.marks + n + self.limit)
        return 0

    cdef int reserve_system(self) except -1:
        """Allocate the dense system of the current plan, with some room for the next."""
        cdef Py_ssize_t M = self.plan.unknowns, S = self.plan.stores
        if S >= self.stored:
            self.stored = S + S // 4 + 8
            PyMem_Free(self.store)
            self.store = <double *>PyMem_Malloc(self.stored * POLICY_LANES * sizeof(double))
        if M > self.capacity:
            self.capacity = M + M // 8 + 8
            PyMem_Free(self.hits)
            self.hits = <double *>PyMem_Malloc(self.capacity * self.capacity * sizeof(double))
        if self.store is NULL or self.hits is NULL:
            self.stored = self.capacity = 0
            raise MemoryError
        return 0

    cdef int solve_unknowns(self, double *gain) except -1 nogil:
        """Solve (I - hits) z + steps gain = cost with z[0] = 0; the gain takes the place of z[0]."""
        cdef int M = <int>self.plan.unknowns, one = 1, info = 0, i, j
        cdef double *a = self.hits
        cdef double *z = self.unknown
        cdef double leave
        for i in range(M):
            leave = 0.0  # 1 - hits[i, i] as the sum of the others: the rows are stochastic
            for j in range(M):
                if j != i:
                    leave += a[i * M + j]
                    a[i * M + j] = -a[i * M + j]
            a[i * M + i] = leave
            a[i * M] = self.sources[2 * i + 1]
            z[i] = self.sources[2 * i]
        dgetrf(&M, &M, a, &M, self.pivots, &info)
        if info != 0:
            return POLICY_SINGULAR
        dgetrs(b"T", &M, &one, a, &M, self.pivots, z, &M, &info)
        gain[0] = z[0]
        z[0] = 0.0
        for i in range(M):
            if not isfinite(z[i]):
                return POLICY_SINGULAR
        return POLICY_OK if isfinite(gain[0]) else POLICY_SINGULAR

    cdef int evaluate(self, const uint8_t[:, ::1] action, double *gain) except -1:
        """Gain and values of the policy `action`; a status."""
        cdef Py_ssize_t first, done = 0
        cdef int status
        self.plan.action = &action[0, 0]
        status = policy_plan(&self.model, &self.plan, self.limit)
        if status != POLICY_OK:
            return status
        self.reserve_system()
        policy_sources(&self.model, &self.plan, self.line, self.store, self.sources)
        for first in range(0, self.plan.unknowns, POLICY_LANES):
            with nogil:
                policy_hits(&self.model, &self.plan, first, self.line, self.store, self.hits)
            done += (self.plan.high - self.plan.low + 1) * (self.model.buffer + 1) * POLICY_LANES
            if done > CHUNK:
                done = 0
                PyErr_CheckSignals()
        with nogil:
            status = self.solve_unknowns(gain)
            if status == POLICY_OK:
                policy_values(&self.model, &self.plan, self.unknown, gain[0], self.values)
        PyErr_CheckSignals()
        return status

    def iterate_policy(self, uint8_t[:, ::1] action, double[:, ::1] bias, double tol, Py_ssize_t limit,
                       double slack, double rounding=0.0):
        """Policy iteration from `action`, in place, until no change gains more than `slack` or up to `limit`.

        Actions that are better by at most `rounding` times the largest bias stay as they are.
        Return (evaluations, done, gain): the bias and the gain are those of the last policy evaluated. A
        policy that cannot be evaluated ends the run with the bias undefined and an infinite gain.
        """
        cdef Py_ssize_t k = 0
        cdef double gain = INFINITY, largest, noise, gained = INFINITY
        self.reserve_plan()
        while k < limit and gained > slack:
            if self.evaluate(action, &gain) != POLICY_OK:
                return k, False, INFINITY
            k += 1
            with nogil:
                largest = policy_bias(&self.model, self.values, gain, &bias[0, 0])
                noise = fmax(fmin(tol / 4.0, 1e-13 * (1.0 + largest)), rounding * largest)
                policy_improve(&self.model, &bias[0, 0], noise, &action[0, 0], &gained)
        return k, gained <= slack, gain

    def evaluation(self, const uint8_t[:, ::1] action, double[:, ::1] bias):
        """Average cost of a policy, with `bias` filled; None where the system is singular."""
        cdef double gain = 0.0
        self.reserve_plan()
        if self.evaluate(action, &gain) != POLICY_OK:
            return None
        policy_bias(&self.model, self.values, gain, &bias[0, 0])
        return gain

    def bounds(self, const double[:, ::1] bias):
        """Certified bounds of the least average cost from any bias."""
        cdef double lower, upper
        robot_bounds(&self.model, &bias[0, 0], &lower, &upper)
        return lower, upper

    def improve(self, const double[:, ::1] bias, uint8_t[:, ::1] action, double noise=0.0):
        """Make `action` greedy for the bias; return how many changed."""
        cdef double gained
        return policy_improve(&self.model, &bias[0, 0], noise, &action[0, 0], &gained)

    def iterate_values(self, double[:, ::1] bias, double step, double tol, Py_ssize_t limit,
                       Py_ssize_t every, double[:, ::1] other):
        """Relative value iteration from `bias`, in place, with a look at the bounds every so many sweeps.

        `other` (N + 3, K + 1) is scratch. Ends early where rounding lets the bounds come no closer.
        Return (sweeps, lower, upper)."""
        cdef Py_ssize_t done = 0, gained = 0, sweeps
        cdef Py_ssize_t chunk = CHUNK * 2 // bias.size
        cdef double lower = -INFINITY, upper = INFINITY, closest = INFINITY

        every = min(every, chunk + 1)
        while done < limit:
            sweeps = min(every, limit - done)
            with nogil:
                robot_sweeps(&self.model, step, sweeps, &bias[0, 0], &other[0, 0],
                             &other[bias.shape[0], 0])
                if sweeps % 2 == 1:
                    bias[:, :] = other[:bias.shape[0]]
                robot_bounds(&self.model, &bias[0, 0], &lower, &upper)
            done += sweeps
            if upper - lower < 0.99 * closest:
                closest, gained = upper - lower, done
            if upper - lower <= tol or done > 2 * gained + PATIENCE:
                break
            PyErr_CheckSignals()
        return done, lower, upper
