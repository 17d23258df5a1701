"""`knapsolve allocate`: intervals that follow from the log, timetables, and one line for bad logs."""

import csv
import gzip
import io
import json
import os
import threading
import tracemalloc
from time import sleep

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.csv
import pytest

from knapsolve import ChangeRateEstimator, RenewalIndexPolicy, criteria, solve_nefk
from knapsolve.cli.inputs import as_floats, read_columns

DAY = 86400


def poll_log(n_items=40, n_polls=3000, seed=0):
    """(item, time in days, changed) of items with rates from .01 to 10 a day, polled at random."""
    rng = np.random.default_rng(seed)
    rates = 10 ** rng.uniform(-2, 1, n_items)
    items = np.append(np.arange(n_items), rng.integers(0, n_items, n_polls))
    times = np.append(np.linspace(0, 0.5, n_items), np.sort(rng.random(n_polls)) * 99 + 1)
    last, changed = np.zeros(n_items), []
    for item, time in zip(items, times):
        changed.append(int(rng.random() < 1 - np.exp(-rates[item] * (time - last[item]))))
        last[item] = time
    return items, times, np.array(changed), rates


def as_csv(items, times, changed, **more):
    columns = {"item": [f"https://h{k % 4}.org/{k}" for k in items], "time": times.tolist(), "changed": changed} | more
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))
    return stream.getvalue()


@pytest.fixture
def log(folder):
    items, times, changed, rates = poll_log()
    (folder / "polls.csv").write_text(as_csv(items, times, changed))
    return items, times, changed, rates


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


COMMAND = ("allocate", "polls.csv", "--capacity", "30/day", "--time-unit", "day")


def derived(log):
    """Item, time since its previous poll and outcome of every poll but the first of each item."""
    items, times, changed, _ = log
    last, rows = {}, []
    for item, time, hit in zip(items, times, changed):
        if item in last:
            rows.append((item, time - last[item], hit))
        last[item] = time
    return np.array(rows)


def learnt(log, balance=0.8):
    """The policy that has seen them."""
    rows, times = derived(log), log[1]
    pace = len(rows) / (times.max() - times.min())
    return RenewalIndexPolicy(n_materials=40, capacity=pace, balance=balance).fit(rows[:, :2], rows[:, 2].astype(int))


@pytest.mark.parametrize("balance", [0.8, 0.3])
def test_amounts_are_those_that_the_renewal_index_comes_to(succeed, folder, log, balance):
    succeed(*COMMAND, "-o", "out.csv", "--balance", balance, "--rates", "renewal")
    rows = read(folder / "out.csv")
    policy = learnt(log, balance)
    amounts = np.array([1 / float(row["interval"]) for row in rows])
    assert amounts.sum() == pytest.approx(30, rel=1e-12)
    np.testing.assert_allclose(amounts, policy.set_params(capacity=30.0).allocate(), rtol=1e-8)
    np.testing.assert_allclose([float(row["rate"]) for row in rows], policy.rates_, rtol=1e-12)
    assert [row["item"] for row in rows] == [f"https://h{k % 4}.org/{k}" for k in range(40)]


def test_rates_lie_in_their_intervals_which_hold_most_true_rates(succeed, folder, log):
    succeed(*COMMAND, "-o", "out.csv")
    low, rate, high = (np.array([float(row[name]) for row in read(folder / "out.csv")])
                       for name in ("rate_low", "rate", "rate_high"))  # fmt: skip
    assert ((low < rate) & (rate < high)).all()
    assert ((low < log[3]) & (log[3] < high)).mean() > 0.85


