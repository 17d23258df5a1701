"""`knapsolve replay`: the numbers of the library, logs in any form, and one line for bad ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from knapsolve.cli import main
from knapsolve.replay import replay
from knapsolve.replay.comparison import default_policies
from tests.cli.conftest import GOOD
from tests.repositories import make_repository


@pytest.mark.parametrize(
    ("options", "same", "counts"),
    [
        ((), {}, (2, 2, 5)),
        pytest.param(("--split", "30%"), {"split": "30%"}, (2, 2, 7), marks=pytest.mark.slow),
        pytest.param(("--split", "none"), {"split": None}, (2, 5, 10), marks=pytest.mark.slow),
    ],
)
def test_replay_prints_the_numbers_of_the_library_as_json_and_nothing_else(folder, succeed, options, same, counts):
    """And both count the same stretch, by default too."""
    (folder / "log.csv").write_text(GOOD)
    text = succeed("replay", "log.csv", "--capacity", "1/s", *options, "--json", "--runs", 3, "--seed", 5)
    document = json.loads(text)
    result = replay((list("abaaba"), [0, 1, 2, 3, 9, 10]), 1, **same, n_runs=3, random_state=5)
    assert document["policies"] == result.table()
    assert (document["split"], document["stop"]) == (result.split, result.stop)
    assert (document["n_items"], document["n_changes"], document["n_polls"]) == counts


def test_replay_shows_a_row_for_each_policy_and_saves_the_picture(folder, succeed):
    (folder / "log.csv").write_text(GOOD)
    (folder / "new").mkdir()
    text = succeed("replay", "log.csv", "--capacity", "1/s", "--plot", "new/picture.png")
    rows = [line.split()[0] for line in text.splitlines() if ("[" in line and "]" in line) or "minus" in line]
    names = default_policies(True)
    assert rows == [*names, "minus", *names[1:]]
    assert (folder / "new/picture.png").read_bytes()[:4] == b"\x89PNG"


def test_bundled_debian_data_need_no_file(succeed):
    text = succeed("replay", "debian", "--capacity", "20/day", "--policy", "uniform,lakg", "--runs", 1)
    assert "377 items, 2,416 changes from 2021-07-01 to 2023-01-01" in text
    assert "10,980 polls" in text


@pytest.mark.slow
def test_the_same_log_in_any_form_gives_the_same_answer(folder, succeed, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    items, days = list("abaaba"), [0, 1, 2, 3, 9, 10]
    dates = np.datetime64("2020-03-01") + np.array(days)
    plain = "item,timestamp\n" + "".join(f"{i},{d}\n" for i, d in zip(items, days))
    (folder / "days.csv").write_text(plain)
    seconds = "".join(f"{i},{d * 86400}\n" for i, d in zip(items, days))
    (folder / "seconds.csv").write_text("item,timestamp\n" + seconds)
    plain_dates = "".join(f"{i},{d},x\n" for i, d in zip(items, dates))
    (folder / "dates.csv").write_text("\ufeffpage,when,extra\n" + plain_dates)
    zoned = "".join(f"{i}, {d}T02:00:00+02:00 \n" for i, d in zip(items, dates))
    (folder / "zoned.csv").write_text("item,timestamp\n" + zoned)
    table = pyarrow.table({"item": items, "timestamp": dates.astype("datetime64[ms]")})
    parquet.write_table(table, folder / "log.parquet")
    table = pyarrow.table({"item": items, "timestamp": dates.astype("datetime64[ns]")})
    parquet.write_table(table, folder / "ns.parquet")
    table = pyarrow.table({"item": items, "timestamp": dates})
    parquet.write_table(table, folder / "dates.parquet")
    shuffled = plain.splitlines()
    (folder / "shuffled.csv").write_text("\n".join([shuffled[0], *reversed(shuffled[1:])]))
    calls = {
        "days.csv": ["--time-unit", "day"],
        "seconds.csv": [],
        "dates.csv": ["--item-column", "page", "--time-column", "when"],
        "zoned.csv": [],
        "log.parquet": [],
        "ns.parquet": [],
        "dates.parquet": [],
        "shuffled.csv": ["--time-unit", "d", "--sort"],
    }
    common = ["--capacity", "2/day", "--json", "--runs", 1, "--policy", "uniform,renewal,rates"]
    answers = {name: json.loads(succeed("replay", name, *common, *own)) for name, own in calls.items()}
    monkeypatch.setattr("sys.stdin", open(folder / "seconds.csv"))  # noqa: SIM115
    answers["-"] = json.loads(succeed("replay", "-", *common))
    for name, answer in answers.items():
        rows = without_ages(answer["policies"])
        assert rows == without_ages(answers["days.csv"]["policies"])
        assert answer["n_polls"] == 10
        scale = 1 if name in ("days.csv", "shuffled.csv") else 86400
        ages = [row["mean_age"] / scale for row in answer["policies"]]
        assert ages == pytest.approx([row["mean_age"] for row in answers["days.csv"]["policies"]], rel=1e-12)


def without_ages(rows):
    """What does not depend on the unit of time."""
    return [{key: value for key, value in row.items() if "age" not in key} for row in rows]


BAD_FILES = {
    "missing": (None, "there is no file"),
    "empty": ("", "is empty"),
    "header alone": ("item,timestamp\n", "holds no rows"),
    "one item": ("item,timestamp\na,1\na,2\n", "log must hold at least 2 different items, it holds only a"),
    "unsorted": (
        "item,timestamp\na,1\nb,2\na,0\n",
        "row 3 (line 4): times must ascend within each item, got 0 after 1",
    ),
    "word for a time": (
        "item,timestamp\na,1\nb,x\n",
        "row 2 (line 3): the time 'x' is neither a number nor an ISO date",
    ),
    "nan": ("item,timestamp\na,1\nb,nan\n", "row 2 (line 3) has no finite time"),
    "infinite": ("item,timestamp\na,1\nb,-inf\n", "row 2 (line 3) has no finite time"),
    "short row": ("item,timestamp\na,1\n\nb\n", "is malformed: row 2 (line 4) has 1 value, the header 2"),
    "long row": ("item,timestamp\n\"a\nb\",1\nb,2,3\n", "is malformed: row 2 (line 4) has 3 values, the header 2"),
    "cut short": (gzip.compress(b"item,timestamp\na,1\nb,2\n")[:30], "cannot be unpacked (gzip)"),
    "no item": ("item,timestamp\na,1\n,2\n", "row 2 (line 3) has no item"),
    "no time": ("item,timestamp\na,1\nb,\n", "row 2 (line 3) has no time"),
    "other columns": (
        "page,when\na,1\n",
        "has no columns 'item' and 'timestamp' (it has 'page', 'when'): say which by --item-column and --time-column",
    ),
    "twice a column": ("item,timestamp,item\na,1,b\n", "more than one column 'item'"),
    "semicolons": ("item;timestamp\na;1\n", "first line must be a header, and commas must separate"),
    "no header": ("a,2020-01-01\nb,2020-01-02\n", "first line must be a header, and commas must separate"),
    "bad date": ("item,timestamp\na,2020-01-01\nb,2020-13-01\n", "the time '2020-13-01' is neither"),
    "dates and numbers": (
        "item,timestamp\na,2020-01-01\nb,7\n",
        "the time '7' is a number, but others are dates",
    ),
    "one moment": ("item,timestamp\na,5\nb,5\n", "all changes have the same time"),
    "binary": (b"\xff\xfe\x00\x01\n\n", "is not a CSV file in UTF-8"),
    "not parquet": (b"PAR1 nonsense", "is a malformed Parquet file"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_line_and_status_2(case, folder, refuse):
    content, message = BAD_FILES[case]
    if content is not None:
        (folder / "log").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in refuse("replay", "log", "--capacity", "1/s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capacity", "0/day"], "--capacity must be a positive number of polls"),
        (["--capacity", "-3/day"], "--capacity must be a positive number of polls"),
        (["--capacity", "nan/day"], "--capacity must be a positive number of polls"),
        (["--capacity", "inf/day"], "--capacity must be a positive number of polls"),
        (["--capacity", "20"], "--capacity must be polls per unit of time, such as 20/day"),
        (["--capacity", "many/day"], "--capacity must be polls per unit of time"),
        (["--capacity", "20/fortnight"], "--capacity has the unknown time unit 'fortnight': use nanosecond,"),
        (["--capacity", "1/year"], "--capacity 1/year makes no poll between 0 seconds and 5 seconds"),
        (["--capacity", "1/year", "--split", "none"], "makes no poll between 0 seconds and 10 seconds"),
        (["--capacity", "1,00/s"], "--capacity must be polls per unit of time"),
        (["--capacity", "1e300/s"], "--capacity must be from 1e-100 to 1e+100 polls a second, got '1e300/s'"),
        (["--capacity", "1e20/s"], "error: --capacity must make 1 to 2**53 polls from 5 to 10, got 1e+20"),
        ([], "one of --capacity (such as 20/day) and --polls-per-change must be given"),
        (["--capacity", "1/s", "--polls-per-change", "3"], "only one of --capacity and --polls-per-change can be"),
        (["--polls-per-change", "0"], "--polls-per-change must be a positive number, got 0"),
        (["--polls-per-change", "nan"], "--polls-per-change must be a positive number"),
        (["--polls-per-change", "0.01"], "error: --polls-per-change must make 1 to 2**53 polls from 5 to 10, got 0.01"),
        (["--capacity", "1/s", "--train-share", "1"], "--train-share must lie between 0 and 1"),
        (["--capacity", "1/s", "--train-share", ".5", "--split", "3"], "only one of --split and --train-share"),
        (["--capacity", "1/s", "--baseline", "magic"], "--baseline must be one of renewal,"),
        (["--capacity", "1/s", "--git", "."], "exactly one change log must be given"),
        (["--capacity", "1/s", "--time-unit", "m"], "--time-unit has the unknown time unit 'm'"),
        (["--capacity", "1/s", "--policy", "magic"], "--policy must be one of renewal,"),
        (["--capacity", "1/s", "--policy", "told", "--split", "none"], "error: --split must be given for policy"),
        (["--capacity", "1/s", "--split", "0%"], "--split must lie between 0% and 100%"),
        (["--capacity", "1/s", "--split", "1.2.3%"], "--split must lie between 0% and 100%"),
        (["--capacity", "1/s", "--split", "11"], "--split must lie between 0 seconds and 10 seconds"),
        (["--capacity", "1/s", "--split", "soon"], "--split must be a number of seconds or an ISO date"),
        (["--capacity", "1/s", "--start", "nan"], "--start must be finite"),
        (["--capacity", "1/s", "--start", "12"], "--start must be before the last change at 10 seconds, got 12 s"),
        (["--capacity", "1/s", "--stop", "0"], "--stop must be after the first change at 0 seconds, got 0 s"),
        (["--capacity", "1/s", "--start", "7", "--stop", "5"], "--stop must be after --start, got 5 seconds after 7"),
        (["--capacity", "1/s", "--start", "11", "--stop", "20"], "log.csv holds no changes after 15.5 seconds and up"),
        (["--capacity", "1/s", "--scheduler", "heap"], "error: --scheduler must be one of edf, random; got 'heap'"),
        (["--capacity", "1/s", "--seed", "-1"], "error: --seed must be a non-negative integer, got -1"),
        (["--capacity", "1/s", "--runs", "0"], "error: --runs must be a positive integer, got 0"),
        (["--capacity", "1/s", "--runs", "x"], "error: --runs must be a positive integer, got 'x'"),
        (["--polls-per-change", "x"], "error: --polls-per-change must be a number, got 'x'"),
        (["--capacity", "1/s", "--plot", "picture.doc"], "--plot must end in one of"),
        (["--capacity", "1/s", "--plot", "log.csv/picture.png"], "cannot write the picture"),
        (["--capacity", "1/s", "--plot", "new/picture.png"], "--plot needs a folder that exists, there is no"),
        (["--capacity", "1/s", "--item-column", "timestamp"], "must differ"),
        (["--capacity", "1/s", "--bogus"], "No such option"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(arguments, message, folder, refuse):
    (folder / "log.csv").write_text(GOOD)
    assert message in refuse("replay", "log.csv", *arguments)


def test_a_log_of_polls_is_not_replayed_as_changes(folder, succeed, refuse):
    Path("polls.csv").write_text("item,time,changed\na,1,0\nb,1,0\na,2,1\nb,3,1\n")
    assert "use knapsolve allocate" in refuse("replay", "polls.csv", "--capacity", "1/s")
    shown = refuse("replay", "polls.csv", "--capacity", "1/s", "--time-column", "time")
    assert "polls.csv is a log of polls" in shown
    Path("words.csv").write_text("item,time,changed\na,1,False\nb,1,True\na,2,True\nb,3,True\n")
    assert "log of polls" in refuse("replay", "words.csv", "--capacity", "1/s", "--time-column", "time")
    Path("changes.csv").write_text("item,time,changed\na,1,1\nb,1,1\na,9,1\nb,13,1\n")
    succeed("replay", "changes.csv", "--capacity", "1/s", "--time-column", "time", "--policy", "uniform")


def test_ages_are_in_a_unit_of_the_largest_and_counts_of_one_are_singular(folder, succeed):
    (folder / "log.csv").write_text("item,timestamp\na,0\na,5400\nb,6000\nb,10800\n")
    options = ("--capacity", "1/h", "--split", "5500", "--runs", "1", "--policy", "uniform")
    text = succeed("replay", "log.csv", *options)
    assert "mean age (hours)" in text and "e+" not in text
    assert "makes 1 poll (edf)" in text and "2 items, 2 changes" in text and "(1 poll)" in text


def test_capacity_too_small_for_a_stretch_is_told_in_dates(folder, refuse):
    rows = "a,2024-01-01\nb,2024-03-31\na,2024-06-30\n"
    (folder / "log.csv").write_text("item,timestamp\n" + rows)
    options = ["--capacity", "1/year", "--split", "2024-03-31"]
    message = refuse("replay", "log.csv", *options)
    assert "--capacity 1/year makes no poll between 2024-01-01 and 2024-03-31" in message


def test_times_after_the_year_9999_are_a_line_on_standard_error(folder, capsys):
    (folder / "log.csv").write_text("item,timestamp\na,1600000000000\nb,1600000100000\na,1600000200000\n")
    options = ["--policy", "uniform", "--runs", "1", "--json"]
    assert main(["replay", "log.csv", "--capacity", "1/min", *options]) == 0
    assert "after the year 9999: if times are finer, say so (--time-unit ms for" in capsys.readouterr().err
    assert main(["replay", "log.csv", "--capacity", "1/s", "--time-unit", "ms", *options]) == 0
    assert "9999" not in capsys.readouterr().err


def test_the_budget_may_be_polls_per_change_of_the_test_stretch(folder, succeed):
    (folder / "log.csv").write_text(GOOD)
    options = ["replay", "log.csv", "--polls-per-change", 5, "--json", "--runs", 1, "--policy", "uniform,lakg"]
    document = json.loads(succeed(*options, "--train-share", 0.5))
    assert (document["n_changes"], document["n_polls"], document["split"]) == (2, 10, 5)
    assert [row["polls"] for row in document["policies"]] == [10, 10]
    assert document == json.loads(succeed(*options, "--split", "5"))


def test_differences_are_from_the_baseline_and_paired(folder, succeed):
    options = ["debian", "--polls-per-change", 3, "--policy", "uniform,lakg,htraa", "--runs", 1, "--json"]
    document = json.loads(succeed("replay", *options, "--baseline", "lakg"))
    assert document["baseline"] == "lakg"
    assert [row["policy"] for row in document["differences"]] == ["uniform", "htraa"]
    rows = {row["policy"]: row for row in document["policies"]}
    for row in document["differences"]:
        for metric in ("detected", "detected_share", "freshness", "harmonic_penalty", "mean_age"):
            assert row[metric] == pytest.approx(rows[row["policy"]][metric] - rows["lakg"][metric], abs=1e-9)
            assert row[f"{metric}_low"] <= row[metric] <= row[f"{metric}_high"]
    low, high = (rows["uniform"][f"polls_{end}"] for end in ("low", "high"))
    assert low < document["n_polls"] < high


def test_a_repository_is_replayed(folder, succeed, refuse):
    make_repository(folder / "mine")
    text = succeed("replay", "--git", "mine", "--polls-per-change", 2, "--policy", "uniform", "--runs", 1)
    assert "mine: 2 items, " in text
    (folder / "none").mkdir()
    message = refuse("replay", "--git", "none", "--capacity", "1/day")
    assert "error: --git must be the folder of a git repository, got 'none': not a git repository" in message
    assert "there is no folder 'gone'" in refuse("replay", "--git", "gone", "--capacity", "1/day")
