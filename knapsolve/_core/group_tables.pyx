"""Loops over tables by group, which numpy would take several passes for."""

from libc.math cimport NAN
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t

import numpy as np

from knapsolve._core.threads import work_through

cdef extern from "cpu_level.h":
    int cpu_level() noexcept nogil

cdef extern from "nefk_by_group.h":
    ctypedef struct nefk_taken:
        const double *totals
        const double *slopes
        const float *single_totals
        const float *single_slopes
        size_t step
        size_t slope_step
    int NEFK_LOOSE
    nefk_taken nefk_taken_from(nefk_taken taken, size_t first) noexcept nogil
    void nefk_capped_sums(nefk_taken taken, const double *caps, size_t groups, double *sums) noexcept nogil
    void nefk_mark_surely(nefk_taken taken, const double *caps, size_t groups, double least, double flattest,
                          double rise, int8_t *marks) noexcept nogil
    double nefk_not_surely_capped(nefk_taken taken, const double *caps, size_t groups) noexcept nogil
    int NEFK_LINES
    void nefk_guess_along(nefk_taken taken, const double *caps, size_t groups, const double *lines,
                          double *own, double loose) noexcept nogil
    void nefk_excess(double *own, size_t groups, double price) noexcept nogil
    void nefk_take_marked(double *own, const int8_t *marks, size_t count, double price) noexcept nogil
    double nefk_sum_marked(const double *caps, const int8_t *marks, size_t count) noexcept nogil
    double nefk_most_under_caps(const uint32_t *sizes, double upper, const double *caps, size_t count) noexcept nogil
    void nefk_put_kept(const double *table, size_t k, const uint8_t *kept, size_t groups, double *out) noexcept nogil
    size_t nefk_keep_capped(const double *taken, const double *caps, size_t groups, double least, uint8_t *kept,
                            double *others) noexcept nogil
    void nefk_split_kept(double *taken, const uint8_t *kept, size_t step, size_t groups, float *slopes) noexcept nogil
    void nefk_name_kept(const uint8_t *kept, size_t groups, int32_t next, int32_t *names) noexcept nogil
    void nefk_starts_of(const uint32_t *sizes, size_t count, uint32_t last, uint32_t *starts) noexcept nogil


def vector_level():
    """Level of vector code in use: see csrc/cpu_level.h."""
    return cpu_level()


def cut_into_runs(const uint32_t[::1] offset, uint32_t most_items, Py_ssize_t most_groups, Py_ssize_t first_width,
                  Py_ssize_t width, uint16_t[::1] starts):
    """Runs of groups, as knapsolve.nefk.runs has them: tuples of their groups [first, last) and items [begin, end).

    `offset` (g + 1,) says where groups start and the last one ends; where they start in their run is written to
    starts (g,). The first run has `first_width` groups and all others `width`, unless that is 0.
    """
    cdef Py_ssize_t g, first = 0, last, above, middle, groups = starts.shape[0]
    cdef uint32_t begin
    runs = []
    while first < groups:
        begin, last, above = offset[first], first + 1, min(first + most_groups, groups) + 1
        if width:
            last = min(first + (width if first else first_width), groups)
        while not width and above - last > 1:  # the last group that ends in time
            middle = (last + above) // 2
            if offset[middle] - begin <= most_items:
                last = middle
            else:
                above = middle
        with nogil:
            for g in range(first, last):
                starts[g] = <uint16_t> (offset[g] - begin)
        runs.append((first, last, begin, offset[last]))
        first = last
    return runs


def count_in_long(const uint16_t[::1] starts, const Py_ssize_t[:, ::1] runs, int most):
    """Items of groups with more than `most`, the first group aside: starts (g,) and runs of knapsolve.nefk.runs."""
    cdef Py_ssize_t r, g, last, rest, count = 0
    cdef int size, part
    for r in range(runs.shape[0]):
        last, part = runs[r, 1] - 1, 0
        for g in range(max(runs[r, 0], 1), last):
            size = starts[g + 1] - starts[g]
            part += size if size > most else 0
        rest = runs[r, 3] - runs[r, 2] - starts[last]
        count += part + (rest if rest > most and last > 0 else 0)
    return count


def sizes_of(const uint16_t[::1] starts, const Py_ssize_t[:, ::1] runs, double scale, double[::1] sizes):
    """Items of groups, times a scale, into sizes (g,): starts (g,) and runs of knapsolve.nefk.runs."""
    cdef Py_ssize_t r, g, last
    with nogil:
        for r in range(runs.shape[0]):
            last = runs[r, 1] - 1
            for g in range(runs[r, 0], last):
                sizes[g] = scale * (starts[g + 1] - starts[g])
            sizes[last] = scale * (runs[r, 3] - runs[r, 2] - starts[last])