@pytest.mark.parametrize("criterion", ["detection", "freshness", "harmonic"])
def test_other_criteria_are_those_of_the_knapsack_with_weights_and_bounds(succeed, folder, criterion, log):
    items, times, changed, _ = log
    (folder / "polls.csv").write_text(as_csv(items, times, changed, weight=(items % 3 + 1).tolist()))
    options = ["--criterion", criterion, "--max-interval", "10days", "--min-interval", "2h"]
    succeed(*COMMAND, "-o", "out.csv", *options)
    estimated = ChangeRateEstimator().fit(derived(log)[:, :2], derived(log)[:, 2])
    rates = dict(zip(estimated.materials_.astype(int).tolist(), estimated.rates_))
    rates = np.array([rates[k] for k in range(40)])
    rows = read(folder / "out.csv")
    kind = {"detection": criteria.Detection, "freshness": criteria.Freshness, "harmonic": criteria.Harmonic}[criterion]
    expected = solve_nefk(kind(rates), 30.0, weights=np.arange(40) % 3 + 1.0, lower=0.1, upper=12.0)
    np.testing.assert_allclose([float(row["interval"]) for row in rows], 1 / expected.amounts, rtol=1e-8)
    for row in rows:
        u = float(row["rate"]) * float(row["interval"])
        assert float(row["freshness"]) == pytest.approx((1 - np.exp(-u)) / u, rel=1e-9)


@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive"])
def test_rates_are_those_of_the_estimator_which_uses_all_that_is_told(succeed, folder, log, estimator):
    items, times, changed, _ = log
    rows = derived(log)
    counts = np.where(changed == 1, 1 + np.arange(changed.size) % 3, 0)
    counts = [str(count) if k % 2 else "" for k, count in enumerate(counts)]
    (folder / "polls.csv").write_text(as_csv(items, times, changed, n_changes=counts))
    succeed(*COMMAND, "-o", "out.csv", "--rates", estimator)
    later = np.ones(items.size, dtype=bool)
    later[np.unique(items, return_index=True)[1]] = False
    told = np.array([float(count or "nan") for count in counts])[later]
    model = ChangeRateEstimator(estimator, n_changes=2).fit(np.column_stack([rows[:, :2], told]), rows[:, 2])
    order = np.argsort(model.materials_)
    out = read(folder / "out.csv")
    np.testing.assert_allclose([float(row["rate"]) for row in out], model.rates_[order], rtol=1e-12)
    ends = [[float(row["rate_low"]), float(row["rate_high"])] for row in out]
    np.testing.assert_allclose(ends, model.rate_interval()[order], rtol=1e-12)
    plain = ChangeRateEstimator(estimator).fit(rows[:, :2], rows[:, 2])
    assert not np.allclose(plain.rates_, model.rates_, rtol=1e-3)


def test_host_caps_bound_amounts_and_timetable(succeed, folder, log):
    caps = ["--host-cap", "6/day", "--host-cap", "h1.org=1/day"]
    text = succeed(*COMMAND, "-o", "out.csv", "--schedule", "next.csv", "--horizon", "20days", *caps)
    assert "Note: within --host-cap there is room for 19 polls a day only" in text
    totals = {}
    for row in read(folder / "out.csv"):
        totals[row["item"][:14]] = totals.get(row["item"][:14], 0) + 1 / float(row["interval"] or "inf")
    assert totals == pytest.approx({"https://h0.org": 6, "https://h1.org": 1, "https://h2.org": 6, "https://h3.org": 6})
    times = {}
    rows = read(folder / "next.csv")
    for row in rows:
        times.setdefault(row["host"], []).append(float(row["time"]))
    assert len(rows) > 0.95 * 20 * 19
    for host, when in times.items():
        assert np.diff(when).min() >= (1 if host == "h1.org" else 1 / 6) - 1e-9
        assert when[0] >= log[1].max() and when[-1] < log[1].max() + 20


@pytest.mark.parametrize(
    ("bounds", "note"),
    [
        (["--min-interval", "2days"], "--min-interval there is room for 20 polls"),
        (["--min-interval", "4days", "--host-cap", "4/day"], "--min-interval there is room for 10 polls"),
        (
            ["--min-interval", "2days", "--host-cap", "4/day", "--host-cap", "h1.org=90/day"],
            "--host-cap and --min-interval there is room for 17 polls",
        ),
    ],
)
def test_a_note_names_what_binds(bounds, note, succeed, log):
    assert f"Note: within {note}" in succeed(*COMMAND, *bounds)


