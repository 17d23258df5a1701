"""Policies that go by what is known, or by all that was seen: uniform, proportional, optimal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from knapsolve._validation import check_vector, shown
from knapsolve.learners.policy_base import LoggedPolicy, detection_rates
from knapsolve.rates import censored_rates


class UniformPolicy(LoggedPolicy):
    """Poll every material equally often.

    Parameters
    ----------
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    amounts_ : ndarray of shape (n_materials,)
        ``capacity / n_materials`` each.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.C.

    Examples
    --------
    >>> from knapsolve import UniformPolicy
    >>> UniformPolicy(capacity=3).fit([[0, 1], [1, 1]], [0, 1]).allocate().tolist()
    [1.5, 1.5]
    """

    def _weights(self) -> np.ndarray:
        return np.ones(self.materials_.size)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        commit()


class ProportionalPolicy(LoggedPolicy):
    """Poll in proportion to the probability of a change in one unit of time.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,) or mapping, optional
        Probability that a material stays unchanged for one unit of time, in the order of `materials_` or by
        identifier. By default the shares of changed polls in the log stand in, with half a poll of each kind
        added.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    amounts_ : ndarray of shape (n_materials,)
        ``capacity * (1 - unchanged) / sum(1 - unchanged)``.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.C.

    Examples
    --------
    >>> from knapsolve import ProportionalPolicy
    >>> ProportionalPolicy(unchanged=[.25, .75]).fit([[0, 1], [1, 1]], [0, 1]).allocate().tolist()
    [0.75, 0.25]
    """

    def __init__(
        self,
        *,
        unchanged: Any = None,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        super().__init__(n_materials=n_materials, capacity=capacity, random_state=random_state,
                         material=material, elapsed=elapsed)  # fmt: skip
        self.unchanged = unchanged

    def _check_parameters(self) -> None:
        if self.unchanged is not None and not isinstance(self.unchanged, Mapping):
            check_vector("unchanged", self.unchanged, low=0, high=1, size=self.n_materials)

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        if self.unchanged is None:
            super()._learn_polls(codes, gaps, changed, commit)
        else:  # all is known
            commit()

    def _check_materials(self, materials: np.ndarray) -> None:
        if self.unchanged is not None:
            self._known(materials)

    def _known(self, materials: np.ndarray) -> np.ndarray:
        if not isinstance(self.unchanged, Mapping):
            return check_vector("unchanged", self.unchanged, low=0, high=1, size=materials.size)
        missing = [m for m in materials.tolist() if m not in self.unchanged]
        if missing:
            raise ValueError(f"unchanged must say a probability for every material, got none for {shown(missing[0])}")
        return check_vector("unchanged", [self.unchanged[m] for m in materials.tolist()], low=0, high=1)

    def _weights(self) -> np.ndarray:
        if self.unchanged is not None:
            return 1 - self._known(self.materials_)
        materials, _, changed = self._logged()
        return detection_rates(materials, changed, self.materials_.size)


class OptimalPolicy(ProportionalPolicy):
    """Poll so that the expected number of changes found is the largest possible.

    For equally important materials that means amounts in proportion to the change rates ``-ln(unchanged)``.

    Parameters
    ----------
    unchanged : array-like of shape (n_materials,) or mapping, optional
        Probability that a material stays unchanged for one unit of time, in the order of `materials_` or by
        identifier. By default the rates are estimated from the log by censored maximum likelihood.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Not used; accepted for uniformity.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    amounts_ : ndarray of shape (n_materials,)
        ``capacity * ln(unchanged) / sum(ln(unchanged))``. Materials that always change (0) share everything.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.

    References
    ----------
    Granmo, Oommen, Myrer and Olsen (IEEE CIS 2006), section III.B: at the optimum all detection
    probabilities 1 - q^(1/x) are equal.

    Examples
    --------
    >>> from knapsolve import OptimalPolicy
    >>> OptimalPolicy(unchanged=[.25, .5]).fit([[0, 1], [1, 1]], [0, 1]).allocate(6).tolist()
    [4.0, 2.0]
    """

    def _weights(self) -> np.ndarray:
        if self.unchanged is None:
            materials, gaps, changed = self._logged()
            return censored_rates(materials, gaps, changed, self.materials_.size)
        unchanged = self._known(self.materials_)
        if (unchanged == 0).any():
            return (unchanged == 0).astype(float)
        return -np.log(unchanged)
