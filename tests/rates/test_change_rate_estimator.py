"""ChangeRateEstimator as users meet it: frames, labels, predictions, odd logs and bad input."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from knapsolve import ChangeRateEstimator
from tests.rates.logs import gamma_rates, poisson_log

NAMES = ("mle", "recursive", "bayes", "multiplicative")
EACH = pytest.mark.parametrize("name", NAMES)
X, Y, COUNTS, AGES = poisson_log(60, gamma_rates(5))
nan, inf = float("nan"), float("inf")


@EACH
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_with_string_identifiers_equal_arrays_of_integers(name, frame):
    pages = [f"https://example.org/{int(k)}" for k in X[:, 0]]
    table = frame({"hours": X[:, 1], "page": pages, "found": COUNTS.astype(float)})
    named = ChangeRateEstimator(name, material="page", elapsed="hours", n_changes="found").fit(table, Y)
    plain = ChangeRateEstimator(name, n_changes=2).fit(np.column_stack([X, COUNTS]), Y)
    assert named.rates_.tolist() == plain.rates_.tolist()
    assert named.materials_.tolist() == [f"https://example.org/{int(k)}" for k in plain.materials_]
    assert named.predict_proba(table).tolist() == plain.predict_proba(np.column_stack([X, COUNTS])).tolist()


@EACH
def test_predictions_are_the_chance_of_a_change(name):
    estimator = ChangeRateEstimator(name).fit(X, Y)
    rates = dict(zip(estimator.materials_, estimator.rates_))
    chances = estimator.predict_proba(X)
    expected = [1 - np.exp(-rates[item] * gap) for item, gap in X]
    np.testing.assert_allclose(chances[:, 1], expected, rtol=1e-12)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (estimator.predict(X) == (chances[:, 1] > 0.5)).all()


@EACH
def test_items_never_seen_have_the_pooled_rate(name):
    estimator = ChangeRateEstimator(name).fit(*poisson_log(20_000, np.full(50, 0.8))[:2])
    assert estimator.predict_proba([[999.0, 1.0]])[0, 1] == pytest.approx(1 - np.exp(-0.8), rel=0.15)


@pytest.mark.parametrize(("labels", "kind"), [(["quiet", "quiet!"], str), ([-1, 1], int), ([False, True], bool)])
def test_any_two_labels_will_do_and_the_larger_means_a_change(labels, kind):
    y = np.array(labels)[Y]
    estimator = ChangeRateEstimator().fit(X, y)
    assert estimator.classes_.tolist() == labels
    assert estimator.rates_.tolist() == ChangeRateEstimator().fit(X, Y).rates_.tolist()
    assert set(estimator.predict(X).tolist()) <= set(labels)


def test_classes_say_the_labels_of_a_first_part_that_holds_one():
    names = np.array(["changed!", "same"])[1 - Y]  # "same" is the larger one
    estimator = ChangeRateEstimator().partial_fit(X[:1], names[:1], classes=["changed!", "same"])
    estimator.partial_fit(X[1:], names[1:])
    assert estimator.rates_.tolist() == ChangeRateEstimator().fit(X, 1 - Y).rates_.tolist()


@EACH
def test_grid_search_scores_probabilities(name):
    search = GridSearchCV(
        ChangeRateEstimator(name), {"memory": [None, 5.0]}, cv=TimeSeriesSplit(3), scoring="neg_log_loss"
    )
    assert np.isfinite(search.fit(*poisson_log(400, gamma_rates(5))[:2]).cv_results_["mean_test_score"]).all()


# -- odd logs: sensible answers -----------------------------------------------------


def rates_of(name, log, **parameters):
    table = np.array([row[:2] for row in log], dtype=float)
    estimator = ChangeRateEstimator(name, **parameters).fit(table, [row[2] for row in log])
    return dict(zip(estimator.materials_.tolist(), estimator.rates_.tolist())), estimator


@EACH
def test_never_changed_always_changed_and_seen_once_are_positive_finite_and_ordered(name):
    log = [row for _ in range(20) for row in ((0, 1.0, 0), (1, 1.0, 1), (2, 1.0, 0), (2, 1.0, 1))] + [(3, 1.0, 0)]
    rates, estimator = rates_of(name, log)
    assert 0 < rates[0] < rates[2] < rates[1] < inf
    assert rates[0] < rates[3] < rates[1]
    if name != "multiplicative":
        intervals = estimator.rate_interval()
        assert np.isfinite(intervals).all()
        assert (intervals[:, 0] < estimator.rates_).all() and (estimator.rates_ < intervals[:, 1]).all()


@EACH
@pytest.mark.parametrize("outcome", [0, 1])
def test_logs_of_one_outcome_or_one_row_give_positive_finite_rates(name, outcome):
    for n in (1, 2, 500):
        rates, estimator = rates_of(name, [(k % 3, 2.0, outcome) for k in range(n)])
        assert all(0 < rate < inf for rate in rates.values())
        assert estimator.predict([[0.0, 1.0]]).tolist() == [outcome]


@EACH
def test_polls_after_no_time_do_no_harm(name):
    log = [(k % 2, 0.0 if k % 5 == 0 else 1.0, int(k % 3 == 0)) for k in range(300)]
    rates, _ = rates_of(name, log)
    assert all(0.05 < rate < 5.0 for rate in rates.values())
    quiet, _ = rates_of(name, [(0, 1.0, 1), (1, 1.0, 0), (0, 0.0, 0)])
    without, _ = rates_of(name, [(0, 1.0, 1), (1, 1.0, 0)])
    if name in ("mle", "bayes"):
        assert quiet == pytest.approx(without)  # nothing seen in no time tells nothing
    still, _ = rates_of(name, [(0, 0.0, 1), (1, 0.0, 0)])
    assert all(0 < rate < inf for rate in still.values())


@EACH
@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_rates_at_the_ends_of_the_range_are_found(name, unit):
    log = [(k % 2, unit, int(k % 4 < 2)) for k in range(200)]
    rates, _ = rates_of(name, log)
    assert all(rate * unit == pytest.approx(np.log(2), rel=0.5) for rate in rates.values())


@EACH
def test_changes_at_every_poll_for_ever_stay_within_floats(name):
    rates, estimator = rates_of(name, [(0, 1e-6 * (k % 7), 1) for k in range(20_000)])
    assert 1.0 < rates[0] < inf
    assert np.isfinite(estimator.predict_proba([[0.0, 1e9]])).all()


@EACH
def test_duplicate_rows_count_twice(name):
    X2, y2 = np.repeat(X, 2, axis=0), np.repeat(Y, 2)
    assert np.isfinite(ChangeRateEstimator(name).fit(X2, y2).rates_).all()
    if name == "mle":
        twice = ChangeRateEstimator(prior=(0.5, 1.0)).fit(X, Y, np.full(60, 2.0))
        np.testing.assert_allclose(ChangeRateEstimator(prior=(0.5, 1.0)).fit(X2, y2).rates_, twice.rates_, rtol=1e-12)


# -- bad input ------------------------------------------------------------------------


def row(column, value, at=7):
    changed = np.column_stack([X, COUNTS, AGES])
    changed[at, column] = value
    return changed


FULL = np.column_stack([X, COUNTS, AGES])
BAD = {  # name: (parameters, X, y, keywords, what the message names)
    "clock backwards": ({}, row(1, -3.0), Y, {}, "elapsed.*-3.0.*position 7"),
    "nan elapsed": ({}, row(1, nan), Y, {}, "elapsed"),
    "infinite elapsed": ({}, row(1, inf), Y, {}, "elapsed"),
    "elapsed beyond": ({}, row(1, 1e200), Y, {}, "elapsed.*1e.200"),
    "elapsed tiny": ({"estimator": "recursive"}, row(1, 1e-200), Y, {}, "elapsed.*1e-200"),
    "nan material": ({}, row(0, nan), Y, {}, "material"),
    "code of a missing material": ({}, row(0, -1.0), Y, {}, "material.*-1"),
    "three labels": ({}, FULL, np.arange(60) % 3, {}, "binary|labels"),
    "one strange label": ({}, FULL, np.full(60, 7), {}, "class|labels"),
    "nan label": ({}, FULL, np.where(np.arange(60) == 3, nan, Y), {}, "NaN|y"),
    "no y": ({}, FULL, None, {}, "y"),
    "short y": ({}, FULL, Y[1:], {}, "y"),
    "negative weight": ({}, FULL, Y, {"sample_weight": np.linspace(-1, 1, 60)}, "sample_weight"),
    "short weights": ({}, FULL, Y, {"sample_weight": np.ones(59)}, "sample_weight"),
    "estimator": ({"estimator": "guess"}, FULL, Y, {}, "estimator.*guess"),
    "memory": ({"memory": 0.0}, FULL, Y, {}, "memory"),
    "limit": ({"evidence_limit": 0.0}, FULL, Y, {}, "evidence_limit"),
    "gain": ({"gain": -1.0}, FULL, Y, {}, "gain"),
    "prior name": ({"prior": "flat"}, FULL, Y, {}, "prior"),
    "prior pair": ({"prior": (0.0, 1.0)}, FULL, Y, {}, "prior"),
    "range": ({"rate_range": (2.0, 1.0)}, FULL, Y, {}, "rate_range"),
    "column": ({"material": 2.5}, FULL, Y, {}, "material"),
    "count where y says none": ({"n_changes": 2}, row(2, 3.0, int(np.argmin(Y))), Y, {}, "n_changes.*3.0"),
    "half a change": ({"n_changes": 2}, row(2, 0.5, int(np.argmax(Y))), Y, {}, "n_changes.*0.5"),
    "age beyond the gap": ({"age": 3}, row(3, 1e9, int(np.argmax(Y))), Y, {}, "age.*1000000000.0"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input_is_refused_by_name_with_the_state_untouched(case):
    parameters, table, y, keywords, pattern = case
    estimator = ChangeRateEstimator("recursive").fit(FULL, Y)
    for name, value in parameters.items():
        setattr(estimator, name, value)
    before = pickle.dumps(estimator)
    for method in (estimator.fit, estimator.partial_fit):
        with pytest.raises((ValueError, TypeError), match=re.compile(pattern, re.DOTALL)):
            method(table, y, **keywords)
        assert pickle.dumps(estimator) == before


def test_a_first_fit_needs_a_positive_weight():
    unfitted, fitted = ChangeRateEstimator("recursive"), ChangeRateEstimator("recursive").fit(FULL, Y)
    for method in (unfitted.fit, unfitted.partial_fit, fitted.fit):
        with pytest.raises(ValueError, match="sample_weight must hold a positive number"):
            method(FULL, Y, sample_weight=np.zeros(60))


def test_newcomers_of_a_refused_batch_are_forgotten():
    estimator = ChangeRateEstimator().fit(X, Y)
    with pytest.raises(TypeError, match="kind"):
        estimator.partial_fit(np.array([["a", 1.0]], dtype=object), [1])
    assert estimator.partial_fit([[77.0, 1.0]], [1]).materials_.tolist()[-1] == 77.0


def test_unfitted_and_unsure_estimators_say_so():
    with pytest.raises(NotFittedError):
        ChangeRateEstimator().predict_proba(X)
    with pytest.raises(NotFittedError):
        _ = clone(ChangeRateEstimator().fit(X, Y)).rates_
    with pytest.raises(ValueError, match="multiplicative"):
        ChangeRateEstimator("multiplicative").fit(X, Y).rate_interval()
    for level in (0.0, 1.0, nan, 2.0):
        with pytest.raises(ValueError, match="level"):
            ChangeRateEstimator().fit(X, Y).rate_interval(level)


@pytest.mark.parametrize("estimator", ["mle", "recursive", "bayes"])
@pytest.mark.parametrize("weights", [[1e-300, 1e100, 0.0, 1.0], [1e100] * 4, [1e-59, 1e100, 1e-59, 1.0]])
@pytest.mark.parametrize("elapsed", [[1e5, 1e5, 1e5, 1e5], [1e-140, 1e140, 1e-140, 1e140]])
@pytest.mark.filterwarnings("ignore:rate_range must reach")
def test_weights_and_times_of_any_size_leave_rates_and_intervals_finite(estimator, weights, elapsed):
    X = np.column_stack([[0, 0, 1, 1], elapsed])
    fitted = ChangeRateEstimator(estimator).fit(X, [1, 0, 0, 0], sample_weight=weights)
    assert (fitted.rates_ > 0).all() and np.isfinite(fitted.rates_).all()
    ends = fitted.rate_interval()
    assert np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()
