"""The M/M/1/K queue's cost and its optimal load, one parameter set after another.

Shapes: all arrays (n,). Units: load = arrival rate / service rate mu; cost per unit time; weight gamma per
unit time.
Invariant: no difference of nearly equal numbers near load 1, no overflow for buffers to 1e15 or
infinite ones.
Complexity: O(1) a cost, a few Newton steps an optimum.
Reference: Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", equations (4) to (8).

With t = (K + 1) log rho and x = t / (K + 1) the cost is stationary where gamma / mu = A(t) / B(t),
    A(t) = expm1(t) + (K + 1) expm1(-x),   B(t) = expm1(-t) - (K + 1) expm1(-x),
both positive but for t = 0, where both vanish like t^2; log A - log B rises with slope between 1/2 and 1
(2/3 at t = 0), so that Newton's method on log(A / B) = log(gamma / mu) converges from everywhere.
"""

from libc.math cimport exp, expm1, fabs, floor, fmax, isinf, log, log1p

cdef struct Slope:
    double value, slope


cdef double cost(double load, double buffer, double weight, double rate) noexcept nogil:
    """Cost of the static policy; an infinite buffer loses what the server cannot take."""
    cdef double L, share
    if load == 0.0:
        return weight
    if isinf(buffer):
        return weight * fmax(1.0 - load, 0.0) + rate * fmax(load - 1.0, 0.0)
    if load == 1.0:
        return (weight + rate) / (buffer + 1.0)
    L = log(load)
    if L < 0.0:
        share = expm1(L) / expm1((buffer + 1.0) * L)  # P(X = 0)
        return share * (weight + rate * exp((buffer + 1.0) * L))
    share = expm1(-L) / expm1(-(buffer + 1.0) * L)  # P(X = K)
    return share * (weight * exp(-buffer * L) + rate * load)


cdef Slope phi(double t) noexcept nogil:
    """(e^t - 1 - t) / t^2 and its derivative for |t| <= 1, by the series."""
    cdef Slope p = Slope(0.0, 0.0)
    cdef int k
    for k in range(17, 1, -1):  # Horner's rule on sum_k t^(k - 2) / k!
        p.slope = p.value / (k + 1) + t * p.slope / (k + 1)
        p.value = 1.0 + t * p.value / (k + 1)
    return Slope(0.5 * p.value, 0.5 * p.slope)


cdef Slope log_ratio(double t, double n) noexcept nogil:
    """log A(t) - log B(t) and its derivative, n = K + 1."""
    cdef double x = t / n, e = n * expm1(-x), f = exp(-x), a, b, up, down
    cdef Slope p, m, s
    if fabs(t) <= 1.0:
        p, m, s = phi(t), phi(-t), phi(-x)
        a, b = p.value + s.value / n, m.value - s.value / n
        return Slope(log(a / b), (p.slope - s.slope / (n * n)) / a + (m.slope - s.slope / (n * n)) / b)
    if t > 40.0:
        a = 1.0 + (e - 1.0) * exp(-t)
        up, p.value = (1.0 - exp(-t - x)) / a, t + log1p((e - 1.0) * exp(-t))
    else:
        a = expm1(t) + e
        up, p.value = (exp(t) - f) / a, log(a)
    if t < -40.0:
        b = 1.0 - (e + 1.0) * exp(t)
        down, m.value = (f * exp(t) - 1.0) / b, -t + log1p(-(e + 1.0) * exp(t))
    else:
        b = expm1(-t) - e
        down, m.value = (f - exp(-t)) / b, log(b)
    return Slope(p.value - m.value, up - down)


cdef double best_load(double buffer, double weight, double rate) noexcept nogil:
    """The load of least cost, by Newton's method."""
    cdef double n = buffer + 1.0, goal = log(weight) - log(rate), t, step
    cdef Slope at
    cdef int _step
    if isinf(buffer):
        return 1.0
    t = goal - log1p(2.0 / buffer)  # log of the weight over the one with optimal load 1
    t *= 1.5 if fabs(t) < 2.0 else 1.0
    for _step in range(64):
        at = log_ratio(t, n)
        step = (goal - at.value) / at.slope
        t += step
        if fabs(step) <= 1e-15 * fmax(1.0, fabs(t)):
            break
    return exp(t / n)


cdef double best_number(double lam, double buffer, double weight, double rate, double *least) noexcept nogil:
    """The better of the two numbers of robots about the optimal load, at least one."""
    cdef double load = lam / rate, n = fmax(floor(best_load(buffer, weight, rate) / load), 1.0)
    cdef double more
    least[0] = cost(n * load, buffer, weight, rate)
    more = cost((n + 1.0) * load, buffer, weight, rate)
    if more < least[0]:
        least[0] = more
        n += 1.0
    return n


def costs(const double[::1] load, const double[::1] buffer, const double[::1] weight, const double[::1] rate,
          double[::1] out):
    """Fill `out` with the costs."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = cost(load[i], buffer[i], weight[i], rate[i])


def best_loads(const double[::1] buffer, const double[::1] weight, const double[::1] rate, double[::1] out):
    """Fill `out` with the optimal loads."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = best_load(buffer[i], weight[i], rate[i])


def best_numbers(const double[::1] lam, const double[::1] buffer, const double[::1] weight,
                 const double[::1] rate, double[::1] number, double[::1] least):
    """Fill `number` with the optimal numbers of robots and `least` with their costs."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(number.shape[0]):
            number[i] = best_number(lam[i], buffer[i], weight[i], rate[i], &least[i])