def test_a_timetable_too_short_for_a_poll_says_so(succeed, folder, log):
    bounds = ("--min-interval", "900days", "--schedule", "next.csv")
    assert "0 polls saved as next.csv (only 0.044 polls are due within it" in succeed(*COMMAND, *bounds)


def test_a_dash_prints_the_intervals_alone_on_standard_output(succeed, refuse, folder, log, capsys):
    from knapsolve.cli import main

    succeed(*COMMAND, "-o", "out.csv")
    assert main([*COMMAND, "-o", "-"]) == 0
    out, error = capsys.readouterr()
    assert out == (folder / "out.csv").read_text() and "The 10 polled most often" in error
    assert "--output - and --json must not be given together" in refuse(*COMMAND, "-o", "-", "--json")


def test_json_says_all_that_the_table_does(succeed, folder, log):
    document = json.loads(succeed(*COMMAND, "--json", "-o", "out.csv"))
    rows = read(folder / "out.csv")
    assert (document["n_items"], document["n_polls"], document["time_unit"]) == (40, 3040, "day")
    assert document["used"] == pytest.approx(30)
    for told, row in zip(document["intervals"], rows, strict=True):
        assert {name: str(value) for name, value in told.items() if name in ("item", "polls")} == {
            name: row[name] for name in ("item", "polls")
        }
        for name in ("interval", "rate", "rate_low", "rate_high", "freshness"):
            assert told[name] == pytest.approx(float(row[name]), rel=1e-12)
    text = succeed(*COMMAND)
    assert "3,040 polls of 40 items" in text and "The 10 polled most often" in text


def test_every_form_of_a_log_gives_the_same_intervals(succeed, folder, log):
    items, times, changed, _ = log
    succeed(*COMMAND, "-o", "out.csv")
    expected = read(folder / "out.csv")
    names = [f"https://h{k % 4}.org/{k}" for k in items]
    dates = np.datetime64("2024-01-01", "us") + np.round(times * DAY * 1e6).astype("m8[us]")
    words = ["Yes" if hit else " no" for hit in changed]
    plain = [f"{name},{date}Z,{word}" for name, date, word in zip(names, dates, words)]
    (folder / "dates.csv").write_text("\n".join(["page,at,new", *plain]))
    backwards = as_csv(items, times, changed).splitlines()
    (folder / "backwards.csv").write_text("\n".join([backwards[0], *backwards[:0:-1]]))
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"item": names, "time": dates, "changed": changed.astype(bool)})
    parquet.write_table(table, folder / "polls.parquet")
    columns = ["--item-column", "page", "--time-column", "at", "--changed-column", "new"]
    for options in (["dates.csv", *columns], ["polls.parquet"], ["backwards.csv", "--sort", "--time-unit", "day"]):
        succeed("allocate", *options, "--capacity", "30/day", "-o", "other.csv")
        other = {row["item"]: row for row in read(folder / "other.csv")}
        for row in expected:
            assert float(other[row["item"]]["interval"]) == pytest.approx(float(row["interval"]), rel=1e-6)


def test_a_timetable_of_dates_is_dates_and_starts_where_asked(succeed, folder, log):
    text = "item,time,changed\na,2024-01-01,0\nb,2024-01-01,0\na,2024-01-02,1\nb,2024-01-03,0\n"
    (folder / "polls.csv").write_text(text)
    options = ["--schedule", "next.csv", "--start", "2024-02-01", "--horizon", "2days"]
    assert "8 polls saved as next.csv" in succeed("allocate", "polls.csv", "--capacity", "4/day", *options)
    times = [row["time"] for row in read(folder / "next.csv")]
    assert times == sorted(times) and times[0].startswith("2024-02-01T0") and times[-1] < "2024-02-03"


