"""The Whittle index of any finite arm, with the test of indexability."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from knapsolve._validation import check_array, check_real, check_vector, shown

__all__ = ["ArmIndex", "arm_whittle_index"]

_PANEL = 48  # pivots gathered before one matrix product applies them
_TOLERANCE = 1e-11  # of the arm's rewards: what rounding may add to an advantage


class ArmIndex(NamedTuple):
    """The index of every state, (n_states,) in units of reward, and whether the arm is indexable."""

    indices: np.ndarray
    indexable: bool


def arm_whittle_index(P0: ArrayLike, P1: ArrayLike, r0: ArrayLike, r1: ArrayLike, discount: float = 1.0) -> ArmIndex:
    r"""Whittle index of a finite restless arm: for each state the price at which activity stops to pay.

    Let activity cost :math:`\lambda`. From the policy that is active everywhere, optimal for small prices,
    states become passive one by one as the price rises, and a state's index is the price at which it does.
    Each change of the policy is of rank one, so all advantages follow by Gaussian elimination with the pivots
    in the order of the indices; panels of pivots are applied by matrix products.

    Parameters
    ----------
    P0, P1 : array_like of shape (n_states, n_states)
        Transition probabilities of the passive and the active arm; rows sum to 1.
    r0, r1 : array_like of shape (n_states,)
        Rewards of a step spent passive and active in a state.
    discount : float, default=1.0
        Discount factor in (0, 1]; 1 is the average reward, for which every policy met must be unichain.

    Returns
    -------
    indices : ndarray of shape (n_states,)
        In units of reward; `inf` for a state that is active at any price. Where `indexable` is False this is
        the order of that sweep, and no more than a heuristic.
    indexable : bool
        Whether all optimal policies are nested: no state where passivity is optimal at some price is one where
        activity is optimal at a higher price. See the notes on ties.

    Raises
    ------
    ValueError, TypeError
        If shapes do not match, rows are not probabilities, a number is not finite, or a policy has more than
        one recurrent class at discount 1.

    Notes
    -----
    Time O(n_states**3), memory for 3 matrices.

    Indexability is meant in the strict sense of Gast, Gaujal and Khun, as in their package markovianbandit-pkg. Both
    actions are optimal where an advantage is exactly 0, and such ties count: an arm is not indexable if the advantage
    of a state that has become passive comes back to 0 at a higher price, or stays at 0 over an interval of prices, even
    where it never becomes positive, so that ties could be broken in favour of sets that only shrink. Such exact ties
    are rare but do happen in small arms of round numbers; the indices are then those of the order of the sweep, which
    need not be the prices at which the states' advantages vanish for good. States whose advantages vanish at the same
    price share an index. Advantages within 1e-11 of the largest (at least of 1) count as 0.

    References
    ----------
    Gast, Gaujal and Khun (2023), "Testing indexability and computing Whittle and
    Gittins index in subcubic time", algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.restless import arm_whittle_index
    >>> P0, P1 = np.array([[0.3, 0.7], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.5, 0.5]])
    >>> indices, indexable = arm_whittle_index(P0, P1, [0, 0], [1, 2], discount=0.9)
    >>> indices.round(3), indexable
    (array([0.703, 2.   ]), True)
    """
    beta = check_real("discount", discount, low=0.0, high=1.0, low_open=True)
    passive, active = _check_transitions("P0", P0), _check_transitions("P1", P1)
    if passive.shape != active.shape:
        raise ValueError(f"P1 must have the shape of P0 {passive.shape}, got {active.shape}")
    n = len(passive)
    rest, act = check_vector("r0", r0, size=n), check_vector("r1", r1, size=n)
    difference = beta * (active - passive)
    system = np.eye(n) - beta * active
    if beta == 1.0:  # the gain takes the place of the bias of state 0, which is 0
        system[:, 0] = 1.0
        difference[:, 0] = 0.0
    sweep = _Sweep(_solve(system, difference), rest, act)
    return ArmIndex(*sweep.run())


class _Sweep:
    """The policies met while the price rises, from active everywhere to passive everywhere.

    With D = discount (P1 - P0) and A the matrix of the present policy's value equations, X = D A^-1 and:
    advantage = r1 - r0 - price + D v (n,) at the present price, slope (n,) = - d advantage / d price. Making
    s passive is the pivot 1 + X_ss:  X <- X - X_:s X_s: / pivot,  slope <- slope - slope_s X_:s / pivot.
    """

    def __init__(self, X: np.ndarray, rest: np.ndarray, act: np.ndarray) -> None:
        self.X, self.n = X, len(X)
        self.states = np.arange(self.n)  # the state of each column that X still has
        self.left = np.empty((self.n, _PANEL), order="F")
        self.right = np.empty((_PANEL, self.n))
        self.pending = 0
        self.advantage = act - rest + X @ act
        self.slope = np.ones(self.n)
        self.active = np.ones(self.n, dtype=bool)
        self.tolerance = _TOLERANCE * max(1.0, float(np.abs(self.advantage).max()))

    def run(self) -> tuple[np.ndarray, bool]:
        index = np.full(self.n, np.inf)
        indexable = True
        price = float(self.advantage.min())
        self.advantage = self.advantage - price
        chosen = int(self.advantage.argmin())
        for met in range(self.n):
            index[chosen] = price
            self.make_passive(chosen)
            if met == self.n - 1:
                break
            chosen, step = self.next_state()
            if chosen < 0:  # the rest is active at any price
                return index, bool(indexable and not (self.slope[~self.active] < -self.tolerance).any())
            price += step
            self.advantage -= step * self.slope
            if step > self.tolerance:
                indexable &= not (self.advantage[~self.active] > -self.tolerance).any()
        return index, bool(indexable)

    def next_state(self) -> tuple[int, float]:
        """Return the active state whose advantage vanishes first, and the rise of the price until then."""
        states = np.flatnonzero(self.active)
        advantage, slope = self.advantage[states], self.slope[states]
        falls = (slope > 1e-12) & (advantage > self.tolerance)
        steps = np.full(len(states), np.inf)
        np.divide(advantage, slope, out=steps, where=falls)
        steps[np.abs(advantage) <= self.tolerance] = 0.0
        first = int(steps.argmin())
        return (int(states[first]), float(steps[first])) if steps[first] < np.inf else (-1, np.inf)

    def make_passive(self, state: int) -> None:
        """Apply the pivot of `state` to the slopes, and note it for X."""
        if self.pending == _PANEL:
            self.apply()
        at, many = int(np.searchsorted(self.states, state)), self.pending
        column = self.X[:, at] - self.left[:, :many] @ self.right[:many, at]
        row = self.X[state] - self.left[state, :many] @ self.right[:many, : len(self.states)]
        pivot = 1.0 + column[state]
        if abs(pivot) < 1e-12:
            raise ValueError("P0 and P1 must make every policy unichain at discount 1, got one that is not")
        column /= pivot
        self.left[:, many] = column
        self.right[many, : len(self.states)] = row
        self.pending += 1
        self.slope -= self.slope[state] * column
        self.active[state] = False

    def apply(self) -> None:
        """Apply the noted pivots to the columns that may still be needed."""
        keep = np.flatnonzero(self.active[self.states])
        right = self.right[: self.pending, : len(self.states)][:, keep]
        self.X = self.X[:, keep] - self.left[:, : self.pending] @ right
        self.states = self.states[keep]
        self.pending = 0


def _solve(system: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """Return difference @ inverse(system), or raise if the system is singular to working precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)  # judged below
        factors, pivots = scipy.linalg.lu_factor(system.T, overwrite_a=True, check_finite=False)
    diagonal = np.abs(np.diag(factors))
    if diagonal.min() <= 1e-13 * diagonal.max():
        raise ValueError("P1 must be unichain at discount 1, got more than one recurrent class")
    return np.ascontiguousarray(scipy.linalg.lu_solve((factors, pivots), difference.T, check_finite=False).T)


def _check_transitions(name: str, values: Any) -> np.ndarray:
    """Return a stochastic matrix as float64, or raise naming it."""
    matrix = check_array(name, values)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    check_vector(name, matrix.ravel(), low=0.0)
    sums = matrix.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > 1e-9)
    if wrong.size:
        raise ValueError(f"{name} must have rows that sum to 1, got {shown(sums[wrong[0]])} in row {wrong[0]}")
    return matrix
