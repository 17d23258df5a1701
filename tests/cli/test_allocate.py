"""`knapsolve allocate`: forms of logs, files written, warnings, and one line for bad options."""

import io
import json
import re

import numpy as np
import pytest

from tests.cli.poll_logs import COMMAND, DAY, as_csv, read


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


def test_the_summary_says_the_span_that_was_read_and_large_numbers_without_exponents(succeed, folder):
    days = "item,time,changed\na,0,0\nb,1,0\na,2,1\na,159,0\na,160,1\nb,160,1\n"
    (folder / "polls.csv").write_text(days)
    as_days = ("allocate", "polls.csv", "--capacity", "1e6/day", "--time-unit", "day")
    text = succeed(*as_days)
    assert "polls.csv: 6 polls of 2 items over 160 days; 3 of the 4" in text
    assert "At 1,000,000/day copies should be" in text
    document = json.loads(succeed(*as_days, "--json"))
    assert (document["span"], document["capacity"]) == (160, "1000000/day")
    text = succeed("allocate", "polls.csv", "--capacity", "1234567.5/day")
    assert "6 polls of 2 items over 2.7 minutes;" in text and "At 1,234,567.5/day copies" in text
    text = succeed("allocate", "polls.csv", "--capacity", "1e9/day", "--time-unit", "ms")
    assert "6 polls of 2 items over 160 milliseconds;" in text
    (found,) = re.findall(r"and ([\d,]+) polls a day find a change", text)
    assert int(found.replace(",", "")) > 10_000
    bounded = succeed("allocate", "polls.csv", "--capacity", "9e9/day", "--min-interval", "50ms")
    assert "there is room for 3,456,000 polls a day only" in bounded and "At 3,456,000/day copies" in bounded


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


def test_a_timetable_that_first_catches_up_says_so(succeed, folder):
    rows = [f"{k},{time},{time}" for time in (0, 1) for k in range(48)]  # all overdue at 20, hours
    (folder / "polls.csv").write_text("\n".join(["item,time,changed,host", *(f"{row},h" for row in rows)]))
    command = ("allocate", "polls.csv", "--capacity", "96/day", "--time-unit", "hour", "--schedule", "next.csv")
    text = succeed(*command, "--start", "20")
    assert "96 polls saved as next.csv; the first 12 hours go to the 48 items overdue at its start\n" in text
    first = read(folder / "next.csv")[:48]
    assert len({row["item"] for row in first}) == 48 and 31 < float(first[-1]["time"]) < 32
    capped = succeed(*command, "--start", "20", "--host-cap", "9/hour")
    assert "; at least the first 12 hours go to the 48 items" in capped
    text = succeed(*command, "--start", "20", "--horizon", "12h")
    assert "48 polls saved as next.csv; all go to the 48 items overdue" in text
    assert "96 polls saved as next.csv\n" in succeed(*command)  # from the last poll on: nothing is overdue


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


def test_a_timetable_that_cannot_start_is_refused(folder, refuse, succeed):
    (folder / "log.csv").write_text("item,time,changed\na,0,0\nb,0,0\na,1e9,1\nb,2e9,0\n")
    command = ("allocate", "log.csv", "--capacity", "1/day", "--schedule", "next.csv")
    assert "0 polls saved" in succeed(*command, "--horizon", "1s")
    assert "can be added, got the log's last poll, 2e+09" in refuse(*command, "--horizon", "1ns")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("rates", ["mle", "renewal"])
def test_a_terminal_is_told_what_takes_so_long(rates, succeed, folder, log, monkeypatch):
    monkeypatch.setattr("knapsolve.cli.allocation.LONG", 1_000)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    succeed(*COMMAND, "--rates", rates, "-o", "out.csv", "--schedule", "next.csv")
    stages = ["reading polls.csv", "learning rates from 3,000 polls", "finding the intervals of 40 rates"]
    stages += ["learning  "] * (rates == "renewal") + ["saving the intervals", "making the timetable"]
    places = [terminal.getvalue().index(stage) for stage in stages]
    assert places == sorted(places)
    for stderr in (io.StringIO(), None):
        monkeypatch.setattr("sys.stderr", stderr)
        succeed(*COMMAND, "--rates", rates, "-o", "out.csv")
        assert stderr is None or stderr.getvalue() == ""
