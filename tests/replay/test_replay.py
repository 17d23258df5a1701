"""Replays of change logs: counted again by hand, and what must hold for every policy."""

import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knapsolve import LAKG, EDFScheduler, UniformPolicy
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import TraceEnvironment
from knapsolve.replay import POLICIES, TraceReplay, measure_polls, replay
from knapsolve.replay.comparison import default_policies
from knapsolve.replay.result import METRICS

DAY = 86400.0


def seconds(date):
    return float(np.datetime64(date).astype("datetime64[s]").astype(float))


def bursty_log(n_items, n_changes, seed, length=100.0):
    """Changes in bursts, some items never in the second half; times are 64ths, so that they scale exactly."""
    generator = np.random.default_rng(seed)
    items = np.append(generator.integers(0, n_items, n_changes), [0, 1])
    times = (
        np.floor(np.append(length * generator.beta(0.6, 0.5, n_changes), [0.75 * length, length]) * 64) / 64
    )
    order = np.argsort(times, kind="stable")
    return np.array([f"item {k}" for k in range(n_items)])[items[order]], times[order]


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


def test_the_order_of_rows_does_not_matter():
    items, times = bursty_log(12, 100, seed=4)
    results = [
        replay((items[rows], times[rows]), 5, start=0, split=40, random_state=1)
        for rows in (slice(None), np.lexsort((times, items)), np.lexsort((items[::-1], times)),
                     np.concatenate([np.flatnonzero(items == name) for name in np.unique(items)[::-1]]))
    ]  # fmt: skip
    for other in results[1:]:
        assert other.items.tolist() == sorted(set(items.tolist()))
        assert other.table() == results[0].table()


def test_items_of_mixed_kinds_are_refused():
    with pytest.raises(TypeError, match="one kind"):
        TraceReplay((np.array(["b", 3, "a", 3], dtype=object), [1.0, 2.0, 3.0, 4.0]), 2, start=0)


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize("time", ["time", "timestamp"])
def test_a_data_frame_is_a_log(frame, time):
    items, times = bursty_log(7, 60, seed=1)
    whole = frame({time: times, "extra": times, "item": items.tolist()})
    expected = replay((items, times), 2, ["uniform"], random_state=0)
    assert replay(whole, 2, ["uniform"], random_state=0).table() == expected.table()


@pytest.mark.parametrize("names", [("page", "time"), ("item", "when")])
def test_a_data_frame_with_other_columns_is_refused(names):
    frame = pd.DataFrame(dict(zip(names, (["a", "b"], [1.0, 2.0]))))
    with pytest.raises(TypeError, match="log must have columns 'item' and 'time'"):
        replay(frame, 2)


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


@settings(deadline=None, max_examples=40)
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


def test_nothing_depends_on_the_unit_of_time():
    items, times = bursty_log(12, 100, seed=5)
    one = replay((items, times), 2.0, start=0, split=40, random_state=7)
    other = replay((items, times * 4096), 2.0 / 4096, start=0, split=40 * 4096, random_state=7)
    for name in one.runs:
        np.testing.assert_array_equal(one.runs[name].item_polls, other.runs[name].item_polls)
        np.testing.assert_array_equal(one.runs[name].item_detections, other.runs[name].item_detections)


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


def test_results_before_the_split_do_not_count():
    items, times = ["a", "b", "a", "b"], [1.0, 2.0, 3.0, 8.0]
    result = replay((items, times), 2, ["uniform"], start=0, split=5, stop=10, random_state=0)
    assert result.n_changes.tolist() == [0, 1]
    assert result.estimate("uniform", "detected").value == 1


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
        ({"capacity": None, "polls_per_change": 1e-3}, "polls_per_change must make 1 .* got 0.001"),
        ({"policies": {"mine": Greedy()}}, "capacity of a policy must be 1, .* got 2.0"),
        ({"stop": -1.0}, "stop must be after start"),
        ({"scheduler": "heap"}, "scheduler must be one of"),
        ({"policies": ["lakg", "magic"]}, "policies must be one of .* got 'magic'"),
        ({"policies": ["told"]}, "split must be given for policy 'told'"),
        ({"policies": []}, "policies must name at least one"),
        ({"n_bootstrap": 3}, "n_bootstrap must be an integer at least 100"),
        ({"start": 200.0, "stop": 300.0}, "must hold changes after 200"),
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
    assert TraceReplay(trace, 3).n_polls == 30



