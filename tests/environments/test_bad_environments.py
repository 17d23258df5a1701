"""Environments refuse what is not a probability, a change time or a number of polls."""

import numpy as np
import pytest

from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged

nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("kind", [BernoulliEnvironment, PollingEnvironment])
@pytest.mark.parametrize(
    "unchanged",
    [[], [0.5], [nan, 0.5], [1.5, 0.5], [-0.1, 0.5], [[0.5, 0.5]], "ab", None, 0.5, [1j, 0]],
    ids=repr,
)
def test_bad_rate_environments_are_refused(kind, unchanged):
    with pytest.raises((ValueError, TypeError), match="unchanged"):
        kind(unchanged)


@pytest.mark.parametrize("switch_every", [0, -1, 1.5, "2", nan, 10**30])
def test_bad_switching_is_refused(switch_every):
    with pytest.raises((ValueError, TypeError), match="switch_every"):
        PollingEnvironment([0.5, 0.5], switch_every=switch_every)


@pytest.mark.parametrize("amounts", [[1.0], [1.0, -1.0], [nan, 1.0], "ab", None])
def test_values_of_bad_amounts_are_refused(amounts):
    with pytest.raises((ValueError, TypeError), match="amounts"):
        BernoulliEnvironment([0.5, 0.5]).value(amounts)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([0, 1, 0], [0.0, 1.0]), "items and times"),
        (([0, 1], [0.0, nan]), "times"),
        (([0, 1], [0.0, inf]), "times"),
        (([0, 1], ["monday", "tuesday"]), "times"),
        (([0, 1], np.array(["2020-01-01", "NaT"], dtype="M8[s]")), "times"),
        (([0, 1, 0], [5.0, 1.0, 2.0]), "times must ascend.*2 after 5"),
        ((["a", 1, "a"], [5.0, 1.0, 2.0]), "times must ascend.*'a'|identifiers"),
        (([0, 0], [0.0, 1.0]), "items"),
        (([], []), None),
        (([0, None], [0.0, 1.0]), "items"),
        (([0, nan], [0.0, 1.0]), "items"),
        (([[0, 1]], [[0.0, 1.0]]), "items|times"),
        (([0, 1], [1.0, 1.0]), "stop"),
        (([0, 1], [0.0, 1.0], 5.0), "stop"),
        (([0, 1], [0.0, 1.0], nan), "start"),
        (([0, 1], [0.0, 1.0], 0.0, inf), "stop"),
        (([0, 1], [0.0, 1.0], 0.0, "late"), "stop"),
        (([{}, []], [0.0, 1.0]), None),
    ],
    ids=repr,
)
def test_bad_traces_are_refused(arguments, named):
    with pytest.raises((ValueError, TypeError), match=named):
        TraceEnvironment(*arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1, 0.5, 1.0), "n must"),
        ((2.5, 0.5, 1.0), "n must"),
        ((10, 1.5, 1.0), "alpha"),
        ((10, nan, 1.0), "alpha"),
        ((10, 0.5, -1.0), "beta"),
        ((10, 0.5, inf), "beta"),
        ((10, 0.5, 1.0, -1), "n_perturbations"),
        ((10, 0.5, 1.0, 5, "x"), "random_state"),
        ((10, 0.5, 1.0, 10**30), "n_perturbations"),
    ],
)
def test_bad_zipf_environments_are_refused(arguments, named):
    with pytest.raises((ValueError, TypeError), match=named):
        zipf_unchanged(*arguments)
