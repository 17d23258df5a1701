"""Views over columns of items for the knapsack's passes and searches; the work itself is in csrc/nefk_*."""

import numpy as np

SAMPLE_RUN = NEFK_SAMPLE_RUN  # items in a row of a sample
ROUGH = NEFK_ROUGH  # relative error of what is taken, roughly
DETECTION, FRESHNESS, POISSON, HARMONIC, LOGARITHMIC, EXPONENTIAL, QUADRATIC, POWER, LOG_EXPONENTIAL = range(9)
cdef Py_ssize_t STREAMED = 1 << 21  # amounts from so many on are written past the caches
RUNNING, MET, ENCLOSED = range(3)
LOW, HIGH, PRICE, TARGET, TOLERANCE, TOP, SLOW, STATE = range(8)  # columns of an array of searches (n, 8)

nefk_use_level(2)


def use_level(int level):
    """Use at most this instruction set (0 portable, 1 AVX2, 2 AVX-512); return the one in use."""
    return nefk_use_level(level)


cdef class Column:
    """n doubles, n floats, or one number for all items. With `place` (m,), m entries of them, each at its place."""

    cdef nefk_column view
    cdef object _keep

    def __cinit__(self, values, const uint32_t[::1] place=None):
        cdef const double[::1] doubles
        cdef const float[::1] singles
        self._keep = values, place
        self.view.place = NULL if place is None else &place[0]
        if isinstance(values, float):
            self.view.scalar = values
        elif values.dtype.itemsize == 4:
            singles = values
            self.view.singles = &singles[0] if singles.shape[0] else NULL
        else:
            doubles = values
            self.view.doubles = &doubles[0] if doubles.shape[0] else NULL


cdef class Items:
    """A separable concave knapsack without its budget: a family, four columns, perhaps an order of their entries."""

    cdef nefk_problem problem
    cdef object _keep

    def __cinit__(self, int shape, Column parameter, Column weight, Column lower, Column upper, double ceiling,
                  const uint32_t[::1] order=None):
        self._keep = (parameter, weight, lower, upper, order)
        self.problem.shape = shape
        self.problem.parameter = parameter.view
        self.problem.weight = weight.view
        self.problem.lower = lower.view
        self.problem.upper = upper.view
        self.problem.ceiling = ceiling
        self.problem.order = NULL if order is None else <uint32_t *> &order[0]

    @property
    def shape(self):
        """Family of the items, one of the constants of this module."""
        return self.problem.shape


def respond(Items items, Column price, size_t start, size_t stop, double[::1] amounts=None):
    """(x high, low, slope high, low) summed over items [start, stop); amounts (n,) change."""
    cdef nefk_response out
    cdef double *target = NULL if amounts is None else &amounts[0]
    with nogil:
        nefk_respond_range(&items.problem, &price.view, start, stop, target, &out)
    return out.amount.high, out.amount.low, out.slope.high, out.slope.low


def respond_sample(Items items, double price, size_t start, size_t stop, size_t every):
    """The same over runs of SAMPLE_RUN items that begin at multiples of `every`, and how many items that are."""
    cdef nefk_response out
    cdef size_t count
    if every < NEFK_SAMPLE_RUN:
        raise ValueError(f"every must be at least {NEFK_SAMPLE_RUN}, got {every}")
    with nogil:
        count = nefk_respond_sample(&items.problem, price, start, stop, every, &out)
    return out.amount.high, out.amount.low, out.slope.high, out.slope.low, count


def respond_upwards(Items items, size_t n, double price, double factor, double least, double[::1] totals):
    """What n items take at a price, and at others, each `factor` times the one before, into totals (m,), until they
    take no more than `least`; how many prices that is.
    """
    cdef nefk_column at
    cdef nefk_response out
    cdef Py_ssize_t k = 0
    at.doubles, at.singles, at.place, at.scalar = NULL, NULL, NULL, price
    with nogil:
        while k < totals.shape[0]:
            nefk_respond_range(&items.problem, &at, 0, n, NULL, &out)
            totals[k] = out.amount.high + out.amount.low
            k += 1
            if totals[k - 1] <= least:
                break
            at.scalar *= factor
    return k


