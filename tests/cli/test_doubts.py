"""What the commands say of logs that can be read, but hardly as they were meant; of others they say nothing."""

import numpy as np
import pytest

from knapsolve.cli import main
from knapsolve.cli.time_doubts import warn_of_unit
from tests.cli.poll_logs import DAY, as_csv, poll_log

SMALL = "item,time,changed\na,0,0\nb,0,1\na,1,1\nb,2,0\na,3,1\n"
YEAR = 365.25 * DAY


@pytest.fixture
def said(folder, capsys):
    """What is said on standard error of a log that is read."""

    def run(text, *options, command="allocate"):
        (folder / "log.csv").write_text(text)
        more = ("--policy", "uniform", "--runs", 1) if command == "replay" else ()
        assert main([command, "log.csv", *map(str, (*options, *more))]) == 0
        return capsys.readouterr().err

    return run


def a_log(factor, start=0.0):
    """The log of 100 days, its times in days times a factor."""
    items, times, changed, _ = poll_log()
    return as_csv(items, start + factor * times, changed)


@pytest.mark.parametrize(
    ("factor", "start", "options", "what", "better"),
    [
        (1, 0, [], "took 1.7 minutes, at --capacity they would take 100 days: if", "d for days"),
        (24, 0, [], "took 40 minutes, at --capacity they would take 100 days: if", "h for hours"),
        (1440, 0, ["day"], "took 394 years, at --capacity they would take 100 days: if", "min for minutes"),
        (DAY, 0, ["ms"], "took 2.4 hours, at --capacity they would take 100 days: if", "s for seconds"),
        (0.1 * DAY, 1.7e9, ["ms"], "since 1970 the times of log.csv all lie in January 1970", "s for seconds"),
        (0.1 * DAY * 1e3, 0, [], "took 27 years, at --capacity they would take 10 days", "ms for milliseconds"),
        (DAY * 1e3, 0, [], "the times of log.csv span 274 years: if times are finer", "ms for milliseconds"),
        (DAY * 1e3, 1.7e12, [], "since 1970 the times of log.csv are after the year 9999", "ms for milliseconds"),
        (DAY * 1e6, 1.7e15, ["ms"], "are after the year 9999: if times are finer", "us for microseconds"),
        (DAY, 1.7e9, ["day"], "are after the year 9999: if times are finer", "s for seconds"),
    ],
)
def test_times_that_are_absurd_in_their_unit_are_one_line(factor, start, options, what, better, said):
    unit = ["--time-unit", *options] if options else []
    line = said(a_log(factor, start), "--capacity", "300/day" if factor == 0.1 * DAY * 1e3 else "30/day", *unit)
    assert line.startswith("knapsolve: warning: as ") and line.count("\n") == 1
    assert what in line and f"say so (--time-unit {better})" in line


@pytest.mark.parametrize(
    ("factor", "start", "options", "capacity"),
    [
        (DAY, 0, [], "30/day"),
        (DAY, 1.7e9, [], "30/day"),
        (DAY, 1.7e9, [], "10/min"),  # 480 times what it was
        (DAY, 1.7e9, [], "3/month"),
        (1, 0, ["day"], "1/year"),
        (1.7e12, 0, ["ns"], "10/s"),
        (DAY * 1e3, 1.7e12, ["ms"], "30/day"),
        (36.0, 0, [], "0.1/s"),  # an hour of sensors, in seconds
        (36e3, 0, ["ms"], "1/s"),
        (36e3, 1.5e9, ["ms"], "1/s"),  # since the machine started
        (400, 0, [], "5/min"),
        (0.3, 0, [], "100/s"),  # half a minute
        (50, 0, ["year"], "1/year"),  # of rocks
        (36.0, 1.7e9, [], "1/year"),  # an hour of sensors, and a plan for years
    ],
)
def test_nothing_is_said_of_plausible_times(factor, start, options, capacity, said):
    unit = ["--time-unit", *options] if options else []
    assert said(a_log(factor, start), "--capacity", capacity, *unit) == ""


def test_dates_are_in_no_doubt(said):
    items, times, changed, _ = poll_log()
    dates = np.datetime_as_string((1e6 * times).astype("M8[us]"))  # 1.7 minutes
    assert said(as_csv(items, dates, changed), "--capacity", "3/month") == ""


def test_a_replay_doubts_the_unit_of_its_times_too(said):
    times = 1_000 * YEAR * np.linspace(0, 1, 50)
    text = "item,timestamp\n" + "".join(f"{'ab'[k % 2]},{time}\n" for k, time in enumerate(times))
    line = said(text, "--polls-per-change", 2, command="replay")
    assert line.startswith("knapsolve: warning: as seconds the times of log.csv span 1,000 years: if times are finer")
    assert said(text, "--polls-per-change", 2, "--time-unit", "us", command="replay") == ""


def test_a_stretch_without_end_or_length_is_no_reason_to_stop(capsys):
    warn_of_unit("log", 0.0, 0.0, "day")
    warn_of_unit("log", 3.0, 3.0, "second", 1e300)
    assert capsys.readouterr().err == ""
    warn_of_unit("log", -1e140, 1e140, "year")
    assert "after the year 9999" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("header", "said_of_it"),
    [
        ("Weight,HOST", "'Weight' and 'HOST' of log.csv are not used: to use them, say --weight-column Weight --ho"),
        ("weights,n-changes", "'n-changes' and 'weights' of log.csv are not used: to use them, say --n-changes-co"),
        ("minutes,  ages", "'  ages' of log.csv is not used: to use it, say --age-column '  ages'"),
        ("weight,Weight", ""),
        ("host,weight", ""),
        ("weighting,hostile", ""),
    ],
)  # fmt: skip
def test_an_optional_column_that_is_nearly_there_is_one_line(header, said_of_it, said):
    rows = SMALL.splitlines()
    text = "\n".join([f"{rows[0]},{header}", *(f"{row},1,2" for row in rows[1:])])
    line = said(text, "--capacity", "1/s")
    assert line.startswith(f"knapsolve: warning: {said_of_it}") if said_of_it else line == ""
    assert line.count("\n") == bool(said_of_it)


