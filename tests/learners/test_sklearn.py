"""Every learner is a scikit-learn estimator."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from knapsolve import (
    GPOKS,
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RateAllocator,
    RenewalIndexPolicy,
    UniformPolicy,
)
from tests.learners.cases import LEARNERS, poll_log, state_of

ESTIMATORS = [LAKG(), HTRAA(), GPOKS(), UniformPolicy(), ProportionalPolicy(), OptimalPolicy(), EstimatorPolicy(),
              RenewalIndexPolicy(), AdaptiveIntervalPolicy()]  # fmt: skip
ESTIMATORS += [RateAllocator(), RateAllocator(estimator="mle")]
LEARNER = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda estimator: {"check_estimators_dtypes": "its y takes values outside {0, 1}"},
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas-arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-category": lambda columns: pd.DataFrame(columns).astype({"page": "category"}),
    "polars": pl.DataFrame,
    "polars-category": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col("page").cast(pl.Categorical)
    ),
    "pyarrow": pa.table,
    "pyarrow-chunked": lambda columns: pa.concat_tables([pa.table(columns)[:57], pa.table(columns)[57:]]),
}


@LEARNER
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_with_string_identifiers_equal_arrays_of_integers(learner, frame):
    X, y = poll_log(200, 6)
    names = np.array([f"https://example.org/{k}" for k in range(6)])[X[:, 0].astype(int)]
    columns = {"note": ["x"] * 200, "gap": X[:, 1], "page": names.tolist()}
    named = clone(learner).set_params(material="page", elapsed="gap").fit(frame(columns), y)
    plain = clone(learner).fit(X, y)
    assert named.amounts_.tolist() == plain.amounts_.tolist()
    assert named.materials_.tolist() == [f"https://example.org/{int(k)}" for k in plain.materials_]
    assert named.n_features_in_ == 3


@pytest.mark.filterwarnings("ignore:Determining the column names")
def test_a_frame_that_is_not_in_memory_is_refused():
    with pytest.raises(TypeError, match=r"X must be in memory, got polars.*LazyFrame: collect"):
        LAKG(resolution=50).fit(pl.LazyFrame({"page": ["a"], "gap": [1.0]}), [1])
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"X must be in memory, got dask.*DataFrame: collect or compute"):
        LAKG(resolution=50).fit(dask.from_pandas(pd.DataFrame({"page": ["a"], "gap": [1.0]}), npartitions=1), [1])


def test_object_arrays_hold_strings_beside_numbers():
    X, y = poll_log(100, 4)
    mixed = np.array([[f"m{int(k)}", gap] for k, gap in X], dtype=object)
    learner = LAKG(resolution=50).fit(mixed, y)
    assert learner.materials_.tolist() == [f"m{int(k)}" for k in LAKG(resolution=50).fit(X, y).materials_]
    assert learner.states_.tolist() == LAKG(resolution=50).fit(X, y).states_.tolist()


@LEARNER
@pytest.mark.parametrize("dump", ["pickle", "joblib", "joblib read-only"])
def test_pickled_mid_stream_it_goes_on_identically(learner, dump, tmp_path):
    X, y = poll_log(300, 9)
    learner = clone(learner).fit(X[:120], y[:120])
    if dump == "pickle":
        other = pickle.loads(pickle.dumps(learner))
    else:
        joblib.dump(learner, tmp_path / "learner.joblib")
        other = joblib.load(tmp_path / "learner.joblib", mmap_mode="r" if "read-only" in dump else None)
    assert state_of(other) == state_of(learner)
    learner.partial_fit(X[120:], y[120:])
    other.partial_fit(X[120:], y[120:])
    assert state_of(other) == state_of(learner)


@LEARNER
def test_clone_forgets_the_state_and_keeps_the_parameters(learner):
    X, y = poll_log(200, 5)
    fitted = clone(learner).fit(X, y)
    copy = clone(fitted)
    assert not hasattr(copy, "materials_")
    assert str(copy.get_params()) == str(fitted.get_params())
    assert state_of(copy.fit(X, y)) == state_of(fitted)


@LEARNER
def test_fit_forgets_what_was_learnt_before(learner):
    X, y = poll_log(200, 5)
    once = clone(learner).fit(X, y)
    assert state_of(clone(learner).fit(*poll_log(77, 8, seed=4)).fit(X, y)) == state_of(once)


def detected(estimator, X, y):
    """Out of sample: share of the changes found that went to materials of more than the mean amount."""
    amounts = dict(zip(estimator.materials_.tolist(), estimator.allocate(1.0).tolist()))
    large = np.array([amounts.get(m, 0.0) > 1 / len(amounts) for m in X[:, 0].tolist()])
    return float(y[large].sum() / max(1, y.sum()))


def test_grid_search_over_time_series_splits_with_a_scorer():
    X, y = poll_log(600, 8)
    search = GridSearchCV(
        LAKG(), {"resolution": [30, 100], "exponent": [1.1, 1.4]}, cv=TimeSeriesSplit(3), scoring=detected
    )
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = LAKG(**search.best_params_).fit(X, y)
    assert search.best_estimator_.states_.tolist() == best.states_.tolist()


@LEARNER
def test_a_learner_may_end_a_pipeline(learner):
    X, y = poll_log(200, 5)
    pipeline = make_pipeline(FunctionTransformer(lambda log: log * [1, 2.0]), clone(learner))
    assert isinstance(pipeline.fit(X, y), Pipeline)
    assert state_of(pipeline[-1]) == state_of(clone(learner).fit(X * [1, 2.0], y))


def test_a_random_state_is_stored_untouched_and_goes_on():
    X, y = poll_log(100, 4)
    for random_state in (None, 7, np.random.RandomState(7), np.random.default_rng(7)):
        learner = HTRAA(resolution=20, random_state=random_state).fit(X, y)
        assert learner.random_state is random_state
        assert learner.get_params()["random_state"] is random_state
    generator = np.random.default_rng(3)
    first = HTRAA(resolution=20, random_state=generator).fit(X, y).states_.tolist()
    second = HTRAA(resolution=20, random_state=generator).fit(X, y).states_.tolist()
    again = HTRAA(resolution=20, random_state=np.random.default_rng(3)).fit(X, y).states_.tolist()
    assert first == again != second
