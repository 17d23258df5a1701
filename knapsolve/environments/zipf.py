"""The papers' synthetic update frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._validation import check_integer, check_real, resolve_random_state

BLOCK = 1 << 16  # perturbations drawn at a time


def zipf_unchanged(n: int, alpha: float, beta: float, n_perturbations: int = 0, random_state: Any = None) -> np.ndarray:
    """Probabilities of staying unchanged when update probabilities follow Zipf's law.

    Parameters
    ----------
    n : int
        Number of materials, at least 2.
    alpha : float
        Update probability of the first rank, in [0, 1].
    beta : float
        Skewness, non-negative: rank k is updated with probability ``alpha / k ** beta``.
    n_perturbations : int, default=0
        How often a random material swaps its probability with its successor.
    random_state : None, int, RandomState or Generator, default=None
        Source of the perturbations.

    Returns
    -------
    unchanged : ndarray of shape (n,)
        Probability that each material stays unchanged for one unit of time.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of range.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.C; Granmo and Oommen (EAAI 24(7), 2011), section 4.3.1.

    Examples
    --------
    >>> from knapsolve.environments import zipf_unchanged
    >>> zipf_unchanged(3, .9, 1.).round(2).tolist()
    [0.1, 0.55, 0.7]
    """
    n = check_integer("n", n, low=2)
    alpha = check_real("alpha", alpha, low=0, high=1)
    beta = check_real("beta", beta, low=0)
    n_perturbations = check_integer("n_perturbations", n_perturbations, low=0, high=10**9)
    with np.errstate(over="ignore"):  # alpha / inf is the 0 that it should be
        unchanged = 1 - alpha / np.arange(1, n + 1) ** beta
    generator = resolve_random_state(random_state)
    order = list(range(n))
    for done in range(0, n_perturbations, BLOCK):
        for k in generator.integers(0, n - 1, size=min(BLOCK, n_perturbations - done)).tolist():
            order[k], order[k + 1] = order[k + 1], order[k]
    return unchanged[order]