def respond_each(Items items, double price, size_t start, size_t stop, bint roughly, double[:, ::1] out):
    """Fill out (2, m) with what each item of [start, stop) takes at a price, and its slope; roughly, or exactly."""
    with nogil:
        nefk_respond_each(&items.problem, price, start, stop, roughly, &out[0, 0], &out[1, 0])


def respond_by_group(Items items, const Py_ssize_t[::1] group, size_t start, double price, double[:, ::1] sums):
    """Add what items start .. take at a price, roughly, and slopes, to the pairs of their groups (m,) in sums
    (g + 1, 2), of no group first.
    """
    with nogil:
        nefk_respond_by_group(&items.problem, &group[0], start, group.shape[0], price, &sums[0, 0])


def respond_some_by_group(Items items, const Py_ssize_t[::1] group, size_t start, double price, Py_ssize_t first,
                          Py_ssize_t last, double[:, ::1] sums):
    """The same of the groups from `first` to before `last` alone."""
    with nogil:
        nefk_respond_some_by_group(&items.problem, &group[0], start, group.shape[0], price, first, last, &sums[0, 0])


def settle(Items items, double low, double high, double share, size_t start, size_t stop, double[::1] doubles,
           float[::1] singles, int8_t[::1] side=None):
    """Write amounts, and their sides unless that is None, of items [start, stop); (x high, low, value high, low,
    violation).
    """
    cdef nefk_prices prices
    cdef nefk_audit out
    cdef double *wide = NULL if doubles is None else &doubles[0]
    cdef float *narrow = NULL if singles is None else &singles[0]
    cdef int8_t *places = NULL if side is None else &side[0]
    cdef Py_ssize_t n = singles.shape[0] if doubles is None else doubles.shape[0]
    prices.low, prices.high, prices.share = low, high, share
    with nogil:
        nefk_settle_range(&items.problem, prices, start, stop, wide, narrow, places, n >= STREAMED, &out)
    return out.amount.high, out.amount.low, out.value.high, out.value.low, out.residual


def share_groups(Items items, const Py_ssize_t[::1] group, const double[:, ::1] table, size_t start,
                 double[::1] amounts, int8_t[::1] side):
    """Write what items start .. share of what their groups (m,) take, as csrc/nefk_kernel.h has it, and their sides;
    the same tuple.
    """
    cdef nefk_audit out
    with nogil:
        nefk_share_groups(&items.problem, &group[0], &table[0, 0], start, start + group.shape[0], &amounts[0], &side[0],
                          &out)
    return out.amount.high, out.amount.low, out.value.high, out.value.low, out.residual


cdef tuple pairs(nefk_series_sum *sums):
    """The pairs (high, low) of the five terms of a sum of series, one after the other."""
    cdef int k
    return tuple([x for k in range(5) for x in (sums.term[k].high, sums.term[k].low)])


def expand(Items items, double price, double half, double tolerance, size_t start, size_t stop,
           Py_ssize_t[::1] rough):
    """List items of [start, stop) that are rough within `half` of a price, and sum the others' series.

    The last entry of rough is not for them. (how many are rough, then the pairs of the terms' sums)
    """
    cdef nefk_series_sum sums
    cdef size_t count
    with nogil:
        count = nefk_expand_range(&items.problem, price, half, tolerance, start, stop, &rough[0],
                                  rough.shape[0] - 1, &sums)
    return (count, *pairs(&sums))