def test_nothing_is_written_over_the_log_or_twice_into_one_file(folder, log, capsys):
    from knapsolve.cli import main

    before = (folder / "polls.csv").read_text()
    for files in (["-o", "polls.csv"], ["--schedule", "./polls.csv"], ["-o", "new.csv", "--schedule", "new.csv"]):
        assert main([*map(str, COMMAND), *files]) == 2
        assert "must be another file than" in capsys.readouterr().err
    assert (folder / "polls.csv").read_text() == before and not (folder / "new.csv").exists()


def test_what_is_never_polled_is_said(succeed, folder):
    rows = [(t, item, int(item == "a" or t == 1)) for t in range(100) for item in "abc"]
    (folder / "polls.csv").write_text("time,item,changed\n" + "".join(f"{t},{i},{c}\n" for t, i, c in rows))
    arguments = ("allocate", "polls.csv", "--capacity", "0.01/s", "--criterion", "freshness")
    assert "Note: 1 item is never polled" in succeed(*arguments)
    assert "never polled" not in succeed(*arguments, "--max-interval", "1000s")


def test_an_item_never_polled_has_no_interval_in_tables_and_documents_alike(succeed, folder):
    rows = [(t, item, int(item == "a" or t == 1)) for t in range(100) for item in "abc"]
    (folder / "polls.csv").write_text("time,item,changed\n" + "".join(f"{t},{i},{c}\n" for t, i, c in rows))
    arguments = ("allocate", "polls.csv", "--capacity", "0.01/s", "--criterion", "freshness", "-o", "out.csv", "--json")
    told = [row["interval"] for row in json.loads(succeed(*arguments))["intervals"]]
    assert told.count(None) == 1
    assert [row["interval"] for row in read(folder / "out.csv")].count("") == 1
    frame = pd.read_csv(folder / "out.csv")
    assert frame["interval"].dtype == float
    assert frame["interval"].tolist() == pytest.approx([np.nan if each is None else each for each in told], nan_ok=True)
    assert (1 / frame["interval"]).sum() == pytest.approx(0.01)
    again = as_floats(pyarrow.csv.read_csv(folder / "out.csv").column("interval"))  # as the commands read numbers
    assert np.array_equal(again, frame["interval"], equal_nan=True)


def test_milliseconds_taken_for_seconds_are_warned_of(folder, capsys):
    from knapsolve.cli import main

    rows = [f"{1_700_000_000_000 + 1000 * k},{'ab'[k % 2]},0" for k in range(20)]
    (folder / "polls.csv").write_text("\n".join(["time,item,changed", *rows]))
    assert main(["allocate", "polls.csv", "--capacity", "4/s"]) == 0
    assert "--time-unit ms for milliseconds" in capsys.readouterr().err


def test_repeated_rows_count_once_and_are_told_of(folder, capsys):
    from knapsolve.cli import main

    rows = ["a,0,0", "b,0,0", "a,1,1", "a,1,1", "b,3,0", "b,3,0", "a,4,0"]
    (folder / "polls.csv").write_text("\n".join(["item,time,changed", *rows]))
    assert main(["allocate", "polls.csv", "--capacity", "4/s", "-o", "one.csv"]) == 0
    assert "2 of 7 rows of polls.csv have item and time of another row" in capsys.readouterr().err
    (folder / "polls.csv").write_text("\n".join(["item,time,changed", *(rows[k] for k in (0, 1, 3, 4, 6))]))
    assert main(["allocate", "polls.csv", "--capacity", "4/s", "-o", "other.csv"]) == 0
    assert (folder / "one.csv").read_text() == (folder / "other.csv").read_text()


