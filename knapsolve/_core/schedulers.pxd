from libc.stdint cimport int32_t, int64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner, Scheduler

cdef extern from "deadline.h":
    enum:
        DEADLINE_ABSENT
        DEADLINE_NONE
        DEADLINE_LATER
        DEADLINE_STRAINED
    ctypedef struct deadline_entry:
        int32_t next
    ctypedef struct deadline_clock:
        deadline_entry *entry
        int32_t *link
        int64_t task
        int64_t tolerance
    void deadline_init(deadline_clock *c, deadline_entry *entry, int32_t *link, int64_t n, double rate) nogil
    bint deadline_holds(const deadline_clock *c, int64_t item) noexcept nogil
    void deadline_write(deadline_clock *c, int64_t item, double delay) noexcept nogil
    void deadline_serve(deadline_clock *c, int64_t item) noexcept nogil
    double deadline_time(const deadline_clock *c, int64_t item) noexcept nogil
    bint deadline_refit(deadline_clock *c, double rate) nogil

cdef extern from "deadline_tree.h":
    void deadline_tree_build(deadline_clock *t) nogil
    void deadline_tree_insert(deadline_clock *t, int64_t item, double delay) noexcept nogil
    int64_t deadline_tree_pop(const deadline_clock *t) noexcept nogil
    void deadline_tree_push(deadline_clock *t, int64_t item, double period) noexcept nogil
    void deadline_tree_drop(deadline_clock *t, int64_t item) noexcept nogil
    void deadline_tree_rescale(deadline_clock *t) nogil

cdef extern from "deadline_queue.h":
    ctypedef struct deadline_queue:
        deadline_clock clock
    int64_t deadline_queue_buckets(int64_t n) nogil
    void deadline_queue_init(
        deadline_queue *q, deadline_entry *entry, int32_t *link, int64_t n, double rate) nogil
    void deadline_queue_build(deadline_queue *q) nogil
    void deadline_queue_insert(deadline_queue *q, int64_t item, double delay) noexcept nogil
    int64_t deadline_queue_pop(deadline_queue *q) noexcept nogil
    void deadline_queue_push(deadline_queue *q, int64_t item, double period) noexcept nogil
    void deadline_queue_rescale(deadline_queue *q) nogil
    bint deadline_queue_work(deadline_queue *q) nogil


cdef class DeadlineOrder(Scheduler):
    cdef Py_ssize_t n
    cdef readonly Py_ssize_t served   # polls that the last call of `serve` has filled in
    cdef Py_ssize_t dropped           # materials found to have no amount, since this view was made
    cdef Py_ssize_t waited            # polls since those were last looked through
    cdef bint looked                  # they were, and nothing has been polled since
    cdef bint small                   # which of the two queues is in use
    cdef deadline_clock *clock        # of either; the tree is no more than that
    cdef deadline_queue *queue
    cdef object memory                # keeps the numpy arrays behind the queue alive
    cdef inline Py_ssize_t pop(self) noexcept nogil
    cdef inline void drop(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t pass_over(self, Learner learner, Py_ssize_t i) noexcept nogil
    cdef double total(self, Learner learner) except -1.0
    cdef enter_dropped(self, Learner learner)


cdef class RandomOrder(Scheduler):
    cdef readonly Py_ssize_t served
