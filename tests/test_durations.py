"""Durations and dates are no numbers: as such they would count in the unit that they happen to be stored in."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from knapsolve import LAKG, ChangeRateEstimator, PlugInWhittle, RateAllocator, RenewalIndexPolicy, RobotController

HOURS = [1.0, 2.0, 3.0]
DURATIONS = {
    "pandas": lambda: pd.Series(pd.to_timedelta(HOURS, unit="h")),
    "numpy": lambda: np.array(HOURS).astype("m8[h]"),
    "objects of numpy": lambda: np.array([np.timedelta64(int(hour), "h") for hour in HOURS] + [None], dtype=object)[:3],
    "Python": lambda: [timedelta(hours=hour) for hour in HOURS],
}
HINT = r".*[tT]imedelta.*: divide them by numpy.timedelta64\(1, 'h'\) for hours"


@pytest.mark.parametrize("durations", DURATIONS.values(), ids=DURATIONS)
@pytest.mark.parametrize("learner", [LAKG(), RateAllocator(), PlugInWhittle(), ChangeRateEstimator()])
def test_elapsed_durations_are_refused_with_how_to_convert_them(learner, durations):
    column = durations()
    log = pd.DataFrame({"item": list("aba"), "elapsed": column})
    rows = [list(row) for row in zip("aba", column)]
    for X in (log, np.array(rows, dtype=object), rows):
        with pytest.raises(TypeError, match=f"elapsed must be real numbers, got {HINT}"):
            learner.fit(X, [0, 1, 0])
    learner.fit(log.assign(elapsed=HOURS), [0, 1, 0])


def test_the_conversion_that_is_said_is_one():
    durations = DURATIONS["pandas"]()
    for column in (durations, durations.to_numpy()):
        assert (column / np.timedelta64(1, "h")).tolist() == HOURS


@pytest.mark.parametrize("dates", [pd.to_datetime(["2024-01-01"] * 3), [datetime(2024, 1, 1)] * 3])
def test_dates_in_place_of_elapsed_times_are_refused_with_what_to_take_instead(dates):
    log = pd.DataFrame({"item": list("aba"), "time": dates})
    with pytest.raises(TypeError, match=r"datetime64.*: take the times between them, divided by numpy.timedelta64\(1"):
        RateAllocator(material="item", elapsed="time").fit(log, [0, 1, 0])


def test_other_durations_are_refused_too():
    durations = DURATIONS["pandas"]()
    log = pd.DataFrame({"item": list("aba"), "elapsed": HOURS, "age": durations})
    with pytest.raises(TypeError, match=f"age must be real numbers, got {HINT}"):
        ChangeRateEstimator(age="age").fit(log, [0, 1, 0])
    policy = RenewalIndexPolicy().fit(log[["item", "elapsed"]], [0, 1, 0])
    with pytest.raises(TypeError, match=f"ages must be real numbers, got {HINT}"):
        policy.suggest(ages=durations[:2])
    for X in (pd.DataFrame({"fetch": HOURS, "service": durations}), np.array([[1, 2]]).astype("m8[s]")):
        with pytest.raises(TypeError, match=f"real numbers, got {HINT}"):
            RobotController().fit(X)


@pytest.mark.parametrize("duration", [np.timedelta64(3600 * 10**9, "ns"), np.timedelta64(3, "s"), timedelta(hours=1)])
def test_one_duration_is_no_number_either(duration):
    log = pd.DataFrame({"item": list("aba"), "elapsed": HOURS})
    with pytest.raises(TypeError, match=r"capacity must be a real number, got .*: divide it by numpy.timedelta64\(1"):
        RateAllocator(capacity=duration).fit(log, [0, 1, 0])
    with pytest.raises(TypeError, match="n_materials must be an integer, got"):
        LAKG(n_materials=duration).fit([[0, 1.0]], [0])


def test_durations_are_no_outcomes():
    with pytest.raises(TypeError, match="y must be real numbers, got timedelta64"):
        LAKG().fit([["a", 1.0], ["b", 1.0]], np.array([0, 1]).astype("m8[s]"))


def test_a_first_polls_missing_elapsed_time_is_explained():
    log = pd.DataFrame({"item": list("aba"), "elapsed": [np.nan, 1.0, 2.0]})
    with pytest.raises(ValueError, match=r"elapsed .*got nan at position 0: the first poll of a material has none"):
        RateAllocator().fit(log, [0, 1, 0])


def test_a_missing_outcome_is_told_where_it_is():
    log = pd.DataFrame({"item": list("aba"), "elapsed": HOURS})
    with pytest.raises(ValueError, match=r"y must be 0 .* or 1 .*, got <NA> at position 1"):
        LAKG().fit(log, pd.Series([True, None, False], dtype="boolean"))
