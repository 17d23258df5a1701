"""Loops over the groups of items: how many items they have, and where these go."""

from libc.stdint cimport UINT64_MAX, int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from knapsolve._core.prefetch cimport (
    LARGE_TABLE,
    NEFK_AHEAD,
    NEFK_IN_ORDER,
    __builtin_prefetch,
    nefk_ask,
    nefk_entries,
)

cdef extern from "nefk_layout.h":
    ctypedef struct nefk_runs:
        const uint32_t *entries
        const uint32_t *guess
        const uint32_t *first
        const uint64_t *active
        uint32_t *next
        uint64_t multiplier
        uint32_t width
        uint32_t lead
        int shift
        int bits
        int down
        int asks
    ctypedef struct nefk_move:
        const char *from_ "from"
        char *to
        size_t width
    void nefk_sort_into_groups(const Py_ssize_t *group, const int32_t *names, const uint64_t *active, size_t start,
                               size_t count, int down, uint32_t *next, uint32_t *order) noexcept nogil
    void nefk_move_to_runs(const Py_ssize_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b,
                           uint16_t *member) noexcept nogil
    void nefk_extent(const Py_ssize_t *group, size_t count, Py_ssize_t *ends) noexcept nogil
    void nefk_move_back(const Py_ssize_t *group, size_t count, nefk_runs runs, nefk_move a) noexcept nogil

cdef extern from *:
    int __builtin_ctzll(uint64_t) noexcept nogil


def sort_into_groups(const Py_ssize_t[::1] group, size_t start, uint32_t[::1] next_, uint32_t[::1] order, bint down,
                     const int32_t[::1] names=None, const uint64_t[::1] active=None):
    """Put items start .. (group - 1 of each in group, (m,)) into the order by group: see csrc/nefk_layout.h. next_
    (g + 1,) moves on. With `names`, by names[group + 1]; with `active`, those alone whose bit (m / 64,) is set.
    """
    cdef int32_t *known = NULL if names is None else <int32_t *> &names[0]
    cdef const uint64_t *bits = NULL if active is None else &active[0]
    with nogil:
        nefk_sort_into_groups(&group[0], known, bits, start, group.shape[0], down, &next_[0], &order[0])


cdef inline nefk_entries entries_of(const Py_ssize_t[::1] group) noexcept:
    cdef nefk_entries entries
    entries.from_, entries.width = <size_t> &group[0] if group.shape[0] else 0, sizeof(Py_ssize_t)
    return entries


def extent(const Py_ssize_t[::1] group):
    """The least and the largest of some numbers (m,), and of -1."""
    cdef Py_ssize_t[2] ends
    with nogil:
        nefk_extent(&group[0], group.shape[0], ends)
    return ends[0], ends[1]


def count_groups(const Py_ssize_t[::1] group, uint32_t[::1] count):
    """Add the items of each group, -1 first, to count (g + 1,)."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(group.shape[0]):
            count[group[i] + 1] += 1


def mark_ungrouped(const Py_ssize_t[::1] group, uint64_t[::1] marks):
    """Set the bits (m / 64,) of the items of groups (m,) that have group -1."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(group.shape[0]):
            marks[i >> 6] |= <uint64_t> (group[i] < 0) << (i & 63)


def count_marked(const Py_ssize_t[::1] group, const uint64_t[::1] marks, bint others, uint32_t[::1] count, int bits):
    """Add the items of groups (m,) whose bit (m / 64,) is set to the count of each 2^bits groups, of group -1 first; or
    take away the `others`, from a count of all. How many these items are.
    """
    cdef Py_ssize_t word, first, k, m = group.shape[0], block = 1 << bits, listed = 0
    cdef uint64_t some, flipped = UINT64_MAX if others else 0
    cdef uint32_t step = <uint32_t> -1 if others else 1
    cdef nefk_entries entries = entries_of(group)
    with nogil:
        for word in range((m + 63) >> 6):
            first = 64 * word
            for k in range(8):  # lines of memory, which few items to a word do not make processors ask for
                nefk_ask(entries, first + 2 * NEFK_IN_ORDER + 8 * k)
            some = marks[word] ^ flipped
            if m - first < 64:
                some &= (<uint64_t> 1 << (m - first)) - 1
            while some:
                count[(group[first + __builtin_ctzll(some)] + block) >> bits] += step
                some &= some - 1
                listed += 1
    return listed


cdef inline bint is_kept(const uint8_t[::1] bits, Py_ssize_t group) noexcept nogil:
    return bits[(group + 1) >> 3] >> ((group + 1) & 7) & 1


def list_kept(const Py_ssize_t[::1] group, size_t start, const uint8_t[::1] bits, uint32_t[::1] found):
    """List items start + i of groups (m,) whose bit is set, of group -1 first and from the lowest of bits[0] on, in
    found, which has room for one more than there are. How many are listed.
    """
    cdef Py_ssize_t i, listed = 0
    with nogil:
        for i in range(group.shape[0]):
            found[listed] = <uint32_t> (start + i)
            listed += is_kept(bits, group[i])
    return listed


