from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from knapsolve._core.random_bits cimport bitgen_t
from knapsolve._core.roles cimport Learner, Scheduler

cdef extern from "deadline_queue.h":
    ctypedef struct deadline_entry:
        uint64_t tick
        uint32_t fraction
        int32_t next
    ctypedef struct deadline_queue:
        deadline_entry *entry
        int32_t *bucket
        int64_t n_items
        int64_t n_queued
    int64_t deadline_queue_buckets(int64_t n) nogil
    void deadline_queue_init(deadline_queue *q, deadline_entry *entry, int32_t *bucket, int64_t n, double rate) nogil
    void deadline_queue_insert(deadline_queue *q, int64_t item, double delay) noexcept nogil
    int64_t deadline_queue_pop(deadline_queue *q) noexcept nogil
    void deadline_queue_push(deadline_queue *q, int64_t item, double period) noexcept nogil
    double deadline_queue_time(const deadline_queue *q, int64_t item) noexcept nogil


cdef class DeadlineOrder(Scheduler):
    cdef deadline_queue *queue
    cdef object memory                # keeps the numpy arrays behind `queue` alive


cdef class RandomOrder(Scheduler):
    pass