def test_of_contrary_hosts_and_weights_the_last_row_counts_with_a_warning(folder, capsys):
    from knapsolve.cli import main

    def saved(rows):
        (folder / "polls.csv").write_text("\n".join(["item,time,changed,host,weight", *rows]))
        assert main(["allocate", "polls.csv", "--capacity", "4/s", "-o", "out.csv"]) == 0
        return (folder / "out.csv").read_text(), capsys.readouterr().err

    apart, error = saved(["a,0,0,h,1", "b,0,0,k,2", "c,0,0,,1", "a,1,1,g,3", "b,3,0,k,5", "c,3,1,,1"])
    warning = "the rows of 2 items of polls.csv disagree on weight and host: an item's last row in the file counts"
    assert error == f"knapsolve: warning: {warning}\n"
    alike, error = saved(["a,0,0,g,3", "b,0,0,k,5", "c,0,0,,1", "a,1,1,g,3", "b,3,0,k,5", "c,3,1,,1"])
    assert error == "" and apart == alike
    _, error = saved(["a,0,0,h,1", "b,0,0,k,1", "a,1,1,g,1", "b,3,0,k,1"])
    assert "the rows of 1 item of polls.csv disagree on host: an item's" in error


@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive"])
def test_one_item_gets_all_within_its_bounds(estimator, succeed, refuse, folder):
    (folder / "polls.csv").write_text("item,time,changed\na,0,0\na,3,1\na,4,0\na,9,1\n")
    for bounds, interval in (((), 0.5), (("--min-interval", "20s"), 20), (("--max-interval", "1s"), 0.5)):
        options = ("--capacity", "2/s", "--rates", estimator, "-o", "out.csv", *bounds)
        succeed("allocate", "polls.csv", *options)
        assert [float(row["interval"]) for row in read(folder / "out.csv")] == pytest.approx([interval])
    message = refuse("allocate", "polls.csv", "--capacity", "2/s", "--rates", "renewal")
    assert "--rates renewal needs at least 2 different items, polls.csv holds only a" in message


def test_items_polled_once_are_taken_for_others_like(succeed, folder):
    (folder / "polls.csv").write_text("item,time,changed\na,0,0\nb,0,0\nnew,1,0\na,2,1\nb,3,0\na,4,1\n")
    text = succeed("allocate", "polls.csv", "--capacity", "4/s", "-o", "out.csv")
    assert "1 item was polled only once: it is taken" in text
    new = read(folder / "out.csv")[2]
    assert new["item"] == "new" and np.isfinite(float(new["interval"])) and new["polls"] == "1"


BAD_LOGS = {
    "clock backwards": ("item,time,changed\na,1,0\nb,2,0\na,0,1\n", "row 3 (line 4): times must ascend"),
    "no column": ("item,when,changed\na,1,0\n", "has no column 'time'"),
    "not a flag": ("item,time,changed\na,1,0\nb,2,maybe\n", "row 2 (line 3): changed must be 0 or 1"),
    "a count": ("item,time,changed\na,1,0\nb,2,3\n", "row 2 (line 3): changed must be 0 or 1"),
    "no flag": ("item,time,changed\na,1,0\nb,2,\n", "row 2 (line 3): changed must be 0 or 1"),
    "one item, backwards": ("item,time,changed\na,2,0\na,1,1\n", "row 2 (line 3): times must ascend"),
    "no second poll": ("item,time,changed\na,1,0\nb,2,1\n", "must poll some item more than once"),
    "nan": ("item,time,changed\na,nan,0\nb,2,1\n", "row 1 (line 2) has no finite time"),
    "bad weight": ("item,time,changed,weight\na,1,0,1\nb,2,0,-1\na,3,1,1\n", "no finite, non-negative weight"),
    "word for a weight": (
        "item,time,changed,weight\na,1,0,1\nb,2,0,much\na,3,1,1\n",
        "row 2 (line 3): the weight 'much' is not a number",
    ),
    "word for a count": ("item,time,changed,n_changes\na,1,0,\nb,2,1,two\n", "row 2 (line 3): the n_changes 'two' is"),
    "blank lines, breaks": (
        '\n\nitem,time,changed\n\n"a\nb",1,0\r\n\nb,2,2\n',
        "row 2 (line 8): changed must be 0 or 1 (or true, false), got '2'",
    ),
    "no weight": ("item,time,changed,weight\na,1,0,0\nb,2,0,0\na,3,1,0\n", "at least one positive weight"),
    "empty": ("", "is empty"),
    "contradiction": ("item,time,changed,n_changes\na,1,0,0\nb,2,0,\na,3,1,0\n", "row 3 (line 4) has n_changes that"),
    "half a change": (
        "item,time,changed,n_changes\na,1,0,0\nb,2,1,.5\na,3,1,1\n",
        "row 2 (line 3) has n_changes that is not whole",
    ),
    "negative age": ("item,time,changed,age\na,1,0,\nb,2,1,-1\na,3,1,1\n", "row 2 (line 3) has age that is negative"),
    "dates and words": ("item,time,changed\na,2020-01-01,0\nb,soon,1\n", "the time 'soon' is neither"),
}