def list_others(const Py_ssize_t[::1] group, size_t start, const uint8_t[::1] bits, const uint64_t[::1] active,
                uint32_t[::1] found):
    """The same of the items alone whose own bit (m / 64,) in `active` is not set."""
    cdef Py_ssize_t i, word, m = group.shape[0], listed = 0
    cdef uint64_t idle
    with nogil:
        for word in range((m + 63) >> 6):
            idle = ~active[word]
            for i in range(64 * word, min(64 * word + 64, m)):
                found[listed] = <uint32_t> (start + i)
                listed += is_kept(bits, group[i]) & (idle >> (i & 63) & 1)
    return listed


cdef nefk_move move_of(pair):
    """How a column moves, given where from and where to: two arrays of one type; None for no column."""
    cdef nefk_move move
    cdef const uint8_t[::1] given
    cdef uint8_t[::1] to
    move.from_, move.to, move.width = NULL, NULL, 0
    if pair is not None:
        given, to = (x.view("u1") for x in pair)
        move.from_, move.to, move.width = <const char *> &given[0], <char *> &to[0], pair[0].dtype.itemsize
    return move


def divider(width, n_runs):
    """What to multiply a number below n_runs * width by, and then to shift it, so that it is divided by the width.

    The quotient of the multiplier by 2^shift is off by at most 1 / 2^shift, which must be less than 1 / width when
    multiplied by the number. Products have 64 bits if the number has 31 and a bit.
    """
    shift = (n_runs * width * width).bit_length()
    return 2**shift // width + 1, shift


cdef Py_ssize_t MOST_UNASKED = 200_000  # items whose columns a cache holds, if runs are even


cdef nefk_runs runs_of(entries, uint32_t[::1] next_, bint down, pair, const uint64_t[::1] active):
    """Where items go, given a table (g + 1,), how many groups all runs have and the lead, or guesses of runs, their
    first groups and the guesses' bits; where the next of each run does; and a column, from where and to where. Those
    whose bit is not set are left out, if there are any.
    """
    cdef nefk_runs runs
    cdef const uint32_t[::1] table, first
    runs.entries, runs.guess, runs.first = NULL, NULL, NULL
    runs.next, runs.bits, runs.down = &next_[0], 0, down
    runs.multiplier, runs.width, runs.lead, runs.shift = 0, 0, 0, 0
    runs.active = NULL if active is None else &active[0]
    if isinstance(entries, tuple) and len(entries) == 2:
        runs.width, runs.lead = entries
        runs.multiplier, runs.shift = divider(entries[0], next_.shape[0])
    elif isinstance(entries, tuple):
        table, first, runs.bits = entries
        runs.guess, runs.first = &table[0], &first[0]
    else:
        table = entries
        runs.entries = &table[0]
    runs.asks = not runs.width or max(map(len, pair)) > MOST_UNASKED
    return runs


def move_to_runs(const Py_ssize_t[::1] group, entries, uint32_t[::1] next_, bint down, const uint64_t[::1] active,
                 a, b, uint16_t[::1] member=None):
    """Copy columns (m,) to where items of groups (m,) go: see csrc/nefk_layout.h. next_ moves on. `active` are bits
    (m / 64,), or None.
    """
    cdef nefk_runs where = runs_of(entries, next_, down, a, active)
    cdef nefk_move first = move_of(a), second = move_of(b)
    with nogil:
        nefk_move_to_runs(&group[0], group.shape[0], where, first, second, NULL if member is None else &member[0])


def move_back(const Py_ssize_t[::1] group, entries, uint32_t[::1] next_, bint down, const uint64_t[::1] active, column):
    """Copy a column (m,) back from there. next_ moves on."""
    cdef nefk_runs where = runs_of(entries, next_, down, column, active)
    cdef nefk_move move = move_of(column)
    with nogil:
        nefk_move_back(&group[0], group.shape[0], where, move)


cdef uint64_t SPREAD = 0x9E3779B97F4A7C15  # multiples of it spread numbers evenly, whatever their pattern


cdef inline bint is_sampled(Py_ssize_t group, uint64_t limit) noexcept nogil:
    return <uint64_t> group * SPREAD < limit


