"""Slots of equal length, each for the item due first: a binary heap whose top is replaced slot by slot.

due (n,), in a unit of time, and item (n,) are parallel arrays, at first ascending by (due, item): that is a heap.
In slot k, at start + k / capacity, the top is served; it is due again after its gap, from when it was due, or the
start if later, and at least half a gap after the slot.
Invariant: entry (k - 1) / 2 comes before entry k, by (due, item). O(log n) a slot.
Reference: Williams (1964), Algorithm 232: Heapsort, CACM 7(6).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport intptr_t as intp_t

cdef Py_ssize_t CHUNK = 65536    # slots between two looks at pending signals


cdef inline bint before(double due, intp_t item, double other_due, intp_t other) noexcept nogil:
    return due < other_due or (due == other_due and item < other)


cdef void replace_top(double *due, intp_t *item, Py_ssize_t n, double new_due, intp_t new_item) noexcept nogil:
    cdef Py_ssize_t at = 0, child = 1
    while child < n:
        child += child + 1 < n and before(due[child + 1], item[child + 1], due[child], item[child])
        if not before(due[child], item[child], new_due, new_item):
            break
        due[at], item[at] = due[child], item[child]
        at, child = child, 2 * child + 1
    due[at], item[at] = new_due, new_item


def serve_slots(double[::1] due, intp_t[::1] item, const double[::1] gap, double start, double capacity,
                intp_t[::1] served):
    """Fill `served` (n_slots,); `gap` (all items,) is the time between an item's polls. The heap is used up."""
    cdef Py_ssize_t k = 0, stop, n = due.shape[0], n_slots = served.shape[0]
    cdef double own, since
    if n < 1 or item.shape[0] != n:
        raise ValueError(f"due and item must have the same length, at least 1, got {n} and {item.shape[0]}")
    while k < n_slots:
        stop = min(k + CHUNK, n_slots)
        with nogil:
            for k in range(k, stop):
                served[k] = item[0]
                own = gap[item[0]]
                since = max(due[0], start) + own
                replace_top(&due[0], &item[0], n, max(since, start + k / capacity + 0.5 * own), item[0])
        k = stop
        PyErr_CheckSignals()