@pytest.mark.parametrize("case", BAD_LOGS)
def test_a_bad_log_is_one_line_and_status_2(case, refuse, folder):
    text, message = BAD_LOGS[case]
    (folder / "log.csv").write_text(text)
    assert message in refuse("allocate", "log.csv", "--capacity", "1/s")


@pytest.mark.parametrize("kind", ["file", "pipe", "standard input", "unpacked"])
def test_a_bad_row_has_its_line_wherever_it_comes_from(kind, refuse, folder, monkeypatch):
    text, message = BAD_LOGS["blank lines, breaks"]
    source = {"standard input": "-", "unpacked": "log.csv.gz"}.get(kind, "log.csv")
    if kind == "pipe":  # it can be read once
        os.mkfifo("log.csv")
        threading.Thread(target=lambda: (folder / "log.csv").write_text(text), daemon=True).start()
    elif kind == "unpacked":
        (folder / source).write_bytes(gzip.compress(text.encode()))
    else:
        (folder / "log.csv").write_text(text)
        monkeypatch.setattr("sys.stdin", open("log.csv"))  # noqa: SIM115
    assert message in refuse("allocate", source, "--capacity", "1/s")


@pytest.mark.parametrize("source", ["log.csv", "-"])
def test_the_text_of_a_log_is_not_kept_while_its_rows_are_checked(folder, monkeypatch, source):
    (folder / "log.csv").write_text("item,time,changed\n" + "a,1,0\n" * 500_000)
    read_columns("log.csv", {"--item-column": "item"})  # which imports
    monkeypatch.setattr("sys.stdin", open("log.csv"))  # noqa: SIM115
    tracemalloc.start()
    try:
        origin, _ = read_columns(source, {"--item-column": "item"})
        most = 0.5 * (folder / "log.csv").stat().st_size
        for _ in range(500):  # the reader's threads let go of it a moment later
            if (kept := tracemalloc.get_traced_memory()[0]) < most:
                break
            sleep(0.01)
    finally:
        tracemalloc.stop()
    assert kept < most
    assert origin.row(7) == "row 8 (line 9)"
    (folder / "log.csv").unlink()
    assert origin.row(7) == ("row 8 (line 9)" if source == "-" else "row 8")


def test_where_no_file_can_be_made_what_is_piped_in_is_kept_in_memory(folder, monkeypatch):
    def refuse(*_):
        raise OSError("no space left")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    (folder / "log.csv").write_text("item,time,changed\na,1,0\n")
    monkeypatch.setattr("sys.stdin", open("log.csv"))  # noqa: SIM115
    origin, _ = read_columns("-", {"--item-column": "item"})
    assert origin.row(0) == "row 1 (line 2)"


@pytest.mark.parametrize("time", ["1e200", "-1.1e140"])
def test_times_farther_off_than_can_be_squared_are_refused(folder, refuse, time):
    (folder / "log.csv").write_text(f"item,time,changed\na,{time},0\nb,2e140,0\n")
    message = r"row 1 (line 2) has a time that is not in [-1e+140, 1e+140]"
    assert message in refuse("allocate", "log.csv", "--capacity", "1/s")
    assert message in refuse("replay", "log.csv", "--time-column", "time", "--capacity", "1/s")


