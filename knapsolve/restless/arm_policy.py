"""A policy made of the indices of any set of finite arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from knapsolve._validation import check_array, check_integer, check_vector, resolve_random_state, shown
from knapsolve.history import History
from knapsolve.restless.arms import arm_whittle_index

__all__ = ["ArmIndexPolicy"]


class ArmIndexPolicy:
    """Activate, at every step, the arms whose states have the largest Whittle indices.

    Among equal indices the lower arm number goes first. An arm given many times (the same object) is solved
    once.

    Parameters
    ----------
    arms : sequence of (P0, P1, r0, r1)
        As `arm_whittle_index` takes them; arms may differ in their number of states.
    n_active : int
        Arms to activate at a step, from 1 to the number of arms.
    discount : float, default=1.0
        As in `arm_whittle_index`.

    Attributes
    ----------
    indices_ : list of ndarray
        The index of every state of each arm.
    indexable_ : ndarray of shape (n_arms,)
        Whether each arm is indexable; where it is not, the policy is no more than a heuristic.

    Raises
    ------
    ValueError, TypeError
        If an arm is not as `arm_whittle_index` takes it, or `n_active` out of range.

    References
    ----------
    Whittle (1988), "Restless bandits: activity allocation in a changing world".

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve.restless import ArmIndexPolicy
    >>> arm = (np.array([[0.3, 0.7], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.5, 0.5]]), [0, 0], [1, 2])
    >>> policy = ArmIndexPolicy([arm, arm, arm], n_active=1, discount=0.9)
    >>> policy.select([0, 1, 0])
    array([1])
    """

    def __init__(self, arms: Sequence[tuple[Any, Any, Any, Any]], n_active: int, discount: float = 1.0) -> None:
        self.arms = list(arms)
        if not self.arms:
            raise ValueError("arms must hold at least one arm, got none")
        self.n_active = check_integer("n_active", n_active, low=1, high=len(self.arms))
        self.discount = discount
        solved: dict[int, tuple[np.ndarray, bool]] = {}
        for number, arm in enumerate(self.arms):
            if not isinstance(arm, (tuple, list)) or len(arm) != 4:
                raise ValueError(
                    f"arms must hold tuples (P0, P1, r0, r1), got {type(arm).__name__} at position {number}"
                )
            if id(arm) not in solved:
                solved[id(arm)] = arm_whittle_index(*arm, discount=discount)
        self.indices_ = [solved[id(arm)][0] for arm in self.arms]
        self.indexable_ = np.array([solved[id(arm)][1] for arm in self.arms])
        self._starts = np.cumsum([0] + [len(index) for index in self.indices_[:-1]])
        self._flat = np.concatenate(self.indices_)

    def select(self, states: ArrayLike) -> np.ndarray:
        """Return the arms to activate.

        Parameters
        ----------
        states : array_like of shape (n_arms,)
            The state number of each arm.

        Returns
        -------
        active : ndarray of shape (n_active,)
            Arm numbers, ascending.

        Raises
        ------
        ValueError, TypeError
            If `states` are not the numbers of states of the arms.
        """
        return self._select(self._check_states(states))

    def simulate(self, n_steps: int, states: ArrayLike | None = None, random_state: Any = None) -> History:
        """Let the policy play its arms.

        Parameters
        ----------
        n_steps : int
            Number of decisions, at least 1.
        states : array_like of shape (n_arms,), optional
            Where to start; state 0 everywhere by default.
        random_state : None, int, Generator or RandomState, default=None
            Source of the transitions.

        Returns
        -------
        history : History
            `reward` (n_steps,): the sum of all arms' rewards at each step; `crawls` the active arms.

        Raises
        ------
        ValueError, TypeError
            If an argument is not as described.
        """
        n_steps = check_integer("n_steps", n_steps, low=1)
        n_arms = len(self.arms)
        now = self._check_states(np.zeros(n_arms, dtype=np.intp) if states is None else states)
        random = resolve_random_state(random_state)
        moves = [np.cumsum([check_array("P", matrix) for matrix in arm[:2]], axis=2) for arm in self.arms]
        pay = [np.array([check_array("r", rewards) for rewards in arm[2:]]) for arm in self.arms]
        reward, crawls = np.zeros(n_steps), np.empty((n_steps, self.n_active), dtype=np.int32)
        for step in range(n_steps):
            crawls[step] = self._select(now)
            actions = np.zeros(n_arms, dtype=np.intp)
            actions[crawls[step]] = 1
            draws = random.random(n_arms)
            for arm, action in enumerate(actions):
                reward[step] += pay[arm][action, now[arm]]
                row = moves[arm][action, now[arm]]
                now[arm] = min(int(np.searchsorted(row, draws[arm] * row[-1], side="right")), len(row) - 1)
        return History(np.arange(1, n_steps + 1), reward=reward, crawls=crawls)

    def _select(self, states: np.ndarray) -> np.ndarray:
        order = np.argsort(-self._flat[self._starts + states], kind="stable")
        return np.sort(order[: self.n_active])

    def _check_states(self, states: ArrayLike) -> np.ndarray:
        numbers = np.array(states)
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"states must be whole numbers, got dtype {numbers.dtype}")
        check_vector("states", numbers, size=len(self.arms), low=0)
        sizes = np.array([len(index) for index in self.indices_])
        if (numbers >= sizes).any():
            arm = int(np.argmax(numbers >= sizes))
            raise ValueError(f"states must be below {sizes[arm]} for arm {arm}, got {shown(numbers[arm])}")
        return numbers.astype(np.intp)
