"""The command line as a user meets it: what it prints, where, and what it says to bad input."""

import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import knapsolve
from knapsolve.cli import main
from knapsolve.cli.output import print_table
from knapsolve.cli.units import parse_capacity, parse_split, parse_time, parse_unit
from knapsolve.replay import POLICIES, replay
from knapsolve.replay.comparison import default_policies
from tests.repositories import make_repository

GOOD = "item,timestamp\na,0\nb,1\na,2\na,3\nb,9\na,10\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_ok(capsys, *arguments):
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def test_replay_prints_the_numbers_of_the_library_as_json_and_nothing_else(folder, capsys):
    (folder / "log.csv").write_text(GOOD)
    text = run_ok(
        capsys,
        "replay",
        "log.csv",
        "--capacity",
        "1/s",
        "--split",
        "none",
        "--json",
        "--runs",
        3,
        "--seed",
        5,
    )
    document = json.loads(text)
    result = replay((list("abaaba"), [0, 1, 2, 3, 9, 10]), 1, n_runs=3, random_state=5)
    assert document["policies"] == result.table()
    assert (document["n_items"], document["n_changes"], document["n_polls"]) == (2, 5, 10)


def test_replay_shows_a_row_for_each_policy_and_saves_the_picture(folder, capsys):
    (folder / "log.csv").write_text(GOOD)
    (folder / "new").mkdir()
    text = run_ok(capsys, "replay", "log.csv", "--capacity", "1/s", "--plot", "new/picture.png")
    rows = [line.split()[0] for line in text.splitlines() if ("[" in line and "]" in line) or "less" in line]
    names = default_policies(True)
    assert rows == [*names, "less", *names[1:]]
    assert (folder / "new/picture.png").read_bytes()[:4] == b"\x89PNG"


def test_bundled_debian_data_need_no_file(capsys):
    text = run_ok(capsys, "replay", "debian", "--capacity", "20/day", "--policy", "uniform,lakg", "--runs", 1)
    assert "377 items, 2,416 changes from 2021-07-01 to 2023-01-01" in text
    assert "10,980 polls" in text


