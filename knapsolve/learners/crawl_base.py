"""What the learners from crawl logs share: estimates of every site, and whom to crawl now."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from knapsolve._core.site_book import SiteBook
from knapsolve._validation import check_crawl_log, check_integer, check_real, check_whole
from knapsolve.learners.base import PollLogLearner

__all__ = ["CrawlLogLearner"]


class CrawlLogLearner(PollLogLearner):
    """Base of `PlugInWhittle` and `LSPEWhittle`.

    A log of crawls has the site, the age (whole steps since that site's crawl before, or since the beginning)
    and the content collected. Times are recovered from the ages: see `_core.site_book`.
    """

    max_age: float
    n_seeds: int
    prior_decay: float
    prior_spread: float
    n_ages: int

    _state_names: tuple[str, ...] = ("totals_", "estimates_", "last_crawls_", "n_crawls_", "clock_")
    _atomic_rows = 0  # refitting looks at signals

    def fit(self, X: Any, y: Any = None) -> CrawlLogLearner:
        """Forget everything and learn from a log of crawls.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A site column and an age column (whole steps since that site's crawl before, or since the
            beginning), in time order.
        y : array-like of shape (n_polls,)
            Content collected, non-negative.

        Returns
        -------
        self : object
            The fitted learner.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the learner is as it was.
        """
        super().fit(X, y)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> CrawlLogLearner:
        """Go on learning from the next part of a log; new sites are admitted.

        ``fit(A + B)`` equals ``fit(A)`` followed by ``partial_fit(B)``, bit for bit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            As in `fit`.
        y : array-like of shape (n_polls,)
            Content collected, non-negative.

        Returns
        -------
        self : object
            The learner.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the learner is as it was.
        """
        super().partial_fit(X, y)
        return self

    def allocate(self, n_crawls: int | None = None) -> np.ndarray:  # type: ignore[override]
        """Return the sites to crawl now.

        Parameters
        ----------
        n_crawls : int, optional
            Sites to crawl, from 1 to n_materials; the constructor's `capacity` by default.

        Returns
        -------
        sites : ndarray of shape (n_crawls,)
            Positions in `materials_`, ascending: ``materials_[sites]`` are the identifiers. Does not change
            the learner; with `n_materials` given, a learner that has seen nothing yet answers too.

        Raises
        ------
        NotFittedError
            If no site is known yet.
        ValueError, TypeError
            If `n_crawls` is not a whole number in its range, or a parameter was changed to what `fit` would refuse.
        """
        self._check_all_parameters()
        with self._lock:
            learner = self
            if not hasattr(self, "materials_") and self.n_materials is not None:
                learner = copy.deepcopy(self)
                learner._begin(self.n_materials)
            check_is_fitted(learner)
            name, wanted = ("capacity", self.capacity) if n_crawls is None else ("n_crawls", n_crawls)
            m = check_integer(name, wanted, low=1, high=learner.materials_.size)
            return learner._core().suggest(m).astype(np.intp)

    @property
    def amounts_(self) -> np.ndarray:
        """Not there: a learner of crawls says whom to crawl now, not how often."""
        raise AttributeError("a learner of crawls has no amounts: allocate(n_crawls) says which sites to crawl now")

    @property
    def arrival_rates_(self) -> np.ndarray:
        """Estimated arrival rates, (n_materials,), in units of content a step."""
        return self._held("estimates_")[0]

    @property
    def decay_rates_(self) -> np.ndarray:
        """Estimated decay rates, (n_materials,), a step."""
        return self._held("estimates_")[1]

    @property
    def arrival_errors_(self) -> np.ndarray:
        """Standard errors of `arrival_rates_`, (n_materials,), in units of content a step."""
        rate, _, error, _ = self._held("estimates_")
        return np.where(rate > 0.0, rate * np.minimum(error, 1e300 / np.maximum(rate, 1.0)), error)

    @property
    def decay_errors_(self) -> np.ndarray:
        """Standard errors of `decay_rates_`, (n_materials,), a step."""
        _, decay, _, error = self._held("estimates_")
        return decay * error

    @property
    def ages_(self) -> np.ndarray:
        """Whole steps of content that wait at each site at the step after the last crawl, (n_materials,)."""
        with self._lock:
            return self._held("clock_")[0] + 1.0 - self._held("last_crawls_")

    def _held(self, name: str) -> np.ndarray:
        """A copy of an array of the state."""
        with self._lock:
            check_is_fitted(self)
            return getattr(self, name).copy()

    def _check_log(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        return check_crawl_log(X, y, self.material, self.elapsed)

    def _check_parameters(self) -> None:
        check_integer("capacity", self.capacity, low=1)
        check_whole("max_age", np.atleast_1d(check_real("max_age", self.max_age, finite=False)), low=1, finite=False)
        check_integer("n_seeds", self.n_seeds, low=0)
        check_real("prior_decay", self.prior_decay, low=1e-9, high=50.0)
        check_real("prior_spread", self.prior_spread, low=0.0, low_open=True, high=100.0)
        check_integer("n_ages", self.n_ages, low=3, high=1000)

    def _start(self, n: int) -> None:
        self.totals_ = np.zeros((n, self.n_ages, 3))
        self.estimates_ = self._unseen(n)
        self.last_crawls_ = np.zeros(n)
        self.n_crawls_ = np.zeros(n)
        self.clock_ = np.zeros(1)

    def _unseen(self, n: int) -> np.ndarray:
        """Estimates (4, n) of sites that were never crawled."""
        return np.repeat([[0.0], [self.prior_decay], [1e100], [self.prior_spread]], n, axis=1)

    def _resize(self, n: int) -> None:
        self._check_unchanged()
        new = n - self.n_crawls_.size
        if new > 0:
            self.totals_ = np.concatenate([self.totals_, np.zeros((new, self.n_ages, 3))])
            self.estimates_ = np.concatenate([self.estimates_, self._unseen(new)], axis=1)
            self.last_crawls_ = np.append(self.last_crawls_, np.zeros(new))
            self.n_crawls_ = np.append(self.n_crawls_, np.zeros(new))

    def _check_unchanged(self) -> None:
        """Raise if a parameter that the state was made for has changed since."""
        slots = np.shape(self.totals_)[1] if np.ndim(self.totals_) == 3 else -1
        if slots != self.n_ages:
            raise ValueError(f"n_ages must stay as it was until fit, {slots}, got {self.n_ages}")

    def _book(self) -> SiteBook:
        self._check_unchanged()
        prior = (float(self.prior_decay), float(self.prior_spread), 1e-9, 50.0)
        return SiteBook(
            self.totals_,
            self.estimates_,
            self.last_crawls_,
            self.n_crawls_,
            self.clock_,
            float(self.max_age),
            prior,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # sites and whole ages
        tags.target_tags.positive_only = True
        return tags