cdef nefk_taken taken_of(total, slope):
    """Totals and slopes (g + 1,), each doubles or singles; slopes may be None."""
    cdef nefk_taken taken
    cdef const double[:] doubles
    cdef const float[:] singles
    taken.totals, taken.slopes, taken.single_totals, taken.single_slopes, taken.slope_step = NULL, NULL, NULL, NULL, 0
    if total.dtype == np.float32:
        singles = total
        taken.single_totals, taken.step = &singles[0], singles.strides[0] // sizeof(float)
    else:
        doubles = total
        taken.totals, taken.step = &doubles[0], doubles.strides[0] // sizeof(double)
    if slope is not None and slope.dtype == np.float32:
        singles = slope
        taken.single_slopes, taken.slope_step = &singles[0], singles.strides[0] // sizeof(float)
    elif slope is not None:
        doubles = slope
        taken.slopes, taken.slope_step = &doubles[0], doubles.strides[0] // sizeof(double)
    return taken


PART = 1 << 17  # groups that one thread takes at a time


def in_parts(work, Py_ssize_t groups, n_jobs):
    """`work(start, count)` of groups in parts, in order."""
    parts = [(start, min(PART, groups - start)) for start in range(0, groups, PART)]
    return work_through(lambda part: work(*part), parts, n_jobs)


def capped_sums(total, slope, const double[::1] caps, n_jobs=1):
    """What groups take together under their caps, the slope of that, and its part that caps hold.

    Of totals and slopes (g + 1,), of no group's items first, and caps (g,).
    """
    cdef nefk_taken taken = taken_of(total, slope)

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef double[3] sums
        with nogil:
            nefk_capped_sums(nefk_taken_from(taken, 1 + start), &caps[start], count, sums)
        return sums[0], sums[1], sums[2]

    first = float(total[0]), 0.0 if slope is None else float(slope[0]), 0.0
    if 0 < caps.shape[0] <= PART:  # searches ask many times what few groups take
        whole, steep, fixed = work(0, caps.shape[0])
        return first[0] + whole, first[1] + steep, fixed
    return tuple(sum(column) for column in zip(first, *in_parts(work, caps.shape[0], n_jobs)))


def not_surely_capped(total, const double[::1] caps, n_jobs=1):
    """The sum of those rough totals (g + 1,), of no group's items first, that do not surely exceed their caps."""
    cdef nefk_taken taken = taken_of(total, None)

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef double part
        with nogil:
            part = nefk_not_surely_capped(nefk_taken_from(taken, 1 + start), &caps[start], count)
        return part

    return sum(in_parts(work, caps.shape[0], n_jobs), float(total[0]))


def mark_surely(total, slope, const double[::1] caps, double least, int8_t[::1] marks, double flattest=0.0,
                double rise=np.inf, n_jobs=1):
    """Mark groups in marks (g + 1,) as capped, 1, of whose rough totals (g + 1,) slopes lead to the caps (g,) by
    `least` or more; slopes are taken to be no less than `flattest` times the total. As loose, 3, those that are under
    the cap even if they take `rise` times the slope more, and the items of no group unless that has no end. All others
    0.
    """
    cdef nefk_taken taken = taken_of(total, slope)

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef nefk_taken some = nefk_taken_from(taken, 1 + start)
        with nogil:
            nefk_mark_surely(some, &caps[start], count, least, flattest, rise, &marks[1 + start])

    marks[0] = NEFK_LOOSE if rise < np.inf else 0
    in_parts(work, caps.shape[0], n_jobs)


LINES = NEFK_LINES  # see guess_along


def guess_along(total, const double[::1] caps, const double[:, ::1] lines, double[::1] own, n_jobs=1,
                double loose=NAN):
    """Write a guess of each group's own price into own (g + 1,), which may lie over the totals (g + 1,) at a
    price; `loose` where a cap is, and of the items of no group.

    By totals over caps along `lines` (LINES, 2), where each is at 0 and its slope: eight for each doubling from 1 on.
    """
    cdef nefk_taken taken = taken_of(total, None)
    if lines.shape[0] != NEFK_LINES or lines.shape[1] != 2:
        raise ValueError(f"lines must have the shape ({LINES}, 2)")

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef nefk_taken some = nefk_taken_from(taken, 1 + start)
        with nogil:
            nefk_guess_along(some, &caps[start], count, &lines[0, 0], &own[1 + start], loose)

    in_parts(work, caps.shape[0], n_jobs)
    own[0] = loose


def take_marked(double[::1] own, const int8_t[::1] marks, double price, n_jobs=1):
    """Own prices (k,) of groups marked 0 or 3 become NaN; those of others, if they are NaN, the given one."""
    def work(Py_ssize_t start, Py_ssize_t count):
        with nogil:
            nefk_take_marked(&own[start], &marks[start], count, price)

    in_parts(work, own.shape[0], n_jobs)


