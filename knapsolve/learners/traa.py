"""One twofold resource allocation automaton: its updating schemes, and where it stays in the long run."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._validation import check_choice, check_integer, check_vector

UPDATES = {  # updating scheme -> (moves on reward, moves on penalty)
    "reward-penalty": (True, True),
    "reward-inaction": (True, False),
    "inaction-penalty": (False, True),
}


def traa_stationary_distribution(p1: Any, p2: Any, resolution: int, update: str = "reward-penalty") -> np.ndarray:
    """Stationary distribution of a TRAA under random access, exactly.

    Parameters
    ----------
    p1, p2 : callable or array-like of shape (resolution,)
        Probability that a poll of material 1 (2) is rewarded, as a function of its share of the capacity,
        or its values at the shares ``s / (resolution + 1)`` (``1 - s / (resolution + 1)``) for s =
        1..resolution.
    resolution : int
        Number of states.
    update : {"reward-penalty", "reward-inaction", "inaction-penalty"}, default="reward-penalty"
        The updating scheme.

    Returns
    -------
    distribution : ndarray of shape (resolution,)
        Long-run share of polls spent in each state 1..resolution.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range, or if where the chain ends depends on where it starts.

    References
    ----------
    Granmo and Oommen (EAAI 24(7), 2011), section 3.1.2: detailed balance of the birth-death chain of equation 4, with
    A(k) the chance that a poll of material 1 moves up, B(k) that one of material 2 moves down:
    ``pi_j ~ prod_{k<j} A(k) / B(k+1) / (q_j r_j)``.

    Examples
    --------
    >>> from knapsolve import traa_stationary_distribution
    >>> p1, p2 = lambda x: 1 - 0.9 ** (1 / x), lambda x: 1 - 0.1 ** (1 / x)
    >>> pi = traa_stationary_distribution(p1, p2, 10, "reward-inaction")
    >>> round(float(pi @ range(1, 11)) / 11, 6)
    0.139497
    """
    resolution = check_integer("resolution", resolution, low=2)
    on_reward, on_penalty = UPDATES[check_choice("update", update, UPDATES)]
    q = np.arange(1, resolution + 1) / (resolution + 1)
    r = 1 - q
    reward1 = check_vector("p1", p1(q) if callable(p1) else p1, size=resolution, low=0, high=1)
    reward2 = check_vector("p2", p2(r) if callable(p2) else p2, size=resolution, low=0, high=1)
    up = reward1 * on_reward + (1 - reward2) * on_penalty
    down = reward2 * on_reward + (1 - reward1) * on_penalty
    low, high = _recurrent_states(up[:-1] > 0, down[1:] > 0)
    ratios = np.log(up[low:high]) - np.log(down[low + 1 : high + 1])
    log_weight = np.concatenate([[0.0], np.cumsum(ratios)]) - np.log(q * r)[low : high + 1]
    weight = np.zeros(resolution)
    weight[low : high + 1] = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def _recurrent_states(rises: np.ndarray, falls: np.ndarray) -> tuple[int, int]:
    """First and last state that a birth-death chain stays in; rises[k] and falls[k] join k and k + 1.

    Chances below 2**-53 vanish in `1 - p`, so states near a boundary may be left for good.
    """
    cuts = np.flatnonzero(~(rises & falls))
    stays = [
        (int(low), int(high))
        for low, high in zip([0, *(cuts + 1)], [*cuts, rises.size])
        if not (low > 0 and falls[low - 1]) and not (high < rises.size and rises[high])
    ]
    if len(stays) != 1:
        raise ValueError(
            f"p1 and p2 must let the chain move: it ends in one of {len(stays)} sets of states, "
            f"the first is {stays[0][0] + 1} to {stays[0][1] + 1}"
        )
    return stays[0]
