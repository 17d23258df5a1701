from libc.stdint cimport int32_t, int64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner, Scheduler

cdef extern from "deadline_queue.h":
    ctypedef struct deadline_entry:
        pass
    ctypedef struct deadline_queue:
        deadline_entry *entry
        int32_t *bucket
    int64_t deadline_queue_buckets(int64_t n) nogil
    void deadline_queue_init(
        deadline_queue *q, deadline_entry *entry, int32_t *bucket, int64_t n, double rate) nogil
    void deadline_queue_insert(deadline_queue *q, int64_t item, double delay) noexcept nogil
    int64_t deadline_queue_pop(deadline_queue *q) noexcept nogil
    void deadline_queue_push(deadline_queue *q, int64_t item, double period) noexcept nogil
    bint deadline_queue_holds(const deadline_queue *q, int64_t item) noexcept nogil
    double deadline_queue_time(const deadline_queue *q, int64_t item) noexcept nogil

cdef extern from "deadline_tree.h":
    ctypedef struct deadline_tree:
        deadline_entry *entry
        int32_t *winner
    int64_t deadline_tree_leaves(int64_t n) nogil
    void deadline_tree_init(
        deadline_tree *t, deadline_entry *entry, int32_t *winner, int64_t n, double rate) nogil
    void deadline_tree_insert(deadline_tree *t, int64_t item, double delay) noexcept nogil
    int64_t deadline_tree_pop(deadline_tree *t) noexcept nogil
    void deadline_tree_push(deadline_tree *t, int64_t item, double period) noexcept nogil
    void deadline_tree_drop(deadline_tree *t, int64_t item) noexcept nogil
    bint deadline_tree_holds(const deadline_tree *t, int64_t item) noexcept nogil
    double deadline_tree_time(const deadline_tree *t, int64_t item) noexcept nogil


cdef class DeadlineOrder(Scheduler):
    cdef Py_ssize_t n
    cdef bint small                   # which of the two queues is in use
    cdef deadline_tree *tree
    cdef deadline_queue *queue
    cdef object memory                # keeps the numpy arrays behind the queue alive
    cdef inline Py_ssize_t pop(self) noexcept nogil
    cdef inline void drop(self, Py_ssize_t i) noexcept nogil
    cdef inline void enter(self, Py_ssize_t i, double delay) noexcept nogil


cdef class RandomOrder(Scheduler):
    pass
