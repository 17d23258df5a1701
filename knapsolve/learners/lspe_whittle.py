"""LSPE(0) with policy gradient over threshold policies, as published, made safe."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from knapsolve._core.lspe import LSPE
from knapsolve._core.lspe_whittle import LSPEChooser
from knapsolve._validation import check_integer, check_real
from knapsolve.learners.crawl_base import CrawlLogLearner

__all__ = ["LSPEWhittle"]

_MOST_FEATURES = 1000


class LSPEWhittle(CrawlLogLearner):
    r"""Learn a threshold policy by least-squares policy evaluation and a policy gradient.

    The scheme of Avrachenkov and Borkar with its thresholds projected and its matrix regularised, as they
    say, and these corrections: the reward is what is collected, :math:`\sum_i X_i \nu_i`; the step is
    :math:`1/(n+1)` from n = 1; the quadratic threshold term has a parameter of its own; states are shares of
    the most a site can hold. States are beliefs: the mean content at the estimated rates. Sites are drawn
    without replacement in proportion to the odds of the model's independent choices. For few sites, and for
    study: `PlugInWhittle` learns faster and earns more.

    Parameters
    ----------
    capacity : int, default=1
        Sites to crawl at a step.
    n_materials : int, optional
        Number of sites, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from the
        start. By default sites are admitted as they appear in the log.
    max_age : float, default=inf
        Whole steps after which content is dropped, known and the same for all sites.
    degree : {1, 2}, default=2
        Degree of the features of the value function; their number may not exceed 1000, that is 43 sites at
        degree 2.
    steepness : float, default=2.0
        The paper's kappa, for states as shares.
    gain : float, default=0.05
        The paper's gamma: how far the weights move towards the least-squares solution at a step.
    step_size : float, default=0.1
        Of the gradient; divided by ``ceil(n / 500)`` at the n-th update.
    regularization : float, default=1e-6
        Tikhonov's delta; 0 keeps the inverse by the Sherman-Morrison formula instead.
    initial_scale : float, default=1.0
        The paper's epsilon: the matrix starts as this times the identity.
    n_seeds : int, default=2
        Pairs of crawls of every site before the policy decides.
    prior_decay, prior_spread, n_ages
        Of the estimates of the rates, as in `PlugInWhittle`.
    random_state : None, int, RandomState or Generator, default=None
        Seeds the choices: one number is drawn at the first fit.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the site and the age.

    Attributes
    ----------
    arrival_rates_, decay_rates_, arrival_errors_, decay_errors_, ages_, materials_, totals_
        As in `PlugInWhittle`.
    thresholds_ : ndarray of shape (n_materials, 3)
        The paper's q: coefficients of 1, s and s**2, s the mean share of the other sites.
    weights_ : ndarray of shape (n_features,)
        The paper's r.
    n_resets_ : int
        How often the weights ran away and were forgotten.

    References
    ----------
    Avrachenkov and Borkar (Allerton 2019), sections III-V.

    Examples
    --------
    >>> from knapsolve import LSPEWhittle
    >>> X, y = [[0, 1], [1, 2], [0, 2], [1, 2]], [180.0, 270.0, 260.0, 280.0]
    >>> learner = LSPEWhittle(random_state=0).fit(X, y)
    >>> learner.thresholds_.shape, learner.weights_.shape
    ((2, 3), (5,))
    """

    _state_names = (
        *CrawlLogLearner._state_names,
        "thresholds_", "weights_", "pending_", "collected_",
        "second_moments_", "moves_", "rewards_", "numbers_",
    )  # fmt: skip

    def __init__(
        self,
        *,
        capacity: int = 1,
        n_materials: int | None = None,
        max_age: float = math.inf,
        degree: int = 2,
        steepness: float = 2.0,
        gain: float = 0.05,
        step_size: float = 0.1,
        regularization: float = 1e-6,
        initial_scale: float = 1.0,
        n_seeds: int = 2,
        prior_decay: float = 0.3,
        prior_spread: float = 2.0,
        n_ages: int = 8,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.capacity = capacity
        self.n_materials = n_materials
        self.max_age = max_age
        self.degree = degree
        self.steepness = steepness
        self.gain = gain
        self.step_size = step_size
        self.regularization = regularization
        self.initial_scale = initial_scale
        self.n_seeds = n_seeds
        self.prior_decay = prior_decay
        self.prior_spread = prior_spread
        self.n_ages = n_ages
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    @property
    def n_resets_(self) -> int:
        """How often the weights ran away and were forgotten."""
        return int(self._held("numbers_")[2])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("degree", self.degree, low=1, high=2)
        for name in ("steepness", "gain", "initial_scale"):
            check_real(name, getattr(self, name), low=0.0, low_open=True, high=1e6)
        check_real("step_size", self.step_size, low=0.0, high=1e6)
        check_real("regularization", self.regularization, low=0.0, high=1e6)
        self._check_features(self.n_materials or 0)

    def _check_features(self, n: int) -> None:
        if self._n_features(n) > _MOST_FEATURES:
            raise ValueError(
                f"degree must be 1, or n_materials smaller: degree {self.degree} gives "
                f"{self._n_features(n)} features for {n} sites, and at most "
                f"{_MOST_FEATURES} are allowed; PlugInWhittle has no such limit"
            )

    def _n_features(self, n: int) -> int:
        return n if self.degree == 1 else n + n * (n + 1) // 2

    def _start(self, n: int) -> None:
        super()._start(n)
        size = self._n_features(n)
        self._made_for = self._shape_of_state()
        self._seed = np.uint64(self._generator.integers(2**63))
        self.thresholds_ = np.tile([0.5, 0.0, 0.0], (n, 1))
        self.pending_ = np.full(n, -1.0)
        self.collected_ = np.zeros(1)
        self.weights_, self.rewards_, self.numbers_ = np.zeros(size), np.zeros(size), np.zeros(3)
        self.moves_ = np.zeros((size, size))
        self.second_moments_ = self._unseen_moments(size)

    def _unseen_moments(self, size: int) -> np.ndarray:
        return np.eye(size) * (self.initial_scale if self.regularization > 0.0 else 1.0 / self.initial_scale)

    def _shape_of_state(self) -> tuple[int, bool]:
        """Parameters that decide what the weights and moments are: they stay as they are until fit."""
        return int(self.degree), self.regularization > 0.0

    def _check_unchanged(self) -> None:
        super()._check_unchanged()
        degree, regularized = self._made_for
        if self.degree != degree:
            raise ValueError(f"degree must stay as it was until fit, {degree}, got {self.degree}")
        if (self.regularization > 0.0) != regularized:
            was = "positive" if regularized else "0"
            raise ValueError(f"regularization must stay {was}, as it was, until fit, got {self.regularization}")

    def _resize(self, n: int) -> None:
        self._check_unchanged()
        self._check_features(n)

    def _grow(self, n: int) -> None:
        """Admit sites: the features of a new one follow those of the old ones."""
        old, size = self.weights_.size, self._n_features(n)
        if n == self.n_crawls_.size:
            return
        super()._resize(n)
        new = n - self.pending_.size
        self.thresholds_ = np.concatenate([self.thresholds_, np.tile([0.5, 0.0, 0.0], (new, 1))])
        self.pending_ = np.append(self.pending_, np.full(new, -1.0))
        self.weights_ = np.append(self.weights_, np.zeros(size - old))
        self.rewards_ = np.append(self.rewards_, np.zeros(size - old))
        self.moves_ = np.pad(self.moves_, (0, size - old))
        moments = self._unseen_moments(size)
        moments[:old, :old] = self.second_moments_
        self.second_moments_ = moments

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None], *more: Any
    ) -> None:
        """Learn the log in stretches between two newcomers, so that where it is cut makes no difference."""
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        known = np.maximum.accumulate(np.maximum(codes + 1, self.n_crawls_.size))
        cuts = [0, *(np.flatnonzero(np.diff(known)) + 1), codes.size]
        for start, stop in pairwise(cuts):
            self._grow(int(known[start]))
            self._core().learn(codes[start:stop], gaps[start:stop], changed[start:stop])
        commit()

    def _core(self) -> LSPEChooser:
        evaluation = LSPE(
            self.weights_, self.second_moments_, self.moves_, self.rewards_, self.numbers_,
            float(self.gain), float(self.regularization),
        )  # fmt: skip
        return LSPEChooser(
            self._book(), evaluation, self.thresholds_, self.pending_, self.collected_,
            float(self.steepness), float(self.step_size), float(self.n_seeds), int(self.degree),
            int(self._seed),
        )  # fmt: skip