def excess(double[::1] own, double price, n_jobs=1):
    """How far own prices (g,) are above a price, in their place: 0 where they are below, or NaN."""
    def work(Py_ssize_t start, Py_ssize_t count):
        with nogil:
            nefk_excess(&own[start], count, price)

    in_parts(work, own.shape[0], n_jobs)


def sum_marked(const double[::1] caps, const int8_t[::1] marks, n_jobs=1):
    """The sum of the caps (g,) of groups that are marked 1; without marks, of all."""
    def work(Py_ssize_t start, Py_ssize_t count):
        cdef double part
        with nogil:
            part = nefk_sum_marked(&caps[start], NULL if marks is None else &marks[start], count)
        return part

    return sum(in_parts(work, caps.shape[0], n_jobs), 0.0)


def most_under_caps(const uint32_t[::1] sizes, double upper, const double[::1] caps, n_jobs=1):
    """What groups of some sizes (g,) take under their caps (g,) at most, if items take at most `upper`."""
    def work(Py_ssize_t start, Py_ssize_t count):
        cdef double part
        with nogil:
            part = nefk_most_under_caps(&sizes[start], upper, &caps[start], count)
        return part

    return sum(in_parts(work, caps.shape[0], n_jobs), 0.0)


def starts_of(const uint32_t[::1] sizes, uint32_t last, uint32_t[::1] starts):
    """Where groups of some sizes (k,) start, side by side, and where the last of them ends: into starts (k + 1,)."""
    with nogil:
        nefk_starts_of(&sizes[0] if sizes.shape[0] else NULL, sizes.shape[0], last, &starts[0])


def keep_capped(const double[:, ::1] taken, const double[::1] caps, double least, uint8_t[::1] kept, n_jobs=1):
    """Mark in kept (g,) the groups that take more than `least` of their caps (g,), of a table (g + 1, 2), of no group
    first. How many those are, and sums of the two columns over all others, also of no group.
    """
    def work(Py_ssize_t start, Py_ssize_t count):
        cdef double[2] others
        cdef size_t k
        with nogil:
            k = nefk_keep_capped(&taken[1 + start, 0], &caps[start], count, least, &kept[start], others)
        return k, others[0], others[1]

    first = 0, float(taken[0, 0]), float(taken[0, 1])
    return tuple(sum(column) for column in zip(first, *in_parts(work, caps.shape[0], n_jobs)))


def split_kept(double[:, ::1] taken, const uint8_t[:] kept, float[::1] second):
    """Put the entries of the first column of a table (g + 1, 2) kept (g,) to its front, behind the first row's, and the
    second column's into an array (k + 2,), whose last one is used up.
    """
    with nogil:
        nefk_split_kept(&taken[0, 0], &kept[0], kept.strides[0], kept.shape[0], &second[0])


ctypedef fused entry:
    double
    uint32_t


def take_kept(const entry[::1] table, const uint8_t[:] kept, entry[::1] out):
    """The entries of a table (g,) that are kept (g,), into an array (k + 1,), whose last one is used up."""
    cdef Py_ssize_t g, k = 0
    with nogil:
        for g in range(kept.shape[0]):
            out[k] = table[g]
            k += kept[g]


def kept_before(kept):
    """How many groups are kept (g,) before each part begins."""
    return [0, *np.cumsum([np.count_nonzero(kept[start:start + PART]) for start in range(0, len(kept), PART)])]


def put_kept(const double[::1] table, const uint8_t[::1] kept, double[::1] out, n_jobs=1):
    """Entries (k,) of the groups that are kept (g,), and NaN for all others, into an array (g,)."""
    cdef const double *entries = NULL if table.shape[0] == 0 else &table[0]
    cdef size_t k = table.shape[0]
    before = kept_before(np.asarray(kept))

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef size_t first = before[start // PART]
        with nogil:
            nefk_put_kept(entries + first, k - first, &kept[start], count, &out[start])

    in_parts(work, kept.shape[0], n_jobs)


def name_kept(const uint8_t[::1] kept, int32_t[::1] names, n_jobs=1):
    """Numbers (g + 1,), of no group first, that the groups get that are kept (g,); -1 for all others."""
    before = kept_before(np.asarray(kept))

    def work(Py_ssize_t start, Py_ssize_t count):
        cdef int32_t first = before[start // PART]
        with nogil:
            nefk_name_kept(&kept[start], count, first, &names[1 + start])

    names[0] = -1
    in_parts(work, kept.shape[0], n_jobs)


def take_named(int32_t[::1] names, const uint32_t[::1] table):
    """Replace numbers (g,) of groups, -1 for none, by the bits of their entries in a table (k + 1,), of none first."""
    cdef Py_ssize_t g
    with nogil:
        for g in range(names.shape[0]):
            names[g] = <int32_t> table[1 + names[g]]
