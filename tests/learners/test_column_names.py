"""Columns of data frames that are taken by number although their names say otherwise: a warning says so."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from knapsolve import GPOKS, LAKG, ChangeRateEstimator, PlugInWhittle, RateAllocator

LOG = {"item": [0, 1, 0], "time": [1.0, 2.0, 3.0], "elapsed": [1.0, 1.0, 2.0]}
LEARNERS = [LAKG, RateAllocator, ChangeRateEstimator]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("columns", "doubts"),
    [
        (["item", "time", "elapsed"], ["elapsed=1 takes the column 'time' of X, not 'elapsed'.*say elapsed='elapsed'"]),
        (["item", "time"], ["elapsed=1 takes the column 'time' of X, which must hold how long ago"]),
        (["elapsed", "item"], ["material=0 takes the column 'elapsed' of X, not 'item'", "elapsed=1 .* not 'elapsed'"]),
    ],
)
def test_names_that_contradict_numbers_are_warned_of_where_the_log_is_given(learner, columns, doubts):
    with pytest.warns(UserWarning, match="takes the column") as caught:
        learner().fit(pd.DataFrame(LOG)[columns], [0, 1, 0])
    assert len(caught) == len(doubts)
    for warning, doubt in zip(caught, doubts):
        assert warning.filename == __file__
        assert re.search(doubt, str(warning.message))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        (["item", "elapsed", "time"], {}),
        (["item", "time", "elapsed"], {"elapsed": "elapsed"}),
        (["item", "time"], {"elapsed": "time"}),
        (["elapsed", "item"], {"material": "item", "elapsed": "elapsed"}),
        (["elapsed", "item"], {"material": "elapsed", "elapsed": "item"}),
    ],
)
def test_names_that_were_given_or_agree_are_in_no_doubt(learner, columns, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(**settings).fit(pd.DataFrame(LOG)[columns], [0, 1, 0])
        learner().fit(pd.DataFrame(LOG)[["item", "elapsed"]].to_numpy(), [0, 1, 0])


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("material", "elapsed"), [(1, 1), ("time", "time"), (1, "time"), (1, -2), (np.int64(1), 1)])
def test_one_column_is_not_both_material_and_elapsed(learner, material, elapsed):
    with pytest.raises(ValueError, match="material and elapsed must be different columns"):
        learner(material=material, elapsed=elapsed).fit(pd.DataFrame(LOG), [0, 1, 0])


@pytest.mark.parametrize("learner", [PlugInWhittle(), GPOKS(n_points=9), RateAllocator()])
@pytest.mark.filterwarnings("always")
def test_the_warning_names_the_line_of_the_call(learner):
    log = pd.DataFrame({"item": [0, 1, 0], "time": [1, 2, 3]})
    with pytest.warns(UserWarning, match="takes the column") as caught:
        learner.fit(log, [0, 1, 0])
    assert {each.filename for each in caught if "takes the column" in str(each.message)} == {__file__}
