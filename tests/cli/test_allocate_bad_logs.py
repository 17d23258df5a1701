"""`knapsolve allocate`: a bad log is one line that names the row, wherever the log comes from."""

import bz2
import csv
import gzip
import io
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from time import sleep

import pytest

from knapsolve.cli import main
from knapsolve.cli.columns import read_columns
from tests.processes import check_script

BAD_LOGS = {
    "clock backwards": ("item,time,changed\na,1,0\nb,2,0\na,0,1\n", "row 3 (line 4): times must ascend"),
    "no column": ("item,when,changed\na,1,0\n", "has no column 'time'"),
    "columns almost right": (
        "Item, time,changed\na,1,0\n",
        "has no columns 'item' and 'time' (it has 'Item', ' time', 'changed'; 'Item' and ' time' nearly match): say "
        "which by --item-column and --time-column",
    ),
    "one column almost right": (
        "items,when,Changed\na,1,0\n",
        "columns 'item', 'time' and 'changed' (it has 'items', 'when', 'Changed'; 'items' and 'Changed' nearly match):",
    ),
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
    "contrary rows": (
        "item,time,changed\nu/1,3,0\nb,2,0\nu/1,3,1\n",
        "log.csv, row 3 (line 4): changed is 1 for item 'u/1', but 0 at the same time in row 1 (line 2): "
        "keep one row for each item and time, with changed 1 if any of its rows has it",
    ),
    "whose clock": (
        "item,time,changed\nu/1,3,0\nb,2,0\nu/1,2,1\n",
        "row 3 (line 4): times must ascend within each item, got 2 after 3 in row 1 (line 2) for item 'u/1' (--sort",
    ),
    "open quote": (
        'item,time,changed\n"a\nb",1,0\n"b,2,0\nb,3,1\n',
        "log.csv, row 2 (line 4): a quote is opened there and never closed",
    ),
    "open quote in a column that is not read": (
        'item,time,changed,note\na,1,0,x\na,2,0,"y\na,3,1,z\n',
        "log.csv, row 2 (line 3): a quote is opened there and never closed",
    ),
    "open quote before a megabyte": (
        'item,time,changed\na,1,0\n"a,2,0\n' + "a,3,1\n" * 200_000,
        "log.csv, row 2 (line 3): a quote is opened there and never closed",
    ),
    "open quote in the header": ('"item,time,changed\na,1,0\n', "log.csv, line 1: a quote is opened there"),
    "dates and words": ("item,time,changed\na,2020-01-01,0\nb,soon,1\n", "the time 'soon' is neither"),
}


@pytest.mark.parametrize("case", BAD_LOGS)
def test_a_bad_log_is_one_line_and_status_2(case, refuse, folder):
    text, message = BAD_LOGS[case]
    (folder / "log.csv").write_text(text)
    assert message in refuse("allocate", "log.csv", "--capacity", "1/s")


LONG_VALUE = 'item,time,changed,note\na,0,0,"' + "x" * 200_000 + '"\nb,0,0,5" disk\n'


def test_a_long_value_whose_quote_is_closed_is_no_open_quote(succeed, refuse, folder):
    limit = csv.field_size_limit()
    (folder / "log.csv").write_text(LONG_VALUE + "a,1,1,\n")
    assert "3 polls of 2 items" in succeed("allocate", "log.csv", "--capacity", "1/s")
    (folder / "log.csv").write_text(LONG_VALUE + "a,1,2,\n")
    assert "row 3 (line 4): changed must be 0 or 1" in refuse("allocate", "log.csv", "--capacity", "1/s")
    (folder / "log.csv").write_text(LONG_VALUE + 'a,1,1,5"\n"b')
    assert "row 4 (line 5): a quote is opened" in refuse("allocate", "log.csv", "--capacity", "1/s")
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("kind", ["file", "pipe", "standard input", "unpacked", "packed input"])
def test_a_bad_row_has_its_line_wherever_it_comes_from(kind, refuse, folder, monkeypatch):
    text, message = BAD_LOGS["blank lines, breaks"]
    source = {"standard input": "-", "packed input": "-", "unpacked": "log.csv.gz"}.get(kind, "log.csv")
    if kind == "pipe":  # it can be read once
        os.mkfifo("log.csv")
        threading.Thread(target=lambda: (folder / "log.csv").write_text(text), daemon=True).start()
    elif kind == "unpacked":
        (folder / source).write_bytes(gzip.compress(text.encode()))
    elif kind == "packed input":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bz2.compress(text.encode()))))
    else:
        (folder / "log.csv").write_text(text)
        monkeypatch.setattr("sys.stdin", open("log.csv"))  # noqa: SIM115
    assert message in refuse("allocate", source, "--capacity", "1/s")