def test_a_timetable_that_cannot_start_is_refused(folder, refuse, succeed):
    (folder / "log.csv").write_text("item,time,changed\na,0,0\nb,0,0\na,1e9,1\nb,2e9,0\n")
    command = ("allocate", "log.csv", "--capacity", "1/day", "--schedule", "next.csv")
    assert "0 polls saved" in succeed(*command, "--horizon", "1s")
    assert "can be added, got the log's last poll, 2e+09" in refuse(*command, "--horizon", "1ns")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--capacity", "0/day"], "--capacity must be a positive number"),
        (["--capacity", "5"], "--capacity must be polls per unit of time"),
        (["--criterion", "magic"], "--criterion must be one of"),
        (["--rates", "magic"], "--rates must be one of"),
        (["--balance", "3"], "error: --balance must be a number from 0 to 1, got 3"),
        (["--balance", "x"], "error: --balance must be a number from 0 to 1, got 'x'"),
        (["--balance", "nan"], "error: --balance must be a number from 0 to 1, got nan"),
        (["--min-interval", "soon"], "--min-interval must be a positive length of time"),
        (["--min-interval", "2days", "--max-interval", "1day"], "--min-interval must be at most --max-interval"),
        (["--max-interval", "1s"], "--max-interval needs 1.152e+05 times the polls that --capacity allows"),
        (
            ["--max-interval", "36h", "--host-cap", "h2.org=4/day"],
            "--max-interval needs 6.667 polls a day of h2.org with its 10 items, --host-cap allows 4: change one",
        ),
        (["--host-cap", "H1.org=4/day", "--host-cap", "h1.org=5/day"], "only one --host-cap can be given of h1.org"),
        (["--host-cap", "4/day", "--host-cap", "5/day"], "only one --host-cap can be given of any host"),
        (["--criterion", "freshness", "--balance", "0.5"], "--balance is of --criterion renewal: freshness has none"),
        (["--host-cap", "5"], "--host-cap must be polls per unit of time"),
        (["--host-cap", "nowhere=5/day"], "--host-cap names 'nowhere', which is no host"),
        (["--host-cap", "5/day", "--item-column", "number"], "--host-cap needs a column of hosts"),
        (["--output", "out.txt"], "--output must end in .csv"),
        (["--schedule", "new/next.csv"], "--schedule needs a folder that exists"),
        (["--horizon", "3days"], "--horizon and --start are of a timetable"),
        (["--rates", "none"], "--rates must be one of"),
        (["--schedule", "next.csv", "--horizon", "9e9days"], "give a shorter --horizon"),
        (["--schedule", "next.csv", "--start", "3"], "--start must not be before the last poll"),
        (["--weight-column", "worth"], "has no column 'worth'"),
        (["--time-unit", "parsec"], "unknown time unit"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(options, message, refuse, folder, log):
    items, times, changed, _ = log
    (folder / "polls.csv").write_text(as_csv(items, times, changed, number=items.tolist()))
    assert message in refuse(*COMMAND, *options)


@pytest.mark.parametrize("command", ["allocate", "replay"])
def test_a_unit_of_dates_is_refused(command, refuse, folder):
    (folder / "log.csv").write_text("item,time,changed\na,2024-01-01,1\nb,2024-01-02,1\n")
    message = refuse(command, "log.csv", "--capacity", "1/day", "--time-column", "time", "--time-unit", "ms")
    assert "--time-unit is of times that are numbers: those of log.csv are dates" in message


def test_rows_of_a_parquet_file_have_no_lines(refuse, folder):
    import pyarrow
    from pyarrow import parquet

    columns = {"item": ["a", "b", "a"], "time": [1, 2, 3], "changed": np.array([0, 1, 2], "M8[s]")}
    parquet.write_table(pyarrow.table(columns), folder / "log.parquet")
    message = refuse("allocate", "log.parquet", "--capacity", "1/s")
    assert "log.parquet, row 1: changed must be 0 or 1 (or true, false), got datetime" in message