def list_free(Items items, double price, bint at_lower, size_t start, size_t stop, Py_ssize_t[::1] listed):
    """List items of [start, stop) that upper bounds (`at_lower`: lower ones) do not hold at a price.

    The last entry is not for them. (how many, what all take high, low, and the same of those that are not listed)
    """
    cdef nefk_sum total, held
    cdef size_t count
    with nogil:
        count = nefk_list_free(&items.problem, price, at_lower, start, stop, &listed[0], listed.shape[0] - 1,
                               &total, &held)
    return count, total.high, total.low, held.high, held.low


def worth(Items items, size_t start, size_t stop, const double[::1] amounts, double[::1] value, double[::1] slope):
    """Fill the weighted value and derivative (n,) of amounts (n,) of items [start, stop)."""
    with nogil:
        nefk_worth_range(&items.problem, start, stop, &amounts[0], &value[0], &slope[0])


def mark_started(Items items, double price, size_t start, size_t stop, uint64_t[::1] marks):
    """Set the bits (m / 64,) of items [start, stop) that start above a price, but for rounding, and clear those beyond;
    of detection and of shapes whose items start at weight / parameter.
    """
    with nogil:
        nefk_mark_started(&items.problem, price, start, stop, &marks[0])


def bounds(Items items, size_t start, size_t stop):
    """(lower high, low, upper high, low, first item with crossed bounds or stop) of items [start, stop)."""
    cdef nefk_sum lower, upper
    cdef size_t crossed
    lower.high = lower.low = upper.high = upper.low = 0.0
    with nogil:
        crossed = nefk_bounds_range(&items.problem, start, stop, &lower, &upper)
    return lower.high, lower.low, upper.high, upper.low, crossed


def advance(double[:, ::1] searches, int shape, const double[::1] totals, const double[::1] slopes,
            const Py_ssize_t[::1] which):
    """One step of the searches `which` of (n, 8), given what is taken at their prices."""
    cdef Py_ssize_t k
    for k in range(which.shape[0]):
        nefk_search_update(<nefk_search *> &searches[which[k], 0], shape, totals[which[k]], slopes[which[k]])


def step(double[::1] state, int shape, double total, double slope):
    """One step of one search (8,), given what is taken at its price."""
    nefk_search_update(<nefk_search *> &state[0], shape, total, slope)


def search(Items items, size_t n, double[::1] state, int n_most):
    """Run one search (8,) over n items until it ends or n_most totals are taken; return how many were."""
    cdef size_t count
    with nogil:
        count = nefk_run_search(&items.problem, n, <nefk_search *> &state[0], n_most)
    return count


def cross(Items items, size_t n, double target, double low, double high, size_t most):
    """Two prices next to each other, within a bracket, at which some of n quadratic items, n > 0, begin to take
    something or have all that they can, and the one between at which they take a target in all: (low, price, high), as
    good as rounding. None if more items than `most`, about, have such a price there.
    """
    cdef size_t room = min(n, most + NEFK_BLOCK)
    cdef double[:, ::1] ends = np.empty((3, room))
    cdef nefk_ramps ramps
    cdef nefk_crossing at
    cdef int is_found
    ramps.top, ramps.end, ramps.rise = &ends[0, 0], &ends[1, 0], &ends[2, 0]
    at.low, at.price, at.high = low, min(max(0.0, low), high), high
    with nogil:
        is_found = nefk_cross_items(&items.problem, n, ramps, room, target, &at)
    return (at.low, at.price, at.high) if is_found else None


TILE, TILE_BITS, TILE_GROUPS = NEFK_TILE, NEFK_TILE_BITS, NEFK_TILE_GROUPS  # most items and groups of a tile
DEPTH = NEFK_DEPTH  # most items of a group that single precision leads
SHORT = NEFK_SHORT - 1  # most items of a group that lies in rows with others


cdef class TileSpace:
    """Working space of one thread."""

    cdef object _keep
    cdef nefk_tile_space *view

    def __cinit__(self):
        cdef char[::1] memory = bytearray(nefk_tile_space_size())
        self._keep = memory
        self.view = <nefk_tile_space *> &memory[0]


