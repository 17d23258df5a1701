"""Work in parts, shared out to threads that are kept from one solve to the next.

Compiled, so that an interrupt arrives in the work alone: between its parts, and while other threads are waited for, no
Python is run.
"""

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
    PyThread_type_lock,
)

import os
import queue
import threading

cdef int MOST = os.cpu_count() or 1  # threads that help
cdef int n_threads = 0
cdef object waiting = queue.SimpleQueue()


cdef class Job:
    """Parts of work (n,) and their results. The GIL guards what is here."""

    cdef object work, parts, error
    cdef list results
    cdef Py_ssize_t begun, count
    cdef int helpers  # that take parts
    cdef bint is_closed
    cdef PyThread_type_lock left  # free once it is closed and all helpers have left

    def __cinit__(self, work, parts):
        self.work, self.parts, self.error = work, parts, None
        self.begun, self.count, self.helpers, self.is_closed = 0, len(parts), 0, False
        self.results = [None] * self.count
        self.left = PyThread_allocate_lock()
        if self.left is NULL:
            raise MemoryError("no lock to be had")
        PyThread_acquire_lock(self.left, WAIT_LOCK)

    def __dealloc__(self):
        if self.left is not NULL:
            PyThread_acquire_lock(self.left, NOWAIT_LOCK)  # only a lock that is free may be freed
            PyThread_release_lock(self.left)
            PyThread_free_lock(self.left)

    cdef take_parts(self):
        cdef Py_ssize_t k
        while self.begun < self.count:
            k = self.begun
            self.begun += 1
            self.results[k] = self.work(self.parts[k])

    cdef help(self):
        """Take parts, unless it is closed."""
        if self.is_closed:
            return
        self.helpers += 1
        try:
            self.take_parts()
        except BaseException as error:
            self.error = error
            self.begun = self.count
        self.helpers -= 1
        if self.is_closed and not self.helpers:
            PyThread_release_lock(self.left)

    cdef close(self):
        """Let no part be begun and no helper come any more, and wait for those that are here."""
        self.begun, self.is_closed = self.count, True
        if self.helpers:
            with nogil:
                PyThread_acquire_lock(self.left, WAIT_LOCK)
        self.work = self.parts = None  # it may stay in the queue for a while


def serve():
    """Help whoever asks, for ever."""
    cdef Job job
    while True:
        job = waiting.get()
        job.help()
        job = None


def forget_threads():
    """For a forked process, to which threads are not copied."""
    global n_threads, waiting
    n_threads, waiting = 0, queue.SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_threads)


cdef ask(int most):
    """Have at least so many threads, if they can be had: neither where there are too many nor as the interpreter ends.
    """
    global n_threads
    while n_threads < most:
        try:
            threading.Thread(target=serve, name="knapsolve", daemon=True).start()
        except RuntimeError:
            return
        n_threads += 1


def work_through(work, parts, n_jobs):
    """`work(part)` of every part of a sequence, in order, on at most so many threads.

    The thread that asks works too, and others take parts as soon as they are awake: waking one takes as long as some
    small parts. After an error, also an interrupt, no part is begun any more, and it is raised once all threads are
    done.
    """
    cdef Py_ssize_t helpers = min(n_jobs, len(parts), MOST + 1) - 1
    cdef Job job
    if helpers < 1:
        return [work(part) for part in parts]
    ask(helpers)
    job = Job(work, parts)
    for _ in range(helpers):
        waiting.put(job)
    try:
        job.take_parts()
    finally:
        job.close()
    if job.error is not None:
        raise job.error
    return job.results
