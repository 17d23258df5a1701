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
