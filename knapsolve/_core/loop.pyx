"""The closed loop: a scheduler picks, an environment answers, a learner learns. No Python in it.

One poll: i = scheduler.next(); v = environment.poll(i); learner.observe(i, v); scheduler.polled(i).
Poll k (counted from 1) takes place at start + k * period. Learner and scheduler draw from one stream,
the environment from another, so that two learners can meet the same environment's numbers.
"""

from knapsolve._core.random_bits cimport bitgen_t, bits_of
from knapsolve._core.roles cimport Environment, Learner, Scheduler


def run(Learner learner, Scheduler scheduler, Environment environment, Py_ssize_t done, Py_ssize_t stop,
        double start, double period, learner_stream, environment_stream):
    """Make polls done + 1 to stop; return (polls made, detections). Fewer polls: the scheduler has to settle."""
    cdef bitgen_t *learner_bits = bits_of(learner_stream)
    cdef bitgen_t *environment_bits = bits_of(environment_stream)
    cdef Py_ssize_t k = done, i = 0, detections = 0
    cdef double elapsed, amount = 0.0
    cdef int v
    learner.amount_wanted = environment.needs_amount
    scheduler.settle(learner)
    with learner_stream.bit_generator.lock, environment_stream.bit_generator.lock, nogil:
        while k < stop:
            i = scheduler.next(learner, learner_bits)
            if i < 0:
                break
            if environment.needs_amount:
                amount = learner.amount(i)
            k += 1
            v = environment.poll(i, start + <double>k * period, amount, &elapsed, environment_bits)
            learner.observe(i, elapsed, v, learner_bits)
            scheduler.polled(learner, i)
            detections += v
            if learner.failed or environment.failed:
                break
    if learner.failed:
        raise learner.error
    if environment.failed:
        raise environment.error
    if i == -1:
        raise ValueError(f"all amounts are zero after {k} polls: there is nothing to poll")
    return k - done, detections
