"""Least-squares policy evaluation, LSPE(0), for the relative value of an average-reward chain.

With f, f' the features (l,) before and after a step that earned R, and the n-th update (n = 1, 2, ...) of
step 1/(n+1), so that the initial eps I is forgotten slowly rather than at once:
    B <- B + (f f^T - B)/(n+1),  A <- A + (f (f' - f)^T - A)/(n+1),  b <- b + (f (R - eta) - b)/(n+1),
    eta <- eta + (R - eta)/(n+1),  r <- r + gain * B^-1 (A r + b).
B^-1 is either (B^T B + delta I)^-1 B^T by Cholesky, O(l^3), or for delta = 0 kept by Sherman and Morrison:
    B^-1 <- (n+1)/n [P - P f f^T P / (n + f^T P f)],  P = the old B^-1,  O(l^2).
Weights that leave [-1e9, 1e9] or are not numbers are forgotten together with the inverse, and counted.
Avrachenkov and Borkar (2019), section IV, with its misprints mended; twin in tests/learners/twins.py.
"""

import numpy as np

from knapsolve._core.shapes import check_shapes

from libc.math cimport fabs, sqrt

cdef double LARGEST = 1e9


cdef class LSPE:
    def __init__(self, double[::1] weights, double[:, ::1] second, double[:, ::1] moves, double[::1] rewards,
                 double[::1] numbers, double gain, double delta):
        cdef Py_ssize_t n = weights.shape[0], m = n if delta > 0.0 else 1
        check_shapes(
            second_moments_=((second.shape[0], second.shape[1]), (n, n)),
            moves_=((moves.shape[0], moves.shape[1]), (n, n)),
            rewards_=((rewards.shape[0],), (n,)),
            numbers_=((numbers.shape[0],), (3,)),
        )
        self.weights, self.second, self.moves = weights, second, moves
        self.rewards, self.numbers = rewards, numbers
        self.gain, self.delta, self.n_features = gain, delta, n
        self.room, self.row = np.empty((m, m)), np.empty(m)
        self.work = 6.0 * n * n + (0.4 * n * n * n if delta > 0.0 else 0.0)
        self.first_room, self.second_room = np.empty(n), np.empty(n)

    cdef double value(self, const double *features) noexcept nogil:
        cdef double total = 0.0
        cdef Py_ssize_t j
        for j in range(self.n_features):
            total += self.weights[j] * features[j]
        return total

    cdef void update(self, const double *before, const double *after, double reward) noexcept nogil:
        cdef Py_ssize_t j, k, n = self.n_features
        cdef double made = self.numbers[0] + 1.0
        cdef double step = 1.0 / (made + 1.0), residual = reward - self.numbers[1]
        cdef bint good = True
        self.numbers[0] = made
        for j in range(n):
            self.rewards[j] += step * (before[j] * residual - self.rewards[j])
            for k in range(n):
                self.moves[j, k] += step * (before[j] * (after[k] - before[k]) - self.moves[j, k])
        self.numbers[1] += step * residual
        if self.delta > 0.0:
            for j in range(n):
                for k in range(n):
                    self.second[j, k] += step * (before[j] * before[k] - self.second[j, k])
        else:
            sherman_morrison(self.second, before, made, &self.first_room[0])
        for j in range(n):
            self.first_room[j] = self.rewards[j]
            for k in range(n):
                self.first_room[j] += self.moves[j, k] * self.weights[k]
        if not self.solve(&self.first_room[0], &self.second_room[0]):
            return
        for j in range(n):
            self.weights[j] += self.gain * self.second_room[j]
            good &= fabs(self.weights[j]) <= LARGEST
        if not good:
            self.forget()

    cdef bint solve(self, const double *right, double *out) noexcept nogil:
        cdef Py_ssize_t j, k, n = self.n_features
        cdef double total
        for j in range(n):  # out = B right, or B^-1 right
            total = 0.0
            for k in range(n):
                total += self.second[j, k] * right[k]
            out[j] = total
        return self.delta == 0.0 or ridge_solve(self.second, self.delta, self.room, &self.row[0], out)

    cdef void forget(self) noexcept nogil:
        cdef Py_ssize_t j, k
        for j in range(self.n_features):
            self.weights[j] = 0.0
            if self.delta == 0.0:
                for k in range(self.n_features):
                    self.second[j, k] = 1.0 if j == k else 0.0
        self.numbers[2] += 1.0


cdef void sherman_morrison(double[:, ::1] inverse, const double *f, double n, double *room) noexcept nogil:
    """The inverse of (n B + f f^T)/(n + 1) from that of B, symmetric as it was."""
    cdef Py_ssize_t j, k, m = inverse.shape[0]
    cdef double square = 0.0, grow = (n + 1.0) / n
    for j in range(m):
        room[j] = 0.0
        for k in range(m):
            room[j] += inverse[j, k] * f[k]
        square += room[j] * f[j]
    square = n + (square if square > 0.0 else 0.0)
    for j in range(m):
        for k in range(j + 1):
            inverse[j, k] = grow * (inverse[j, k] - room[j] * room[k] / square)
            inverse[k, j] = inverse[j, k]


cdef bint ridge_solve(const double[:, ::1] B, double delta, double[:, ::1] U, double *row,
                      double *x) noexcept nogil:
    """x <- (B B + delta I)^-1 x by Cholesky, B symmetric; False where rounding spoils it.

    U (l, l) becomes the upper factor. Every entry is summed in the order of k, many entries at a time.
    """
    cdef Py_ssize_t i, j, k, n = B.shape[0]
    cdef double factor
    for i in range(n):
        for j in range(i):
            row[j] = 0.0
        row[i] = delta
        for k in range(0, n - 3, 4):
            add_four(i + 1, n, &B[i, k], &B[k, 0], row)
        for k in range(n - n % 4, n):
            add_multiple(i + 1, B[i, k], &B[k, 0], row)
        for k in range(i):
            factor = row[k] / U[k, k]
            U[k, i] = factor
            add_multiple(i - k, -factor, &U[k, k + 1], &row[k + 1])
        if not row[i] > 0.0:
            return False
        U[i, i] = sqrt(row[i])
    for i in range(n):
        for k in range(i):
            x[i] -= U[k, i] * x[k]
        x[i] /= U[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= U[i, k] * x[k]
        x[i] /= U[i, i]
    return True


cdef inline void add_four(Py_ssize_t n, Py_ssize_t stride, const double *factors, const double *values,
                          double *sums) noexcept nogil:
    """Four of add_multiple, one after the other, of rows `stride` apart."""
    cdef Py_ssize_t j
    cdef double a = factors[0], b = factors[1], c = factors[2], d = factors[3]
    for j in range(n):
        sums[j] = (((sums[j] + a * values[j]) + b * values[stride + j]) + c * values[2 * stride + j]) + \
            d * values[3 * stride + j]


cdef inline void add_multiple(Py_ssize_t n, double factor, const double *values, double *sums) noexcept nogil:
    """sums += factor * values"""
    cdef Py_ssize_t j
    for j in range(n):
        sums[j] += factor * values[j]


def update(LSPE evaluation, const double[::1] before, const double[::1] after, double reward):
    """One transition, for tests."""
    cdef Py_ssize_t n = evaluation.n_features
    check_shapes(before=((before.shape[0],), (n,)), after=((after.shape[0],), (n,)))
    evaluation.update(&before[0], &after[0], reward)
