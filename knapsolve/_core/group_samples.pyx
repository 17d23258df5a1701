"""Loops over what the groups of a sample take, which searches for first prices ask for many times."""

cdef double LARGEST = 1e100  # mean amount of which squares are taken, and the inverse of the smallest


def sums_under_caps(const double[:, ::1] taken, const double[::1] caps, const Py_ssize_t[::1] some,
                    const double[::1] weights, double[::1] under):
    """Of totals beside slopes (g + 1, 2), of no group's items first, and caps (g,): what groups take under their caps,
    the slope of that, and its part that caps hold; then of some groups (k,), what each takes, into `under` (k,), the
    sum of that, and with weights (k,).
    """
    cdef Py_ssize_t g, k
    cdef double whole = 0.0, steep = 0.0, held = 0.0, part = 0.0, weighted = 0.0, total, cap
    with nogil:
        for g in range(caps.shape[0]):
            total, cap = taken[g + 1, 0], caps[g]
            held += cap if total > cap else 0.0
            whole += cap if total > cap else total
            steep += 0.0 if total > cap else taken[g + 1, 1]
        for k in range(some.shape[0]):
            total, cap = taken[some[k] + 1, 0], caps[some[k]]
            total = cap if total > cap else total
            under[k] = total
            part += total
            weighted += total * weights[k]
    return whole, steep, held, part, weighted


def shrink_to_mean(double[:, ::1] taken, const Py_ssize_t[::1] which, const double[::1] sampled,
                   const double[::1] sizes, double within, double[::1] trust):
    """Bring totals and slopes in rows `which` (k,) of `taken`, of groups of so many items (k,) `sampled`, to the mean
    of all as far as chance explains how they differ, and to their sizes (k,), in samples; the share that stays into
    `trust` (k,). `within` is the variance of what items of one group take over the squared mean. Two groups or more
    have items, and some have several. False, and nothing changed, where squares would overflow, or underflow.
    """
    cdef Py_ssize_t k, m = which.shape[0]
    cdef double n = 0.0, groups = 0.0, squares = 0.0, total = 0.0, slope = 0.0, spread = 0.0, size, mean, between
    cdef bint is_told
    with nogil:
        for k in range(m):
            size = sampled[k]
            n += size
            groups += size > 0.0
            squares += size * size
            total += taken[which[k], 0]
            slope += taken[which[k], 1]
        mean, slope = total / n, slope / n
        is_told = mean > 1.0 / LARGEST and mean < LARGEST
        for k in range(m if is_told else 0):
            size = sampled[k] if sampled[k] > 1.0 else 1.0
            spread += sampled[k] * (taken[which[k], 0] / size - mean) ** 2
        within *= mean * mean
        between = spread - within * (groups - 1.0)
        between = (between if between > 0.0 else 0.0) / (n - squares / n)  # DerSimonian and Laird's estimate
        for k in range(m if is_told else 0):
            size = sampled[k] if sampled[k] > 1.0 else 1.0
            trust[k] = sampled[k] > 0.0
            if within > 0.0:
                trust[k] = sampled[k] * between / (sampled[k] * between + within)
            taken[which[k], 0] = sizes[k] * (mean + trust[k] * (taken[which[k], 0] / size - mean))
            taken[which[k], 1] = sizes[k] * (slope + trust[k] * (taken[which[k], 1] / size - slope))
    return is_told