def test_values_in_another_encoding_are_told_with_their_row(refuse, folder):
    (folder / "log.csv").write_bytes("item,time,changed\n\na,0,0\ncafé,2,1\n".encode("latin-1"))
    assert "log.csv is malformed: row 2 (line 4) is not in UTF-8" in refuse("allocate", "log.csv", "--capacity", "1/s")


def test_standard_input_that_is_closed_is_told(refuse, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert "standard input is closed" in refuse("allocate", "-", "--capacity", "1/s")


def test_files_are_saved_though_standard_output_is_closed(folder, monkeypatch):
    (folder / "log.csv").write_text("item,time,changed\na,0,0\na,1,1\n")
    monkeypatch.setattr("sys.stdout", None)
    assert main(["allocate", "log.csv", "--capacity", "1/s", "-o", "out.csv"]) == 0
    sys.stdout.close()
    assert (folder / "out.csv").read_text().startswith('"item","interval"')


def test_a_warning_goes_nowhere_though_standard_error_is_closed(folder, monkeypatch, capsys):
    (folder / "log.csv").write_text("item,time,changed\na,0,0\na,1,1\na,1,1\na,2,0\n")
    monkeypatch.setattr("knapsolve.cli.allocation.LONG", 1)  # there is progress, of a log however short
    for stderr in (io.StringIO(), None):
        monkeypatch.setattr("sys.stderr", stderr)
        assert main(["allocate", "log.csv", "--capacity", "1/s", "-o", "-", "--rates", "renewal"]) == 0
        header, row = capsys.readouterr().out.splitlines()
        assert header.startswith('"item","interval"') and row.startswith('"a",')
        if stderr is not None:
            assert "item and time of another row" in stderr.getvalue()
    monkeypatch.setattr("sys.stderr", None)
    assert main(["allocate", "log.csv", "--capacity", "0/s"]) == 2
    assert capsys.readouterr().out == ""


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


def test_what_comes_by_standard_input_is_called_so(succeed, folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"item,time,changed\na,0,0\na,1,1\n")))
    assert "\nstandard input: 2 polls of 1 item" in succeed("allocate", "-", "--capacity", "1/s")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux does")
def test_a_small_parquet_file_is_read_without_threads(folder):
    """A process that ended at once, with a message, while they started was aborted: twice in 36 runs."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"item": ["a", "b"]}), folder / "log.parquet")
    script = """
    import os, sys, pyarrow.parquet
    from knapsolve.cli.columns import read_columns
    before = os.listdir("/proc/self/task")
    read_columns(sys.argv[1], {"--item-column": "item"})
    print(before == os.listdir("/proc/self/task"))
    """
    assert check_script(script, folder / "log.parquet") == "True\n"


def test_items_of_many_lines_are_read_whole_wherever_the_reader_cuts_a_long_file(succeed, folder):
    item = '"' + 100 * "a\n" + '"'  # most line breaks are within values
    rows = [f"{item},{time},{time % 2}" for time in range(20_000)]
    (folder / "log.csv").write_text("\n".join(["item,time,changed", *rows]))
    assert "20,000 polls of 1 item" in succeed("allocate", "log.csv", "--capacity", "1/s")
