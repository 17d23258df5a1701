"""What a replay counts, counted again by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve.replay import POLICIES, TraceReplay, measure_polls, replay
from knapsolve.replay.comparison import default_policies
from tests.replay.logs import bursty_log


class Recorder:
    """Uniform amounts for ever; keeps every poll that it is told of."""

    capacity = 1.0

    def __init__(self, n):
        self.n, self.seen = n, []

    def __deepcopy__(self, memo):
        return self  # the replay's copy shares the record

    def amount(self, i):
        return 1 / self.n

    def observe(self, i, elapsed, changed):
        self.seen.append((i, elapsed, changed))


def count_by_hand(changes, polls, split, stop):
    """(polls, detections, carried detections, fresh, penalty, age) of one item, straight from their definitions.

    Between two events nothing happens: there the copy has missed the changes since the last poll.
    """
    last, found, carried = -np.inf, 0, 0
    for now in polls:
        found += now > split and any(last < t <= now for t in changes)
        carried += now > split and any(last < t <= min(now, split) for t in changes)
        last = now
    fresh = penalty = age = 0.0
    edges = sorted({split, stop, *(t for t in [*changes, *polls] if split < t < stop)})
    for begin, end in pairwise(edges):
        last = max((p for p in polls if p <= begin), default=-np.inf)
        missed = [t for t in changes if last < t <= begin]
        fresh += (end - begin) * (not missed)
        penalty += (end - begin) * sum(1 / k for k in range(1, len(missed) + 1))
        age += (end - begin) * ((begin + end) / 2 - missed[0]) if missed else 0.0
    return [sum(now > split for now in polls), found, carried, *(np.array([fresh, penalty, age]) / (stop - split))]

ACCOUNT = ("item_polls", "item_detections", "item_carried", "item_fresh", "item_penalty", "item_age")


@pytest.mark.parametrize("split", [40, 40.3, None])
@pytest.mark.parametrize("capacity", [0.5, 2.0, 16.0])
def test_counts_are_those_of_a_replay_by_hand(capacity, split):
    items, times = bursty_log(7, 60, seed=1)
    replayer = TraceReplay((items, times), capacity, start=0, split=split, random_state=3)
    recorder = Recorder(replayer.items.size)
    run = replayer.run(recorder, name="recorded")
    since = split or 0
    n_training = int(since * capacity)
    polled = np.array([each[0] for each in recorder.seen])
    assert replayer.n_training_polls == n_training
    assert len(polled) == n_training + np.floor((times.max() - since) * capacity)
    poll_times = since + (np.arange(len(polled)) + 1 - n_training) / capacity
    begin = since - n_training / capacity
    expected = [
        count_by_hand(
            times[(items == name) & (times > begin)].tolist(), poll_times[polled == k].tolist(), since, times.max()
        )
        for k, name in enumerate(replayer.items)
    ]
    for name, column in zip(ACCOUNT, zip(*expected)):
        np.testing.assert_allclose(getattr(run, name), column, rtol=1e-12, atol=1e-12, err_msg=name)
    assert run.item_detections.sum() == run.detections[-1] and run.polls[-1] == replayer.n_polls
    found = np.cumsum([each[2] for each in recorder.seen])
    np.testing.assert_array_equal(
        run.detections, found[run.polls + n_training - 1] - (found[n_training - 1] if n_training else 0)
    )


@settings(max_examples=60)
@given(
    changes=st.lists(st.tuples(st.integers(0, 2), st.integers(-40, 60)), min_size=1, max_size=40),
    polls=st.lists(st.tuples(st.integers(0, 2), st.integers(-40, 60)), max_size=40),
    split=st.integers(-20, 30),
)
def test_measured_polls_equal_their_twin(changes, polls, split):
    """Events on a grid: changes at polls, at the split, at both ends, several at once."""
    changes = sorted([*changes, (0, 60), (1, 60), (2, 60)], key=lambda row: row[1])
    polls = sorted(polls, key=lambda row: row[1])
    log = list(zip(*changes))
    columns = list(zip(*polls)) or [[], []]
    run = measure_polls(log, *columns, start=-40, split=split, stop=60, name="mine")
    for k in range(3):
        inside = [t for i, t in changes if i == k and t > -40]
        twin = count_by_hand(inside, [t for i, t in polls if i == k], split, 60)
        np.testing.assert_allclose([getattr(run, name)[k] for name in ACCOUNT], twin, rtol=1e-12, atol=1e-12)


def test_a_change_before_the_split_is_found_after_it():
    run = measure_polls((["a", "b"], [4.0, 9.0]), ["a", "b"], [6.0, 6.0], start=0, split=5, stop=10)
    assert run.item_detections.tolist() == [1, 0]
    assert run.item_fresh.tolist() == [0.8, 0.8]
    assert run.item_age.tolist() == [(1 + 2) / 2 / 5, 0.5 / 5]


def test_the_table_is_the_sums_and_means_of_the_items():
    result = replay(bursty_log(9, 80, seed=2), 3, start=0, split=30, random_state=0)
    assert list(result.runs) == default_policies(True) and result.runs.keys() < POLICIES.keys()
    for row in result.table():
        run = result.runs[row["policy"]]
        assert row["polls"] == run.item_polls.sum()
        assert row["detected"] == run.item_detections.sum()
        assert row["detected_share"] == run.item_detections.sum() / result.n_changes.sum()
        assert row["freshness"] == pytest.approx(run.item_fresh.mean(), abs=1e-15)
        assert row["harmonic_penalty"] == pytest.approx(run.item_penalty.mean(), abs=1e-15)
        assert row["mean_age"] == pytest.approx(run.item_age.mean(), rel=1e-14)


def test_results_before_the_split_do_not_count():
    items, times = ["a", "b", "a", "b"], [1.0, 2.0, 3.0, 8.0]
    result = replay((items, times), 2, ["uniform"], start=0, split=5, stop=10, random_state=0)
    assert result.n_changes.tolist() == [0, 1]
    assert result.estimate("uniform", "detected").value == 1