def test_what_is_said_of_a_column_is_how_to_use_it(said, succeed):
    text = "item,time,changed,Weight\na,0,0,3\nb,0,1,1\na,1,1,3\nb,2,0,1\na,3,1,3\n"
    command = said(text, "--capacity", "1/s").partition("say ")[2].split()
    assert command == ["--weight-column", "Weight"]
    weighted = succeed("allocate", "log.csv", "--capacity", "1/s", *command, "--json")
    assert weighted != succeed("allocate", "log.csv", "--capacity", "1/s", "--json")
    assert said(text, "--capacity", "1/s", *command) == ""


def test_rows_merged_by_quotes_that_stand_alone_are_one_line(said):
    assert said(SMALL + '"a,4,0\nb,5,1\nc",6,0\n', "--capacity", "1/s") == (
        "knapsolve: warning: log.csv, row 6 (line 7): 'item' holds a line break, after 'a,4,0': if the quotes around "
        "it stand alone, the rows between them are taken for one\n"
    )
    assert "after 'd': if" in said("time,changed,item\n0,0,a\n1,1,a\n2,0,\"d\n3,1,a\n4,0,\"\n", "--capacity", "1/s")
    text = 'item,timestamp\na,1\nb,2\n"a,3\nb,4\na",5\nb,6\n'
    assert "log.csv, row 3 (line 4): 'item' holds a line break" in said(text, "--capacity", "1/s", command="replay")


def test_rows_lost_within_any_value_are_one_line(said):
    text = 'item,time,changed,note\na,0,0,"5 inches\nb,1,1,\nc,2,1,\na,3,1,6"\na,4,1,"Hi, you\nthere"\n'
    assert said(text, "--capacity", "1/s") == (
        "knapsolve: warning: log.csv, row 1 (line 2): 'note' holds a line break, after '5 inches': if the quotes "
        "around it stand alone, the rows between them are taken for one\n"
    )
    rows = "".join(f"b,{k},1,\n" for k in range(20_000))  # more than a value of csv's may hold
    assert "'note' holds a line break" in said(text.replace("b,1,1,\n", rows), "--capacity", "1/s")
    assert said(text.replace('"5 inches', "").replace('6"', ""), "--capacity", "1/s") == ""


def test_values_of_columns_that_are_not_read_may_hold_anything(said, folder, succeed):
    text = b'item,time,changed,note\na,0,0,"\xff\n"\na,1,1,\na,2,1,\n'
    (folder / "bytes.csv").write_bytes(text)
    assert "3 polls of 1 item" in succeed("allocate", "bytes.csv", "--capacity", "1/s")
    (folder / "sites.csv").write_text("site,arrival_rate,decay_rate\na,1,1\n\n\nb,2,1\n")
    assert "b" in succeed("whittle", "sites.csv")


def test_numbers_that_look_like_dates_are_one_line(said):
    line = said("item,time,changed\na,20240101,0\na,20240131,1\na,20240215,1\n", "--capacity", "1/day")
    assert line == (
        "knapsolve: warning: the times of log.csv look like dates, such as 20240101, and are read as seconds: "
        "if dates are meant, write them as 2024-01-01\n"
    )


def test_items_of_two_lines_and_empty_lines_are_in_no_doubt(said):
    assert said('item,time,changed\n"a\nb",0,0\n\n"x, y",1,0\n\n"a\nb",2,1\n"x, y",3,0\n', "--capacity", "1/s") == ""


def test_a_budget_without_a_poll_doubts_the_unit_of_numbers_alone(folder, refuse):
    (folder / "log.csv").write_text("item,timestamp\na,0\nb,30\na,90\n")
    line = refuse("replay", "log.csv", "--capacity", "20/day")
    assert line.endswith("(as seconds: if times are coarser, say so by --time-unit)")
    (folder / "log.csv").write_text("item,timestamp\na,2024-01-01\nb,2024-01-01T00:00:30\na,2024-01-01T00:01:30\n")
    assert refuse("replay", "log.csv", "--capacity", "20/day").endswith("00:00")


@pytest.mark.parametrize("name", ["time", "timestamp"])
def test_the_time_column_may_have_either_name(name, said, succeed, refuse, folder):
    for command, own in (("allocate", "time"), ("replay", "timestamp")):
        text = SMALL.replace("time", name).replace(",changed", ",changed" if command == "allocate" else ",note")
        assert said(text, "--capacity", "1/s", command=command) == ""
        (folder / "log.csv").write_text(text.replace(name, "when"))
        assert f"has no column {own!r}" in refuse(command, "log.csv", "--capacity", "1/s")
    both = "item,timestamp,time,changed\na,7,0,0\na,8,1,1\n"
    (folder / "log.csv").write_text(both)
    assert "over 1 second;" in succeed("allocate", "log.csv", "--capacity", "1/s")
    (folder / "log.csv").write_text("item,timestamp,changed,age\na,0,0,\na,1,1,0\n")
    assert "has no column 'time'" in refuse("allocate", "log.csv", "--capacity", "1/s", "--age-column", "timestamp")
    assert "has no column 'times'" in refuse("allocate", "log.csv", "--capacity", "1/s", "--time-column", "times")