def test_the_same_log_in_any_form_gives_the_same_answer(folder, capsys, monkeypatch):
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
    common = ["--capacity", "2/day", "--json", "--runs", 1]
    answers = {name: json.loads(run_ok(capsys, "replay", name, *common, *own)) for name, own in calls.items()}
    monkeypatch.setattr(sys, "stdin", open(folder / "seconds.csv"))  # noqa: SIM115
    answers["-"] = json.loads(run_ok(capsys, "replay", "-", *common))
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
    "short row": ("item,timestamp\na,1\nb\n", "is malformed"),
    "no item": ("item,timestamp\na,1\n,2\n", "row 2 (line 3) has no item"),
    "no time": ("item,timestamp\na,1\nb,\n", "row 2 (line 3) has no time"),
    "other columns": (
        "page,when\na,1\n",
        "has no column 'item' (it has 'page', 'when'): say which by --item-column",
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


def refused(capsys, *arguments):
    assert main([str(a) for a in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if "━" not in line and line]
    assert len(lines) == 1 and lines[0].startswith("knapsolve: error: ")
    return lines[0]


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_line_and_status_2(case, folder, capsys):
    content, message = BAD_FILES[case]
    if content is not None:
        (folder / "log").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in refused(capsys, "replay", "log", "--capacity", "1/s")


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
def test_a_bad_option_is_one_line_and_status_2(arguments, message, folder, capsys):
    (folder / "log.csv").write_text(GOOD)
    assert message in refused(capsys, "replay", "log.csv", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command 'fly': use replay, allocate, simulate, robots, whittle, reproduce"),
        (["reproduce", "bible"], "the paper must be one of lakg"),
        (["simulate", "--polls", "0"], "--polls must be a whole number"),
        (["simulate", "--polls", "nan"], "--polls must be a whole number"),
        (["simulate", "--learner", "magic"], "error: --learner must be one of renewal,"),
        (["simulate", "--alpha", "2"], "error: --alpha must be in [0, 1], got 2"),
        (["simulate", "--beta", "nan"], "error: --beta must be finite"),
        (["simulate", "--n", "1"], "error: --n must be an integer from 2 to 1e+09, got 1"),
        (["simulate", "--jobs", "1.5"], "error: --jobs must be an integer, got 1.5"),
        (["simulate", "--environment", "mars"], "--environment must be one of"),
        (["simulate", "--scheduler", "heap"], "--scheduler must be one of"),
        (["simulate", "--update", "never"], "error: --update must be one of"),
        (["simulate", "--jobs", "0"], "--jobs must be at least 1"),
        (["simulate", "--resolution", "5"], "error: --resolution must be at least 120 for 500 materials"),
        (["simulate", "--resolution", "1000000000"], "error: --resolution must be an integer in [2, "),
        (["simulate", "--perturbations", "99999999999"], "error: --perturbations must be an integer in [0, 1"),
        (["simulate", "--switch-every", "99999999999999999999"], "error: --switch-every must be an integer in [1, "),
        (["simulate", "--n", "99999999999999999999"], "error: --n must be an integer from 2 to 1e+09, got 9999"),
    ],
)
def test_other_commands_refuse_as_plainly(arguments, message, folder, capsys):
    assert message in refused(capsys, *arguments)


def test_a_log_of_polls_is_not_replayed_as_changes(folder, capsys):
    Path("polls.csv").write_text("item,time,changed\na,1,0\nb,1,0\na,2,1\nb,3,1\n")
    assert "use knapsolve allocate" in refused(capsys, "replay", "polls.csv", "--capacity", "1/s")
    shown = refused(capsys, "replay", "polls.csv", "--capacity", "1/s", "--time-column", "time")
    assert "polls.csv is a log of polls" in shown
    Path("words.csv").write_text("item,time,changed\na,1,False\nb,1,True\na,2,True\nb,3,True\n")
    assert "log of polls" in refused(capsys, "replay", "words.csv", "--capacity", "1/s", "--time-column", "time")
    Path("changes.csv").write_text("item,time,changed\na,1,1\nb,1,1\na,9,1\nb,13,1\n")
    run_ok(capsys, "replay", "changes.csv", "--capacity", "1/s", "--time-column", "time", "--runs", "1")


def test_simulate_learns_what_is_best(folder, capsys):
    options = [
        "--n",
        20,
        "--polls",
        "2e4",
        "--runs",
        2,
        "--learner",
        "uniform,htraa",
        "--environment",
        "bernoulli",
    ]
    text = run_ok(capsys, "simulate", *options, "--json", "--plot", "s.svg")
    document = json.loads(text)
    assert document["finished"] is True
    value = {name: learner["value"][-1] for name, learner in document["learners"].items()}
    assert value["uniform"] < 0.8 < value["htraa"] < document["optimal_value"] < 1
    assert (folder / "s.svg").exists()
    assert "htraa" in run_ok(capsys, "simulate", *options)


def test_simulations_and_replays_know_the_same_policies(folder, capsys):
    (folder / "log.csv").write_text(GOOD)
    names = ",".join(POLICIES)
    replayed = json.loads(run_ok(capsys, "replay", "log.csv", "--capacity", "1/s", "--json", "--policy", names))
    options = ("--n", 8, "--polls", 2000, "--runs", 1, "--learner", names)
    simulated = json.loads(run_ok(capsys, "simulate", *options, "--json"))["learners"]
    assert [row["policy"] for row in replayed["policies"]] == list(simulated) == list(POLICIES)
    value = {name: learner["value"][-1] for name, learner in simulated.items()}
    assert value["uniform"] < value["told"] < value["optimal"] == max(value.values())


@pytest.mark.parametrize("option", ["--output", "-o"])
def test_reproduce_calls_the_papers_module_or_says_that_it_is_missing(option, folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce", types.ModuleType("knapsolve.reproduce"))
    paper = types.ModuleType("knapsolve.reproduce.robots")
    paper.run = lambda quick, output, seed: f"{quick} {output} {seed}"
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce.robots", paper)
    text = run_ok(capsys, "reproduce", "robots", "--quick", option, "there", "--seed", 4)
    assert text == "True there 4\n" and (folder / "there").is_dir()
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce.gpoks", None)
    assert "gpoks is not in this version" in refused(capsys, "reproduce", "gpoks")


def test_a_narrow_terminal_shows_intervals_below_their_estimates(monkeypatch, capsys):
    rows = [["uniform", "0.644 [0.577, 0.716]", "0.92 [0.91, 0.93]"], ["a [b]", "0.5 [0.4, 0.6]", "1"]]
    print_table(["policy", "detected share", "freshness"], rows)
    wide = capsys.readouterr().out
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", 48)
    print_table(["policy", "detected share", "freshness"], rows)
    narrow = capsys.readouterr().out
    assert "0.644 [0.577, 0.716]" in wide and "0.644\n" not in wide
    assert narrow.count("\n") == wide.count("\n") + 2 and max(map(len, narrow.splitlines())) <= 48
    assert "[0.577, 0.716]   [0.91, 0.93]" in narrow and "a [b]" in narrow


@pytest.mark.parametrize("width", [80, 60, 160])
def test_what_does_not_fit_a_terminal_comes_in_further_tables_and_nothing_is_lost(width, folder, monkeypatch, capsys):
    (folder / "log.csv").write_text(GOOD)
    command = ("replay", "log.csv", "--capacity", "1/s", "--runs", "2", "--policy", "renewal,uniform")
    words = [line.split() for line in run_ok(capsys, *command).splitlines()]
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", width)
    text = run_ok(capsys, *command)
    tables = text[text.index("policy") : text.index("Means of")]
    wanted = [word for line in words if line[:1] in (["policy"], ["less"], ["renewal"], ["uniform"]) for word in line]
    assert set(wanted) <= set(tables.split())
    assert max(map(len, tables.splitlines())) <= width
    assert tables.count("renewal  ") > 2 or width == 160


@pytest.mark.parametrize("width", [80, 60, 160])
def test_long_names_are_cut_in_the_middle_and_keep_half_of_the_width(width, monkeypatch, capsys):
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", width)
    columns = ["item", "interval (days)", "rate (a day)", "95% interval", "freshness", "polls so far"]
    names = [f"https://example.org/{'long/' * 30}page-{k}.html" for k in range(3)]
    print_table(columns, [[name, "0.1234", "0.123", "[0.12, 0.45]", "0.923", "1,234"] for name in names])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert all(value in out for value in ("(days)", "(a day)", "0.1234", "[0.12, 0.45]", "0.923", "1,234"))
    shown = [line.split()[0] for line in out.splitlines() if "…" in line]
    assert len(shown) == 3 * out.count("item") and min(map(len, shown)) >= width // 2
    assert all(each.startswith("https://ex") and each.endswith(f"page-{k % 3}.html") for k, each in enumerate(shown))


def test_ages_are_in_a_unit_of_the_largest_and_counts_of_one_are_singular(folder, capsys):
    (folder / "log.csv").write_text("item,timestamp\na,0\na,5400\nb,6000\nb,10800\n")
    options = ("--capacity", "1/h", "--split", "5500", "--runs", "1", "--policy", "uniform")
    text = run_ok(capsys, "replay", "log.csv", *options)
    assert "mean age (hours)" in text and "e+" not in text
    assert "makes 1 poll (edf)" in text and "2 items, 2 changes" in text and "(1 poll)" in text


def test_names_that_would_look_alike_when_cut_are_shown_whole(monkeypatch, capsys):
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", 60)
    names = [f"{'a' * 60}{k}{'b' * 60}" for k in range(2)]
    print_table(["item", "rate"], [[name, "1"] for name in names])
    folded = capsys.readouterr().out
    assert "…" not in folded and max(map(len, folded.splitlines())) <= 60
    assert "".join(line[:-5].strip() for line in folded.splitlines()[3:]).replace(" ", "") == "".join(names)


def test_help_is_shown_without_a_command_and_for_each(capsys):
    assert "replay" in run_ok(capsys) and "replay" in run_ok(capsys, "--help")
    for command in ("replay", "simulate", "reproduce"):
        assert "--seed" in run_ok(capsys, command, "-h")


def test_without_the_extra_there_is_one_clear_line():
    code = (
        "import sys; sys.modules['typer'] = None; import knapsolve; assert 'rich' not in sys.modules;"
        "from knapsolve.cli import main; sys.exit(main(['replay']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "knapsolve: error: the command line needs typer and rich: pip install 'knapsolve[cli]'\n"
    )


def test_ctrl_c_ends_with_status_130_and_the_finished_rows():
    arguments = ["replay", "debian", "--capacity", "50/s", "--policy", "uniform,lakg", "--runs", "1",
                 "--start", "2022-12-01", "--split", "none", "--stop", "2022-12-02T06:00"]  # fmt: skip
    done = interrupted_after(arguments, "lakg")
    assert done.returncode == 130
    assert done.stderr.rstrip().endswith("knapsolve: interrupted") and "Traceback" not in done.stderr
    assert "uniform" in done.stdout and "[" in done.stdout


@pytest.mark.parametrize(
    ("command", "status", "complaint"),
    [
        (["-m", "knapsolve", "--version"], 130, True),
        (["bin/knapsolve", "--version"], 130, True),
        (["-c", "import knapsolve"], -signal.SIGINT, False),
    ],
    ids=["the module", "the command", "a program"],
)
def test_ctrl_c_during_the_imports(tmp_path, command, status, complaint):
    """One line from the command line; a program that imports knapsolve gets its exception."""
    (tmp_path / "joblib.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "knapsolve").write_text("from knapsolve.cli import main\nraise SystemExit(main())\n")
    folders = [str(tmp_path), str(Path(knapsolve.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    if complaint:
        assert done.stderr == "knapsolve: interrupted\n"
    else:
        assert "KeyboardInterrupt" in done.stderr


def interrupted_after(arguments, sign):
    """Run the command line and press Ctrl-C when the progress bar has come to `sign`."""
    code = (
        "import sys, os, signal, knapsolve.cli.output as output; from contextlib import contextmanager\n"
        "bar = output.progress_bar\n"
        "@contextmanager\n"
        "def spy(total):\n"
        "    with bar(total) as stage:\n"
        f"        yield lambda name, before: press if name == {sign!r} else stage(name, before)\n"
        "def press(done, total): os.kill(os.getpid(), signal.SIGINT)\n"
        "output.progress_bar = spy\n"
        "from knapsolve.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )


def test_an_interrupted_document_says_that_it_is_not_finished():
    arguments = ["simulate", "--n", "8", "--polls", "3e6", "--runs", "1", "--learner", "uniform,lakg", "--json"]
    done = interrupted_after(arguments, "lakg")
    document = json.loads(done.stdout)
    assert done.returncode == 130 and document["finished"] is False and list(document["learners"]) == ["uniform"]


def test_a_picture_after_ctrl_c_says_that_policies_are_missing(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.svg"
    (tmp_path / "log.csv").write_text(GOOD)
    arguments = ["replay", str(tmp_path / "log.csv"), "--capacity", "1/s", "--policy", "uniform,lakg"]
    done = interrupted_after([*arguments, "--plot", str(picture)], "lakg")
    assert done.returncode == 130, done.stderr
    assert "interrupted: 1 of 2 policies are finished" in picture.read_text()


def test_ctrl_c_before_anything_is_finished_prints_no_table(tmp_path):
    (tmp_path / "log.csv").write_text(GOOD)
    done = interrupted_after(
        ["replay", str(tmp_path / "log.csv"), "--capacity", "1/s", "--policy", "uniform"], "uniform"
    )
    assert (done.returncode, done.stdout) == (130, "")


def test_a_reader_that_goes_away_is_no_error():
    command = [
        sys.executable,
        "-m",
        "knapsolve",
        "replay",
        "debian",
        "--capacity",
        "1/day",
        "--runs",
        "1",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    error = process.stderr.read().decode()
    assert process.wait() == 1 and "Traceback" not in error and "Exception ignored" not in error


@pytest.mark.parametrize(
    ("text", "polls", "unit"),
    [("20/day", 20, "day"), ("1,000/day", 1000, "day"), ("1,234,567.5/day", 1234567.5, "day"),
     ("5000/hour", 5000, "hour"), ("3/week", 3, "week"), ("0.5/s", 0.5, "second"),
     ("1e3 / yr", 1000, "year"), ("2/Months", 2, "month"), ("7/min", 7, "minute"), ("9/ms", 9, "millisecond")]
)  # fmt: skip
def test_capacities_are_read_as_typed(text, polls, unit):
    assert parse_capacity(text) == (polls, unit)


def test_capacity_too_small_for_a_stretch_is_told_in_dates(folder, capsys):
    rows = "a,2024-01-01\nb,2024-03-31\na,2024-06-30\n"
    (folder / "log.csv").write_text("item,timestamp\n" + rows)
    options = ["--capacity", "1/year", "--split", "2024-03-31"]
    message = refused(capsys, "replay", "log.csv", *options)
    assert "--capacity 1/year makes no poll between 2024-01-01 and 2024-03-31" in message


def test_times_after_the_year_9999_are_a_line_on_standard_error(folder, capsys):
    (folder / "log.csv").write_text("item,timestamp\na,1600000000000\nb,1600000100000\na,1600000200000\n")
    options = ["--policy", "uniform", "--runs", "1", "--json"]
    assert main(["replay", "log.csv", "--capacity", "1/min", *options]) == 0
    assert "after the year 9999: if they are finer, say so (--time-unit ms" in capsys.readouterr().err
    assert main(["replay", "log.csv", "--capacity", "1/s", "--time-unit", "ms", *options]) == 0
    assert "9999" not in capsys.readouterr().err


def test_times_and_splits_are_read_as_typed():
    assert parse_time("--start", "2.5", "day") == 2.5
    assert parse_time("--start", "1970-01-03", "day") == 2
    assert parse_time("--start", "1970-01-01T01:00:00+01:00", "second") == 0
    assert parse_split("25%", 100, 200, "day") == 125
    assert parse_split("none", 100, 200, "day") is None
    assert parse_split("1970-01-02", 0, 200, "hour") == 24
    assert parse_unit("Weeks") == "week"


def test_the_budget_may_be_polls_per_change_of_the_test_stretch(folder, capsys):
    (folder / "log.csv").write_text(GOOD)
    options = ["replay", "log.csv", "--polls-per-change", 5, "--json", "--runs", 1, "--policy", "uniform,lakg"]
    document = json.loads(run_ok(capsys, *options, "--train-share", 0.5))
    assert (document["n_changes"], document["n_polls"], document["split"]) == (2, 10, 5)
    assert [row["polls"] for row in document["policies"]] == [10, 10]
    assert document == json.loads(run_ok(capsys, *options, "--split", "5"))


def test_differences_are_from_the_baseline_and_paired(folder, capsys):
    options = ["debian", "--polls-per-change", 3, "--policy", "uniform,lakg,htraa", "--runs", 1, "--json"]
    document = json.loads(run_ok(capsys, "replay", *options, "--baseline", "lakg"))
    assert document["baseline"] == "lakg"
    assert [row["policy"] for row in document["differences"]] == ["uniform", "htraa"]
    rows = {row["policy"]: row for row in document["policies"]}
    for row in document["differences"]:
        for metric in ("detected", "detected_share", "freshness", "harmonic_penalty", "mean_age"):
            assert row[metric] == pytest.approx(rows[row["policy"]][metric] - rows["lakg"][metric], abs=1e-9)
            assert row[f"{metric}_low"] <= row[metric] <= row[f"{metric}_high"]
    low, high = (rows["uniform"][f"polls_{end}"] for end in ("low", "high"))
    assert low < document["n_polls"] < high


def test_a_repository_is_replayed(folder, capsys):
    make_repository(folder / "mine")
    text = run_ok(capsys, "replay", "--git", "mine", "--polls-per-change", 2, "--policy", "uniform", "--runs", 1)
    assert "mine: 2 items, " in text
    (folder / "none").mkdir()
    message = refused(capsys, "replay", "--git", "none", "--capacity", "1/day")
    assert "error: --git must be the folder of a git repository, got 'none': not a git repository" in message
    assert "there is no folder 'gone'" in refused(capsys, "replay", "--git", "gone", "--capacity", "1/day")
