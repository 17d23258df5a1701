"""Logs as lists of rows are checked as arrays are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from knapsolve import GPOKS, LSPEWhittle, PlugInWhittle, RateAllocator, RenewalIndexPolicy, RobotController
from knapsolve.rates import ChangeRateEstimator
from tests.learners.cases import LEARNERS, state_of

X = [[k % 3, 1.0 + k % 2, 9.0] for k in range(12)]
Y = [k % 2 for k in range(12)]
OTHERS = [ChangeRateEstimator(), LSPEWhittle(n_seeds=0), PlugInWhittle(n_seeds=0)]
ALL = [*LEARNERS.values(), *OTHERS]
BAD = {
    "too narrow": ([[0, 1.0]], "X has 2 features, but .* is expecting 3"),
    "too wide": ([[0, 1.0, 2.0, 3.0]], "X has 4 features, but .* is expecting 3"),
    "ragged": ([[0, 1.0, 9.0], [1, 1.0]], "equally many columns in each row, got 3 in row 0 and 2 in row 1"),
    "a number for a row": ([[0, 1.0, 9.0], 7], "equally many columns in each row, got 3 in row 0 and 1 in row 1"),
    "a list for a value": ([[0, 1.0, [9.0]], [1, 1.0, [9.0, 1.0]]], "X must have a single value in each column"),
    "one row alone": ([0, 1.0, 9.0], "X must be 2-dimensional"),
}


def known_as(learner):
    return state_of(learner) if type(learner) in map(type, LEARNERS.values()) else learner.materials_.tolist()


@pytest.mark.parametrize("learner", ALL, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(("rows", "message"), BAD.values(), ids=BAD)
def test_lists_of_the_wrong_shape_are_refused_and_change_nothing(learner, rows, message):
    learner = clone(learner).fit(X, Y)
    before = known_as(learner)
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(rows, Y[: len(rows)])
    assert known_as(learner) == before


@pytest.mark.parametrize("learner", [GPOKS(n_points=9), ChangeRateEstimator()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(("rows", "message"), BAD.values(), ids=BAD)
def test_predictions_of_lists_of_the_wrong_shape_are_refused(learner, rows, message):
    with pytest.raises(ValueError, match=message):
        clone(learner).fit(X, Y).predict(rows)


@pytest.mark.parametrize("learner", [LEARNERS["lakg"], RateAllocator(), ChangeRateEstimator()])
@pytest.mark.parametrize("rows", [BAD[name][0] for name in ("ragged", "a number for a row", "one row alone")])
def test_a_first_log_of_the_wrong_shape_is_refused(learner, rows):
    with pytest.raises(ValueError, match=r"^X must"):
        clone(learner).fit(rows, Y[: len(rows)])


def test_lists_of_events_are_checked_too():
    controller = RobotController().fit([[1.0, 0.1], [1.0, 0.2]])
    with pytest.raises(ValueError, match="equally many columns in each row, got 2 in row 0 and 1 in row 1"):
        controller.partial_fit([[1.0, 0.1], [1.0]])


@pytest.mark.filterwarnings("ignore:more than a tenth of the curves")
@pytest.mark.parametrize("learner", ALL, ids=lambda each: type(each).__name__)
def test_lists_teach_what_arrays_teach(learner):
    of_lists, of_arrays = clone(learner), clone(learner)
    for part in (slice(0, 7), slice(7, 12)):
        of_lists.partial_fit(X[part], Y[part])
        of_arrays.partial_fit(np.array(X[part]), np.array(Y[part]))
    assert known_as(of_lists) == known_as(of_arrays)


@pytest.mark.parametrize(
    ("wrong", "said"), [("soon", "'soon'"), (pd.Timedelta("1h"), "Timedelta"), ("", "''"), (10**400, "1000")]
)
def test_what_is_no_number_is_shown_with_its_place(wrong, said):
    for rows in ([["a", 1.0], ["b", wrong]], np.array([["a", 1.0], ["b", wrong]], dtype=object)):
        with pytest.raises(TypeError, match=rf"elapsed must be .*{said}.*at position 1"):
            RenewalIndexPolicy().fit(rows, [0, 1])
