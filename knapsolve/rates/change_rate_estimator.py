"""ChangeRateEstimator: how often things change, from polls that saw whether they had."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from knapsolve._copies import own_copy
from knapsolve._frames import as_table
from knapsolve._identifiers import Positions, encode, locate
from knapsolve._locks import Shared
from knapsolve._validation import check_choice, check_column_key, check_poll_log, check_real, check_vector
from knapsolve.rates.labels import outcomes_of
from knapsolve.rates.models import ESTIMATORS, make_model
from knapsolve.rates.parameters import check_elapsed, check_rate_parameters
from knapsolve.rates.polls import Polls, complete_observations

LEAST_WEIGHT = 1e-60  # of a row: what is divided by it stays finite


class ChangeRateEstimator(Shared, ClassifierMixin, BaseEstimator):
    """Change rates from a poll log: P(changed | rate L, elapsed e) = 1 - exp(-L e).

    A binary classifier of polls: it predicts whether a poll of a material after some time will find a change.

    Parameters
    ----------
    estimator : {"mle", "recursive", "bayes", "multiplicative"}, default="mle"
        - "mle": censored maximum likelihood under a Gamma prior; keeps the log.
        - "recursive": one Newton step a poll, four numbers an item.
        - "bayes": the posterior mean on a grid of 73 rates, eight a decade.
        - "multiplicative": exponentiated gradient of constant gain; forgets by itself and follows rates that
          change, but never settles and knows no intervals.
    memory : float, optional
        Time, in the unit of elapsed times, after which an item's old polls count 1/e as much. By default nothing is
        forgotten.
    gain : float, default=0.2
        Step of "multiplicative".
    evidence_limit : float, optional
        Most that "recursive" ever counts as known of a rate, in changes: beyond, all that was seen is scaled down to
        it. 10 follows rates that jump, at the cost of a relative error of about ``1 / sqrt(20)`` where they do not.
        By default there is none as long as rates seem to last, or with a `memory`; where polls of known items go
        against their rates beyond chance it is 15 for 10,000 such polls, the next time for twice as many. 1e140: never.
    prior : "pooled" or (changes, time), default="pooled"
        Gamma prior of "mle" over the rates: that many changes in that much time are added to every item. "pooled"
        fits it on all items (empirical Bayes), and knows little where they are few. The others start every new item
        at the pooled rate so far, with the weight of 0.05 changes.
    rate_range : (float, float), optional
        Lowest and highest rate of the grid of "bayes", in changes per unit of time. By default it spans nine decades
        around the reciprocal of the first elapsed time, from 1e-4 to 1e5 times as much; a warning says where rates
        seem to lie beyond.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.
    n_changes : int or str, optional
        Column that tells how many changes a poll found; NaN where only `y` is known.
    age : int or str, optional
        Column that tells how long before the poll the last change was, in the unit of elapsed times, where it found
        one; NaN where unknown.

    Attributes
    ----------
    rates_ : ndarray of shape (n_materials,)
        Changes per unit of time.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    classes_ : ndarray of shape (2,)
        Labels of unchanged and changed: 0 and 1, or of two other labels the one that sorts last is changed (with a
        warning, since that may be wrong).
    n_features_in_ : int
        Number of columns seen.

    References
    ----------
    J. Cho and H. Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003.

    Examples
    --------
    >>> from knapsolve import ChangeRateEstimator
    >>> X = [["news", 1.0], ["rules", 4.0], ["news", 1.0], ["rules", 4.0], ["news", 2.0], ["rules", 4.0]]
    >>> estimator = ChangeRateEstimator(prior=(0.5, 1.0)).fit(X, [1, 0, 0, 0, 1, 1])
    >>> dict(zip(estimator.materials_.tolist(), estimator.rates_.round(3).tolist()))
    {'news': 0.785, 'rules': 0.139}
    >>> estimator.predict_proba([["rules", 8.0]]).round(2).tolist()
    [[0.33, 0.67]]
    """

    materials_: np.ndarray
    classes_: np.ndarray

    _lookup: Positions | None = None  # made when first needed

    def __init__(
        self,
        estimator: str = "mle",
        *,
        memory: float | None = None,
        gain: float = 0.2,
        evidence_limit: float | None = None,
        prior: str | tuple[float, float] = "pooled",
        rate_range: tuple[float, float] | None = None,
        material: int | str = 0,
        elapsed: int | str = 1,
        n_changes: int | str | None = None,
        age: int | str | None = None,
    ):
        self.estimator = estimator
        self.memory = memory
        self.gain = gain
        self.evidence_limit = evidence_limit
        self.prior = prior
        self.rate_range = rate_range
        self.material = material
        self.elapsed = elapsed
        self.n_changes = n_changes
        self.age = age

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> ChangeRateEstimator:
        """Forget everything and learn from a poll log.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A material column and an elapsed column, in time order, and perhaps complete observations.
        y : array-like of shape (n_polls,)
            Whether the poll found a change: 0 or 1, or any two labels of which the larger one means a change.
        sample_weight : array-like of shape (n_polls,), optional
            How many such polls each row stands for, less than 1e-60 counts as 0.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the estimator is as it was.
        """
        return self._learn(X, y, None, sample_weight, fresh=True)

    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> ChangeRateEstimator:
        """Go on learning from the next part of a poll log; new materials are admitted.

        ``fit(A + B)`` equals ``fit(A)`` followed by ``partial_fit(B)``, bit for bit.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            As for `fit`.
        y : array-like of shape (n_polls,)
            As for `fit`.
        classes : array-like of shape (2,), optional
            Both labels, in the first call; needed only where they are not 0 and 1 and `y` holds one of them.
        sample_weight : array-like of shape (n_polls,), optional
            As for `fit`.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the log is not as described; the estimator is as it was.
        """
        return self._learn(X, y, classes, sample_weight, fresh=False)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Chances that polls find no change and a change.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A material column and an elapsed column; materials never seen have the pooled rate.

        Returns
        -------
        chances : ndarray of shape (n_polls, 2)
            P(unchanged) and P(changed), in the order of `classes_`.

        Raises
        ------
        NotFittedError
            If the estimator has not seen any poll.
        ValueError, TypeError
            If `X` is not as described.
        """
        check_is_fitted(self)
        X = as_table(X)
        if len(getattr(X, "shape", ())) == 2:  # else _check_log says what is wrong
            validate_data(self, X, reset=False, skip_check_array=True)
        values, gaps, _ = self._check_log(X, None)
        with self._lock:
            rates = np.append(self.rates_, self._model.new_rate())
            expected = rates[locate(values, self.materials_, self._lookup)] * gaps
        return np.column_stack([np.exp(-expected), -np.expm1(-expected)])

    def predict(self, X: Any) -> np.ndarray:
        """The likelier outcome of polls; where one outcome alone was ever seen, that one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_polls, 2+)
            A material column and an elapsed column.

        Returns
        -------
        labels : ndarray of shape (n_polls,)
            Entries of `classes_`.

        Raises
        ------
        NotFittedError
            If the estimator has not seen any poll.
        ValueError, TypeError
            If `X` is not as described.
        """
        with self._lock:
            changed = self.predict_proba(X)[:, 1] > 0.5
            if not all(self._seen):
                changed[:] = self._seen[1]
            return self.classes_[changed.astype(np.intp)]

    def rate_interval(self, level: float = 0.95) -> NDArray[np.float64]:
        """Credible intervals of the rates, between quantiles of equal tails.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of each interval.

        Returns
        -------
        intervals : ndarray of shape (n_materials, 2)
            Lower and upper ends, in changes per unit of time. For "mle" by integration of the posterior (for up to 256
            items with a pooled prior widened by what they leave open about it, so that those of small levels do not
            shrink to a point), for "bayes" on its grid, for "recursive" of the Gamma with its rate and curvature.

        Raises
        ------
        NotFittedError
            If the estimator has not seen any poll.
        ValueError, TypeError
            If `level` is not in (0, 1), or the estimator is "multiplicative", which keeps no measure of doubt.
        """
        check_is_fitted(self)
        level = check_real("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        if self.estimator == "multiplicative":
            raise ValueError("estimator must be one that knows how sure it is for intervals, got 'multiplicative'")
        with self._lock:
            return self._model.interval(np.array([(1 - level) / 2, min((1 + level) / 2, np.nextafter(1.0, 0.0))]))

    @property
    def rates_(self) -> NDArray[np.float64]:
        """Change rates held now, (n_materials,), per unit of time."""
        check_is_fitted(self)
        with self._lock:
            return self._model.rates()

    # -- how learning goes ------------------------------------------------------

    def _learn(
        self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None, fresh: bool
    ) -> ChangeRateEstimator:
        with self._lock:
            self._learn_alone(X, y, classes, sample_weight, fresh or not self.__sklearn_is_fitted__())
        return self

    def _learn_alone(
        self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None, fresh: bool
    ) -> None:
        """Learn a log, or raise with the estimator as it was."""
        self._check_parameters()
        X = as_table(X)
        if not fresh and len(getattr(X, "shape", ())) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        labels, outcomes = outcomes_of(y, classes, None if fresh else self.classes_)
        values, gaps, changed = self._check_log(X, outcomes)
        weights = None
        if sample_weight is not None:
            weights = check_vector("sample_weight", sample_weight, low=0.0, high=1e100, size=gaps.size)
            weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
            if fresh and not weights.any():
                least = f"less than {LEAST_WEIGHT:g} counts as none"
                raise ValueError(f"sample_weight must hold a positive number, got zeros only ({least})")
        counts, exposures = complete_observations(X, gaps, changed, self.n_changes, self.age)
        before = vars(self).copy()
        lookup = None if fresh else self._lookup
        materials = None
        try:
            if fresh:
                validate_data(self, X, outcomes, reset=True, skip_check_array=True)
                model, seen = self._new_model(), [False, False]
            else:
                model = self._model.fork() if gaps.size <= self._model.atomic_rows else self._model.copy()
                seen = self._seen
            known = np.empty(0) if fresh else self.materials_
            codes, known, lookup = encode(values, known, lookup)
            materials = known.view()
            used = changed if weights is None else changed[weights > 0]
            seen = [seen[0] or not used.all(), seen[1] or bool(used.any())]
            commit: Callable[[], None] = partial(
                self.__dict__.update, materials_=materials, _model=model, _lookup=lookup, _seen=seen, classes_=labels
            )
            model.learn(Polls(codes, gaps, changed, weights, counts, exposures), known.size, commit)
        except BaseException:
            if materials is None or getattr(self, "materials_", None) is not materials:
                _forget_newcomers(lookup, before)
                self.__dict__ = before
            raise

    def _new_model(self) -> Any:
        return make_model(self.estimator, self.memory, self.gain, self.evidence_limit, self.prior, self.rate_range)

    def _check_parameters(self) -> None:
        check_choice("estimator", self.estimator, ESTIMATORS)
        check_rate_parameters(self.memory, self.gain, self.evidence_limit, self.prior, self.rate_range)
        for role in ("material", "elapsed", "n_changes", "age"):
            if getattr(self, role) is not None or role in ("material", "elapsed"):
                check_column_key(role, getattr(self, role))

    def _check_log(self, X: Any, outcomes: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Material column, elapsed (n_polls,) and outcomes (n_polls,) of a log, or raise."""
        if outcomes is None:
            outcomes = np.zeros(X.shape[:1] or 1)
        values, gaps, changed = check_poll_log(X, outcomes, self.material, self.elapsed)
        if isinstance(values, np.ndarray) and values.dtype.kind in "if" and (values == -1).any():
            raise ValueError(
                "material must not be -1, the code of a missing identifier (Negative values in data), "
                f"got it at position {int(np.argmax(values == -1))}"
            )
        check_elapsed(gaps, self.estimator)
        return values, gaps, changed

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "materials_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.classifier_tags = ClassifierTags(multi_class=False, poor_score=True)  # it only knows who and how long
        return tags

    def __copy__(self):
        with self._lock:
            return own_copy(self)


def _forget_newcomers(lookup: Positions | None, before: dict[str, Any]) -> None:
    """Take identifiers that a refused batch brought out of the lookup, which is extended in place."""
    if lookup is not None and "materials_" in before:
        lookup.shrink(before["materials_"].size)