@pytest.mark.parametrize(
    "as_written",
    [
        lambda days: f"2021-07-{1 + days:02}",
        lambda days: f"2021-07-{1 + days:02}T02:00+02:00",
        lambda days: datetime.date(2021, 7, 1 + days),
        lambda days: datetime.datetime(2021, 7, 1 + days, tzinfo=datetime.UTC),
        lambda days: np.datetime64(f"2021-07-{1 + days:02}"),
        lambda days: pd.Timestamp(f"2021-07-{1 + days:02}"),
    ],
    ids=["text", "zone", "date", "datetime", "numpy", "pandas"],
)
def test_dates_are_seconds_since_1970_however_they_are_written(as_written):
    first, days = 1625097600.0, [2, 3, 5, 9, 12]  # of 1 July 2021
    items = ["a", "b", "a", "b", "a"]
    numbers = (items, [first + DAY * each for each in days])
    stretch = [first + DAY * each for each in (0, 6, 15)]
    given = dict(zip(("start", "split", "stop"), stretch))
    expected = replay(numbers, 3 / DAY, ["uniform"], **given, random_state=0)
    given = dict(zip(given, map(as_written, (0, 6, 15))))
    for log in (numbers, (items, [as_written(each) for each in days])):
        found = replay(log, 3 / DAY, ["uniform"], **given, random_state=0)
        assert (found.start, found.split, found.stop) == tuple(stretch)
        assert found.table() == expected.table()


@pytest.mark.parametrize("name", ["start", "split", "stop"])
@pytest.mark.parametrize("value", ["yesterday", np.datetime64("NaT"), pd.NaT])
def test_what_is_no_date_is_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        replay((["a", "b", "a"], [1.0, 2.0, 3.0]), 1.0, ["uniform"], **{name: value})
    with pytest.raises((ValueError, TypeError), match="times"):
        replay((["a", "b", "a"], ["2021-07-01", value, "2021-07-03"]), 1.0, ["uniform"])


def test_numbers_that_are_text_are_the_numbers():
    items, times = ["a", "b", "a", "b"], ["20210701", "20210702", "20210711", "20210722.5"]
    found, expected = (
        TraceReplay((items, each), 1.0, start=20210700) for each in (times, [float(each) for each in times])
    )
    assert (found.start, found.stop) == (expected.start, expected.stop) == (20210700, 20210722.5)


def test_a_trace_counts_from_where_it_says():
    trace = TraceEnvironment([0, 1, 0, 1], [1.0, 2.0, 8.0, 9.0], 0.0, 10.0, count_from=5.0)
    assert TraceReplay(trace, 4.0, random_state=0).n_changes.tolist() == trace.n_changes.tolist() == [1, 1]
    assert TraceReplay(trace, 4.0, split=7.0, random_state=0).split == 7.0
    assert measure_polls(trace, [0, 0], [2.0, 8.5]).item_polls.tolist() == [1, 0]
    assert TraceReplay(trace, 4.0, start=6.0, random_state=0).split is None
    assert measure_polls(trace, [0], [3.0], stop=4.0).item_polls.tolist() == [1, 0]
    longer = TraceEnvironment([0, 1, 0, 1], [1.0, 2.0, 8.0, 9.0], 5.0, 10.0)
    assert TraceReplay(longer, 4.0, start=0.0, random_state=0).split is None


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
        TraceReplay((["a", "b", "a", "b"], [1e-101, 5e-101, last, 1.0]), 1e102, start=0.0, stop=1e-100, random_state=0)
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