def count_and_sample(const Py_ssize_t[::1] group, uint32_t[::1] count, size_t start, uint64_t every, uint32_t most,
                     bint or_none, Py_ssize_t[:, ::1] found, uint8_t[::1] rest=None):
    """As `count_groups`; list items start + i of the groups that `sampled_groups` names, at most so many of each, and
    if `or_none` of none, beside their groups, in found, with room for one more than there are. How many are listed.

    With `rest` (g + 1,) that takes the last eight bits of all numbers, and `count` the others: where groups are many,
    caches hold four times as many of them.
    """
    cdef uint64_t limit = UINT64_MAX // every
    cdef Py_ssize_t i, g, listed = 0, near = group.shape[0] - NEFK_AHEAD if count.shape[0] > LARGE_TABLE else 0
    cdef uint32_t known
    cdef uint8_t few
    cdef nefk_entries entries = entries_of(group)
    if rest is not None:
        with nogil:
            for i in range(group.shape[0]):
                g = group[i]
                if i < near:
                    __builtin_prefetch(&rest[group[i + NEFK_AHEAD] + 1], 1)
                few = rest[g + 1] + 1
                rest[g + 1] = few
                if few == 0:
                    count[g + 1] += 256
                if (is_sampled(g, limit) and count[g + 1] + few <= most) if g >= 0 else or_none:  # seldom
                    found[0, listed], found[1, listed] = start + i, g
                    listed += 1
        return listed
    with nogil:
        for i in range(group.shape[0]):
            nefk_ask(entries, i + NEFK_IN_ORDER)
            g = group[i]
            if i < near:
                __builtin_prefetch(&count[group[i + NEFK_AHEAD] + 1], 1)
            known = count[g + 1] + 1
            count[g + 1] = known
            if (is_sampled(g, limit) & (known <= most)) if g >= 0 else or_none:  # seldom
                found[0, listed], found[1, listed] = start + i, g
                listed += 1
    return listed


def count_blocks_and_sample(const Py_ssize_t[::1] group, uint32_t[::1] count, int8_t[::1] used, int bits, size_t start,
                            uint64_t every, bint or_none, Py_ssize_t[:, ::1] found):
    """The same without a limit, and items counted for 2^bits groups at a time, of no group first: so few numbers are in
    the cache. Groups that have items, or -1, are marked 1 in used (g + 1,).
    """
    cdef uint64_t limit = UINT64_MAX // every
    cdef Py_ssize_t i, g, listed = 0, block = 1 << bits
    cdef nefk_entries entries = entries_of(group)
    with nogil:
        for i in range(group.shape[0]):
            nefk_ask(entries, i + NEFK_IN_ORDER)
            g = group[i]
            count[(g + block) >> bits] += 1
            used[g + 1] = 1
            if is_sampled(g, limit) if g >= 0 else or_none:  # seldom
                found[0, listed], found[1, listed] = start + i, g
                listed += 1
    return listed


def find_starts(const uint16_t[::1] member, const Py_ssize_t[:, ::1] runs, uint16_t[::1] starts):
    """Where groups of some runs (r, 4), as knapsolve.nefk.runs has them, start in theirs, into starts (g,): of items
    of which `member` (n,) says which group of their run they are in.
    """
    cdef Py_ssize_t r, i, first
    cdef uint16_t at, size
    with nogil:
        for r in range(runs.shape[0]):
            first = runs[r, 0]
            for i in range(first, runs[r, 1]):
                starts[i] = 0
            for i in range(runs[r, 2], runs[r, 3]):
                starts[first + member[i]] += 1
            at = 0
            for i in range(first, runs[r, 1]):
                size = starts[i]
                starts[i] = at
                at += size


def sampled_groups(Py_ssize_t first, Py_ssize_t last, uint64_t every):
    """Numbers of about one in `every` of the groups [first, last), in order."""
    cdef uint64_t limit = UINT64_MAX // every
    cdef Py_ssize_t g, count = 0
    cdef Py_ssize_t[::1] found = np.empty(last - first + 1, dtype=np.intp)
    with nogil:
        for g in range(first, last):
            found[count] = g
            count += is_sampled(g, limit)
    return np.array(found[:count])


def ranks_among(const Py_ssize_t[::1] chosen, const Py_ssize_t[::1] known, Py_ssize_t n_groups, Py_ssize_t[::1] ranks):
    """Where groups `known` (m,), all of which are chosen, are among the chosen ones, which are in order, into ranks
    (m,), which may be the same array; -1 where one is -1. By where every 2^k of the numbers begin among these, about
    four to each one: few share theirs.
    """
    cdef Py_ssize_t m = chosen.shape[0], bits = 0, i, g, at, none
    if not m:
        np.asarray(ranks)[:] = -1
        return
    while 4 * m << bits < n_groups:
        bits += 1
    cdef uint32_t[::1] begins = np.zeros((n_groups >> bits) + 1, dtype=np.uint32)
    with nogil:
        for i in range(m - 1, -1, -1):
            begins[chosen[i] >> bits] = <uint32_t> i
        for i in range(known.shape[0]):
            g = known[i]
            none = -<Py_ssize_t> (g < 0)  # no branch
            at = begins[(g & ~none) >> bits]
            while chosen[at] < g and at < m - 1:
                at += 1
            ranks[i] = at | none
