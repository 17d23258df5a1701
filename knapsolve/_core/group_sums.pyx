"""Loops over items that add up what they are by group: amounts, and rates of those that start at one price."""

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t

from knapsolve._core.prefetch cimport LARGE_TABLE, NEFK_AHEAD, __builtin_prefetch

ROUNDED = 1e-15  # relative difference of prices at which items start alike, but for rounding
cdef double rounded = ROUNDED

ctypedef fused real:
    float
    double


def add_by_group(const Py_ssize_t[::1] group, const real[::1] column, double[::1] sums, double[::1] lost):
    """Add entries (m,) of items to the sums (g + 1,) of their groups (m,), -1 first, and what rounding loses of them
    to others (g + 1,), by Knuth's two-sum; nothing of infinite sums.
    """
    cdef Py_ssize_t g
    cdef double before, after, part, error
    cdef Py_ssize_t i, near = group.shape[0] - NEFK_AHEAD if sums.shape[0] > LARGE_TABLE else 0
    with nogil:
        for i in range(group.shape[0]):
            if i < near:
                __builtin_prefetch(&sums[group[i + NEFK_AHEAD] + 1], 1)
                __builtin_prefetch(&lost[group[i + NEFK_AHEAD] + 1], 1)
            g = group[i] + 1
            before = sums[g]
            after = before + column[i]
            part = after - before
            error = (before - (after - part)) + (column[i] - part)
            sums[g] = after
            if error == error:
                lost[g] += error


cdef inline bint starts_at(double start, double at) noexcept nogil:
    """Whether an item that starts at a price starts where others do, but for rounding."""
    return start == at or (start >= at * (1.0 - rounded) and start <= at * (1.0 + rounded))


def add_alike(const Py_ssize_t[::1] group, const double[::1] starts, const double[::1] rates, double[:, ::1] table,
              Py_ssize_t[::1] others):
    """Add rates (m,) of items to those of their groups (m,) in table (g, 3), which has where items of each start, NaN
    for where its first one does, the sum of their rates, and what rounding loses of that; list the positions of items
    that start elsewhere or have no group, -1, in `others` (m,). Returns how many these are.
    """
    cdef Py_ssize_t g, i, count = 0, near = group.shape[0] - NEFK_AHEAD
    cdef double before, after, part
    with nogil:
        for i in range(group.shape[0]):
            if i < near and group[i + NEFK_AHEAD] >= 0:
                __builtin_prefetch(&table[group[i + NEFK_AHEAD], 0], 1)
            g = group[i]
            if g >= 0 and table[g, 0] != table[g, 0]:
                table[g, 0] = starts[i]
            if g < 0 or not starts_at(starts[i], table[g, 0]):
                others[count] = i
                count += 1
                continue
            before = table[g, 1]
            after = before + rates[i]
            part = after - before
            table[g, 1] = after
            table[g, 2] += (before - (after - part)) + (rates[i] - part)
    return count


def take_alike(const double[:, ::1] table, uint8_t[::1] has_items, uint8_t[::1] has_scale, double[::1] starts,
               double[::1] scales, double least, double most):
    """Which groups of a table (g, 3) as `add_alike` leaves it have items, and which such that have a scale, into flags
    (g,); starts and scales of these into the first k entries of arrays (g,). Returns k; -1 if one starts neither at 0
    nor from `least` to `most`, or has an infinite scale.
    """
    cdef Py_ssize_t g, k = 0
    cdef double start, scale
    cdef bint is_told = True
    with nogil:
        for g in range(table.shape[0]):
            start, scale = table[g, 0], table[g, 1] + table[g, 2]
            has_items[g] = start == start
            has_scale[g] = scale > 0.0
            is_told &= start != start or ((start == 0.0 or (start >= least and start <= most)) and scale < INFINITY)
            starts[k], scales[k] = start, scale
            k += has_scale[g]
    return k if is_told else -1


def vote_alike(const Py_ssize_t[::1] group, const double[::1] starts, double[:, ::1] table):
    """Where most items of each group start, if most do at one price, by Boyer and Moore's majority vote: table (g, 3)
    has the price, NaN at first, and by how many votes it leads (m,).
    """
    cdef Py_ssize_t g, i, near = group.shape[0] - NEFK_AHEAD
    with nogil:
        for i in range(group.shape[0]):
            if i < near and group[i + NEFK_AHEAD] >= 0:
                __builtin_prefetch(&table[group[i + NEFK_AHEAD], 0], 1)
            g = group[i]
            if g < 0:
                continue
            if table[g, 1] == 0.0:
                table[g, 0] = starts[i]
            table[g, 1] += 1.0 if starts_at(starts[i], table[g, 0]) else -1.0
