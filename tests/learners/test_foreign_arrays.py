"""Fitted arrays that were changed from outside are refused, not followed beyond their ends."""

from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone

from tests.learners.cases import LEARNERS, poll_log

ARRAYS = {"lakg": "states_", "renewal": "items_", "nutch": "weights_"}


@pytest.mark.parametrize("name", LEARNERS)
def test_more_materials_than_there_is_state_for(name):
    X, y = poll_log(100, 9)
    learner = clone(LEARNERS[name]).fit(X, y)
    learner.materials_ = np.arange(100_000)
    for use in (lambda: learner.amounts_, lambda: learner.allocate(3.0), lambda: learner.partial_fit(X, y).amounts_):
        with suppress(ValueError, TypeError):
            assert np.isfinite(use()).all()


@pytest.mark.parametrize(("name", "array"), ARRAYS.items())
@pytest.mark.parametrize("size", [0, 1, 4])
def test_state_cut_short(name, array, size):
    X, y = poll_log(100, 9)
    learner = clone(LEARNERS[name]).fit(X, y)
    setattr(learner, array, getattr(learner, array)[:size].copy())
    with pytest.raises(ValueError, match=f"{array} must"):
        learner.amounts_.tolist()


@pytest.mark.parametrize("state", [-50, 0, 61, 2**31 - 1])
def test_states_of_automata_that_there_are_not(state):
    X, y = poll_log(100, 9)
    learner = clone(LEARNERS["lakg"]).fit(X, y)
    learner.states_[3] = state
    with pytest.raises(ValueError, match=r"states_ must lie in \[1, 60\]|a state held, got 60"):
        learner.amounts_.tolist()
