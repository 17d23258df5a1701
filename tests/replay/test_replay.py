"""Replays of change logs: what must hold for every policy."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import LAKG, EDFScheduler, UniformPolicy
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import TraceEnvironment
from knapsolve.replay import TraceReplay, measure_polls, replay
from knapsolve.replay.result import METRICS
from tests.replay.logs import DAY, bursty_log


def seconds(date):
    return float(np.datetime64(date).astype("datetime64[s]").astype(float))


@pytest.mark.parametrize(
    ("items", "times", "message"),
    [
        (["a", "z"], [1, 2], "items must be items of the log, got 'z'"),
        (["a"], [1, 2], "same length"),
        (["a", "a"], [2, 1], "times must ascend"),
        (["a"], [11], "times must be in"),
        (["a"], [np.nan], "times must be"),
    ],
)
def test_bad_polls_are_refused(items, times, message):
    with pytest.raises(ValueError, match=message):
        measure_polls((["a", "b"], [4.0, 9.0]), items, times, start=0, stop=10)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_items=st.integers(2, 40),
    capacity=st.floats(0.2, 40),
    split=st.one_of(st.none(), st.floats(10, 70)),
    scheduler=st.sampled_from(["edf", "random"]),
)
def test_every_policy_polls_equally_often_and_stays_within_the_possible(
    seed, n_items, capacity, split, scheduler
):
    log = bursty_log(n_items, 50, seed)
    result = replay(
        log, capacity, start=0, split=split, scheduler=scheduler, random_state=seed, n_bootstrap=100
    )
    n_polls = int(np.floor((result.stop - (split or 0)) * capacity * (1 + 1e-12)))
    for run in result.runs.values():
        assert run.item_polls.sum() == n_polls
        missed_in_training = split is not None  # a change that the test's first poll of an item finds
        assert (run.item_detections <= np.minimum(result.n_changes + missed_in_training, run.item_polls)).all()
        assert (run.item_fresh >= 0).all() and (run.item_fresh <= 1 + 1e-12).all()
        assert (np.diff(run.detections) >= 0).all() and run.detections[-1] == run.item_detections.sum()
    for row in result.table():
        for metric in METRICS:
            assert np.isfinite([row[metric], row[f"{metric}_low"], row[f"{metric}_high"]]).all()
            assert row[f"{metric}_low"] <= row[f"{metric}_high"]


def test_same_seed_same_replay_whichever_others_are_replayed():
    log = bursty_log(12, 100, seed=6)
    everything = replay(log, 5, start=0, split=40, random_state=11)
    alone = replay(log, 5, ["htraa"], start=0, split=40, random_state=11)
    other = replay(log, 5, ["htraa"], start=0, split=40, random_state=12)
    np.testing.assert_array_equal(alone.runs["htraa"].item_polls, everything.runs["htraa"].item_polls)
    assert alone.estimate("htraa", "freshness") == everything.estimate("htraa", "freshness")
    assert (other.runs["htraa"].item_polls != alone.runs["htraa"].item_polls).any()


def test_several_runs_are_averaged_item_by_item():
    replayer = TraceReplay(bursty_log(12, 100, seed=6), 5, start=0, split=40, random_state=11)
    first, mean = replayer.run("htraa"), replayer.run("htraa", n_runs=3)
    assert (mean.item_polls != first.item_polls).any()
    assert mean.item_polls.sum() == pytest.approx(replayer.n_polls, rel=1e-12)
    totals = 3 * np.concatenate([mean.item_polls, mean.item_detections])
    np.testing.assert_allclose(totals, np.rint(totals), atol=1e-9)


def test_learners_learn_through_the_test_stretch():
    """Only `a` changes while they are trained, only `b` in the test, which its own polls alone can show."""
    items, times = np.repeat(["a", "b"], [400, 4000]), np.arange(4400) / 4
    result = replay((items, times), 4, ["lakg", "htraa"], start=0, split=100, random_state=0)
    for run in result.runs.values():
        assert run.item_polls[1] > 1.5 * run.item_polls[0]


def test_uniform_polls_of_the_replay_are_those_of_the_scheduler():
    log = bursty_log(6, 40, seed=8)
    replayer = TraceReplay(log, 3, start=0, random_state=2)
    run = replayer.run(UniformPolicy(), name="mine")
    window = np.abs(run.item_polls - replayer.n_polls / 6)
    assert (window <= 1).all()
    assert (
        EDFScheduler(np.full(6, 1 / 6), random_state=0).next(replayer.n_polls)[0].size == run.item_polls.sum()
    )


def test_optimal_is_told_the_rates_of_the_test_stretch_and_told_those_of_the_training():
    items = ["a"] * 30 + ["b"] * 10 + ["a"] * 10 + ["b"] * 30
    times = np.concatenate([np.linspace(0.1, 49, 30), np.linspace(0.1, 49, 10), np.linspace(51, 99, 10),
                            np.linspace(51, 99, 30)])  # fmt: skip
    result = replay(
        (items, times), 10, ["told", "optimal"], start=0, split=50, stop=100, random_state=0
    )
    assert result.runs["optimal"].item_polls == pytest.approx(500 * np.array([10.5, 30.5]) / 41, abs=1.01)
    shares = 1 - np.exp(-np.array([30.5, 10.5]) / 500)
    assert result.runs["told"].item_polls == pytest.approx(500 * shares / shares.sum(), abs=1.5)


def test_bootstrap_intervals_cover_as_they_should():
    """The interval of a mean of iid items against the normal one."""
    items = np.repeat(np.arange(400), 2)
    generator = np.random.default_rng(0)
    times = np.sort(generator.uniform(0, 100, (400, 2)), axis=1).ravel()
    result = replay((items, times), 40, ["uniform"], start=0, stop=100, random_state=0)
    fresh = result.runs["uniform"].item_fresh
    value, low, high = result.estimate("uniform", "freshness")
    half = 1.96 * fresh.std() / 20
    assert (value - low, high - value) == pytest.approx((half, half), rel=0.12)
    assert result.difference("uniform", "uniform", "freshness") == (0, 0, 0)


def test_many_items_are_resampled_in_blocks_with_the_same_spread(monkeypatch):
    items = np.repeat(np.arange(600), 2)
    times = np.sort(np.random.default_rng(1).uniform(0, 100, (600, 2)), axis=1).ravel()
    result = replay((items, times), 60, ["uniform"], start=0, stop=100, random_state=0)
    exact = result.estimate("uniform", "detected_share")
    monkeypatch.setattr("knapsolve.replay.result.MOST_BLOCKS", 450)
    vars(result).pop("_resamples")
    polls = result.estimate("uniform", "polls")
    assert polls.high == pytest.approx(polls.low, rel=2e-3)
    blocks = result.estimate("uniform", "detected_share")
    assert blocks.value == pytest.approx(exact.value, rel=1e-12)
    assert blocks.high - blocks.low == pytest.approx(exact.high - exact.low, rel=0.2)


class Greedy:
    capacity = 2.0

    def amount(self, i):
        return 1.0

    def observe(self, i, elapsed, changed):
        pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": 0}, "capacity must be finite and positive"),
        ({"capacity": float("nan")}, "capacity must be finite and positive"),
        ({"capacity": 1e-9}, "capacity must make 1 to 2\\*\\*53 polls"),
        ({"capacity": 1e300}, "capacity must make 1 to 2\\*\\*53 polls"),
        ({"split": 0.0}, "split must lie between start"),
        ({"split": 100.0}, "split must lie between start"),
        ({"split": "100%"}, "split must lie between start=0 and stop=100, got '100%'"),
        ({"split": "5.0.0%"}, "split must lie between start=0 and stop=100, got '5.0.0%'"),
        ({"split": "half"}, "split must be a number or an ISO date .* got 'half'"),
        ({"capacity": None, "polls_per_change": 1e-3}, "polls_per_change must make 1 .* got 0.001"),
        ({"policies": {"mine": Greedy()}}, "capacity of a policy must be 1, .* got 2.0"),
        ({"stop": -1.0}, "stop must be after start"),
        ({"scheduler": "heap"}, "scheduler must be one of"),
        ({"policies": ["lakg", "magic"]}, "policies must be one of .* got 'magic'"),
        ({"policies": ["told"], "split": None}, "split must be given for policy 'told'"),
        ({"policies": []}, "policies must name at least one"),
        ({"n_bootstrap": 3}, "n_bootstrap must be an integer at least 100"),
        ({"start": 200.0, "stop": 300.0}, "must hold changes after 250"),
        ({"log": (["a", "a"], [1.0, 2.0])}, "at least 2 different items"),
        ({"log": (["a", "b", "a"], [1.0, 2.0, 0.5])}, "times must ascend within each item"),
        ({"log": (["a", "b"], [1.0, np.nan])}, r"times must be in .*, got nan"),
        ({"log": 7}, "log must be"),
    ],
)
def test_bad_input_is_refused_before_any_polling(change, message, monkeypatch):
    monkeypatch.setattr("knapsolve.replay.trace_replay.simulate", lambda *a, **k: pytest.fail("polled"))
    arguments = {
        "log": (["a", "b", "a"], [1.0, 50.0, 99.0]),
        "capacity": 2.0,
        "start": 0.0,
        "stop": 100.0,
    } | change
    with pytest.raises((ValueError, TypeError), match=message):
        replay(**arguments)


def test_debian_learners_beat_uniform_at_detection_and_stay_below_the_oracle():
    """The main claim on real data: paired intervals over packages, three seeds."""
    log = load_debian_uploads(stop=None)
    for seed in range(3):
        result = replay(log, 20 / DAY, start=seconds("2019-07-06"), split=seconds("2021-07-01"),
                        stop=seconds("2023-01-01"), random_state=seed)  # fmt: skip
        assert (result.items.size, result.n_changes.sum()) == (377, 2416)
        for learner in ("lakg", "htraa"):
            assert result.difference(learner, "uniform", "detected_share").low > 0
            assert result.difference(learner, "optimal", "detected_share").high < 0
        assert abs(result.difference("lakg", "uniform", "freshness").value) < 0.02


def test_a_trace_environment_is_replayed_over_its_own_window():
    trace = TraceEnvironment(["a", "b", "a"], [1.0, 2.0, 9.0], start=0, stop=10)
    assert TraceReplay(trace, 3, split=None).n_polls == 30



def test_a_trace_counts_from_where_it_says():
    trace = TraceEnvironment([0, 1, 0, 1], [1.0, 2.0, 8.0, 9.0], 0.0, 10.0, count_from=5.0)
    assert TraceReplay(trace, 4.0, random_state=0).n_changes.tolist() == trace.n_changes.tolist() == [1, 1]
    assert TraceReplay(trace, 4.0, split=7.0, random_state=0).split == 7.0
    assert measure_polls(trace, [0, 0], [2.0, 8.5]).item_polls.tolist() == [1, 0]
    assert TraceReplay(trace, 4.0, split=None, random_state=0).split is None
    assert measure_polls(trace, [0, 0], [2.0, 8.5], split=None).item_polls.tolist() == [2, 0]
    assert TraceReplay(trace, 4.0, split="70%", random_state=0).split == 7.0
    assert TraceReplay(trace, 4.0, start=6.0, split=None, random_state=0).split is None
    assert TraceReplay(trace, 4.0, start=6.0, random_state=0).split == 8.0
    assert measure_polls(trace, [0], [3.0], stop=4.0).item_polls.tolist() == [1, 0]
    longer = TraceEnvironment([0, 1, 0, 1], [1.0, 2.0, 8.0, 9.0], 5.0, 10.0)
    assert TraceReplay(longer, 4.0, start=0.0, split=None, random_state=0).split is None


def test_half_is_half_where_it_is_said_also_of_a_trace_with_a_split_of_its_own():
    trace = TraceEnvironment([0, 1, 0, 1], [1.0, 2.0, 8.0, 9.0], 0.0, 10.0, count_from=7.0)
    for split in ("50%", "".join(["50", "%"]), " 50 %"):
        assert TraceReplay(trace, 4.0, split=split, random_state=0).split == 5.0
        assert replay(trace, 4.0, "uniform", split=split, random_state=0).split == 5.0
        assert measure_polls(trace, [0, 0], [6.0, 8.5], split=split).item_polls.tolist() == [2, 0]
    assert TraceReplay(trace, 4.0, random_state=0).split == 7.0
    default = inspect.signature(TraceReplay).parameters["split"].default
    for same in (copy.deepcopy(default), pickle.loads(pickle.dumps(default))):
        assert repr(same) == "'50%'" and TraceReplay(trace, 4.0, split=same, random_state=0).split == 7.0


@pytest.mark.parametrize("split", [{}, {"split": "30%"}, {"split": 3.0}, {"split": None}], ids=str)
def test_measured_polls_are_counted_in_the_stretch_that_a_replay_counts(split):
    log = [0, 1, 0, 1, 0], [1.0, 2.0, 3.5, 6.0, 9.0]
    times = np.arange(1, 21) / 2
    stretch = {"start": 0.0, "stop": 10.0} | split
    replayed = replay(log, 2.0, {"in turn": UniformPolicy()}, **stretch, random_state=0)
    since = replayed.start if replayed.split is None else replayed.split
    assert since == {"{}": 5.0, "{'split': None}": 0.0}.get(str(split), 3.0)
    measured = measure_polls(log, np.arange(20) % 2, times, **stretch)
    assert measured.item_polls.sum() == replayed.runs["in turn"].item_polls.sum() == (times > since).sum()


def test_runs_of_one_name_are_refused():
    replayer = TraceReplay((["a", "b"], [1.0, 9.0]), 2.0, start=0.0, random_state=0)
    runs = [replayer.run("uniform"), replayer.run("uniform")]
    with pytest.raises(ValueError, match=r"runs must have different names .* got two that are called 'uniform'"):
        replayer.compare(runs)


@pytest.mark.parametrize(
    ("policies", "error", "message"),
    [
        (["uniform", "uniform"], ValueError, "policies must have different names, got 'uniform', 'uniform'"),
        ([LAKG(), "uniform", LAKG()], ValueError, "different names, got 'LAKG', 'uniform', 'LAKG'"),
        ({"LAKG": LAKG(), "": LAKG()}, TypeError, "policies must be named by text that is not empty, got ''"),
        ({1: "uniform"}, TypeError, "named by text that is not empty, got 1"),
        ({"a": "uniform", None: "uniform"}, TypeError, "named by text that is not empty, got None"),
        ([], ValueError, "at least one policy"),
    ],
)
def test_policies_without_names_of_their_own_are_refused_before_any_polling(monkeypatch, policies, error, message):
    monkeypatch.setattr(TraceReplay, "run", lambda *_, **__: pytest.fail("polls were made"))
    with pytest.raises(error, match=message):
        replay((["a", "b"], [1.0, 9.0]), 2.0, policies, start=0.0)


def test_learners_without_a_mapping_go_by_their_class():
    result = replay((["a", "b"], [1.0, 9.0]), 2.0, [LAKG(), "uniform"], start=0.0, random_state=0)
    assert list(result.runs) == ["LAKG", "uniform"]


def test_a_capacity_may_be_told_as_on_the_command_line():
    log = ["a", "b"], ["2021-01-01", "2021-02-01"]
    as_text, as_number = (
        replay(log, capacity, "uniform", random_state=0) for capacity in ("1,440/day", 1 / 60)
    )
    assert as_text.capacity == pytest.approx(1 / 60, rel=1e-15)
    assert as_text.table() == as_number.table()
    assert TraceReplay(log, "2/h").capacity == 2 / 3600
    for text in ("20", "0/day", "20/fortnight", "x/day"):
        with pytest.raises(ValueError, match=r"^capacity .*(20/day|positive number|time unit)"):
            TraceReplay(log, text)


def test_changes_far_from_a_short_stretch_are_no_part_of_it():
    near, far = (
        TraceReplay(
            (["a", "b", "a", "b"], [1e-101, 5e-101, last, 1.0]), 1e102, start=0, stop=1e-100, split=None, random_state=0
        )
        for last in (1e-99, 1e139)
    )
    assert near.n_changes.tolist() == far.n_changes.tolist() == [1, 1]
    assert near.run("uniform").item_age.tolist() == far.run("uniform").item_age.tolist()


def test_measured_polls_may_be_told_as_dates():
    log = ["a", "b"], ["2021-01-01", "2021-02-01"]
    days = ["2021-01-15", "2021-01-20"]
    expected = measure_polls(log, ["a", "b"], [np.datetime64(day).astype("M8[s]").astype(int) for day in days])
    for times in (days, np.array(days, dtype="M8[D]")):
        assert measure_polls(log, ["a", "b"], times).item_fresh.tolist() == expected.item_fresh.tolist()
    with pytest.raises(ValueError, match="split must lie between start"):
        measure_polls(log, ["a"], ["2021-01-15"], split="2022-01-01")


@pytest.mark.parametrize(
    ("split", "says"),
    [
        ("50%", "1,000 items, 1,500 changes counted from 1499.5 to 2999; learners trained from 0"),
        (None, "1,000 items, 2,999 changes counted from 0 to 2999"),
    ],
)
def test_a_result_shows_as_its_table_and_what_it_counts(split, says):
    items, times = np.arange(3000) % 1000, np.arange(3000.0)
    result = replay((items, times), 1.0, ["uniform"], split=split, random_state=0)
    assert repr(result) == str(result) and len(repr(result).splitlines()) == 3
    assert str(result).splitlines()[-1] == says