cdef inline nefk_tile tile_of(const Py_ssize_t *run) noexcept nogil:
    cdef nefk_tile tile
    tile.first, tile.last, tile.begin, tile.end = run[0], run[1], run[2], run[3]
    return tile


cdef inline void write_row(const nefk_tile_audit *out, double *row) noexcept nogil:
    row[0], row[1] = out.audit.amount.high, out.audit.amount.low
    row[2], row[3] = out.audit.value.high, out.audit.value.low
    row[4], row[5] = out.audit.residual, out.over
    row[6], row[7] = out.n_passes, out.n_wrong


cdef class Tiles:
    """Items in order by group, where each group starts in its tile (g,), and caps (g - 1,) of all but the first.

    With `member` (n,), an item's group within its tile, they are in order by tile alone. Tiles are runs (k, 4) of
    knapsolve.nefk.runs; several are worked on in one call, as threads wait for each other between calls.
    """

    cdef nefk_grouped view
    cdef object _keep

    def __cinit__(self, Items items, const uint16_t[::1] start, const double[::1] cap,
                  const uint16_t[::1] member=None):
        self._keep = (items, start, cap, member)
        self.view.problem, self.view.start = &items.problem, &start[0]
        self.view.member = NULL if member is None else &member[0]
        self.view.cap = &cap[0] if cap.shape[0] else NULL

    def bounds(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, double[::1] lower, double[::1] upper):
        """Sums of the bounds of the tiles' groups, written to lower and upper (g,)."""
        cdef Py_ssize_t k
        with nogil:
            for k in range(tiles.shape[0]):
                nefk_tile_bounds(&self.view, tile_of(&tiles[k, 0]), space.view, &lower[0], &upper[0])

    def respond(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, double price, double[::1] total,
                double[::1] slope, float[::1] single):
        """What the tiles' groups take at a price, and the slope, written to total (g,) and to that one of slope and
        single (g,) that is not None.
        """
        cdef nefk_tile tile
        cdef double[NEFK_TILE_GROUPS] steep
        cdef size_t g
        cdef Py_ssize_t k
        with nogil:
            for k in range(tiles.shape[0]):
                tile = tile_of(&tiles[k, 0])
                nefk_tile_respond(&self.view, tile, space.view, price, &total[tile.first], steep)
                for g in range(tile.last - tile.first if slope is not None else 0):
                    slope[tile.first + g] = steep[g]
                for g in range(tile.last - tile.first if single is not None else 0):
                    single[tile.first + g] = <float> steep[g]

    def respond_roughly(self, const Py_ssize_t[:, ::1] tiles, double price, float[:, ::1] taken):
        """The same as pairs (g, 2), totals within ROUGH of themselves, of items with a `member`."""
        cdef nefk_tile tile
        cdef Py_ssize_t k
        with nogil:
            for k in range(tiles.shape[0]):
                tile = tile_of(&tiles[k, 0])
                nefk_tile_respond_roughly(&self.view, tile, price, &taken[tile.first, 0])

    def unmark(self, const Py_ssize_t[:, ::1] tiles, double low, double high, int8_t[::1] marks):
        """Unmark those of the tiles' groups in marks (g,) of which an item starts at a price in [low, high]."""
        cdef Py_ssize_t k
        with nogil:
            for k in range(tiles.shape[0]):
                nefk_tile_unmark(&self.view, tile_of(&tiles[k, 0]), low, high, &marks[0])

    def expand(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, double price, double half, double tolerance,
               int8_t[::1] marks, uint32_t[::1] listed, uint32_t[::1] passing):
        """As `expand`, of the tiles' groups that are not capped; marks (g,) change.

        The rough items are listed, and those of groups that pass their caps. How many are rough, how many are those,
        and the pairs, a row for each tile from the first one on that is done: all while there is room to list as many
        as any tile may have.
        """
        cdef double[:, ::1] rows = np.empty((tiles.shape[0], 12))
        cdef nefk_series_sum sums
        cdef size_t rough, opened, used = 0, taken = 0
        cdef size_t room = min(listed.shape[0], passing.shape[0])
        cdef Py_ssize_t k = 0
        cdef int t
        with nogil:
            while k < tiles.shape[0] and room - max(used, taken) > NEFK_TILE:
                rough = nefk_tile_expand(&self.view, tile_of(&tiles[k, 0]), space.view, price, half, tolerance,
                                         &marks[0], &listed[used], &passing[taken], &opened, &sums)
                rows[k, 0], rows[k, 1] = rough, opened
                for t in range(5):
                    rows[k, 2 + 2 * t], rows[k, 3 + 2 * t] = sums.term[t].high, sums.term[t].low
                used += rough
                taken += opened
                k += 1
        return np.asarray(rows)[:k].tolist(), used, taken

    def fill(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, bint guesses, double above, double[::1] own,
             double[::1] doubles, float[::1] singles, uint32_t[::1] left, double[::1] over):
        """Fill caps, and audit the groups whose own prices are above a price: see csrc/nefk_groups.h. Of every tile the
        items of all others are listed, with what amounts are written over; how many those are, and a row as `settle`
        has it, for each tile from the first one on that is done: all while there is room to list as many as any tile
        may have.
        """
        cdef double[:, ::1] rows = np.empty((tiles.shape[0], 9))
        cdef nefk_tile_audit out
        cdef double *wide = NULL if doubles is None else &doubles[0]
        cdef float *narrow = NULL if singles is None else &singles[0]
        cdef nefk_left listed
        cdef size_t count, used = 0, room = left.shape[0]
        cdef Py_ssize_t k = 0
        with nogil:
            while k < tiles.shape[0] and room - used > NEFK_TILE:
                listed.entry, listed.over = &left[used], &over[used]
                count = nefk_tile_fill(&self.view, tile_of(&tiles[k, 0]), space.view, guesses, above, &own[0], wide,
                                       narrow, listed, &out)
                write_row(&out, &rows[k, 1])
                rows[k, 0] = count
                used += count
                k += 1
        return np.asarray(rows)[:k].tolist()

    def serve(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, double[::1] own, double[::1] upper):
        """Upper bounds (n,) of linear items as caps leave them, and own prices (g,): see csrc/nefk_groups.h. The pair
        of their sum, the error of the groups' totals, and how many bounds clash: a row for each tile.
        """
        cdef double[:, ::1] rows = np.empty((tiles.shape[0], 4))
        cdef nefk_tile_audit out
        cdef Py_ssize_t k
        with nogil:
            for k in range(tiles.shape[0]):
                nefk_tile_serve(&self.view, tile_of(&tiles[k, 0]), space.view, &own[0], &upper[0], &out)
                rows[k, 0], rows[k, 1] = out.audit.amount.high, out.audit.amount.low
                rows[k, 2], rows[k, 3] = out.over, out.n_wrong
        return np.asarray(rows).tolist()

    def settle(self, const Py_ssize_t[:, ::1] tiles, TileSpace space, double low, double high, double share,
               double floor, double[::1] own, double[::1] doubles, float[::1] singles):
        """As `settle`, then the error of the groups' totals, passes for own prices, groups misjudged: a row for each
        tile.
        """
        cdef double[:, ::1] rows = np.empty((tiles.shape[0], 8))
        cdef nefk_prices prices
        cdef nefk_tile_audit out
        cdef double *wide = NULL if doubles is None else &doubles[0]
        cdef float *narrow = NULL if singles is None else &singles[0]
        cdef Py_ssize_t k
        prices.low, prices.high, prices.share = low, high, share
        with nogil:
            for k in range(tiles.shape[0]):
                nefk_tile_settle(&self.view, tile_of(&tiles[k, 0]), space.view, prices, floor, &own[0], wide, narrow,
                                 &out)
                write_row(&out, &rows[k, 0])
        return np.asarray(rows).tolist()
