"""What all tests of the command line share: a folder to stand in, and runs that go well or are refused."""

import pytest

from knapsolve.cli import main
from tests.cli.poll_logs import as_csv, poll_log

GOOD = "item,timestamp\na,0\nb,1\na,2\na,3\nb,9\na,10\n"  # changes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def log(folder):
    """A log of polls, saved as polls.csv."""
    items, times, changed, rates = poll_log()
    (folder / "polls.csv").write_text(as_csv(items, times, changed))
    return items, times, changed, rates


@pytest.fixture
def succeed(folder, capsys):
    """Run a command; its standard output."""

    def run(*arguments):
        assert main([str(a) for a in arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refuse(folder, capsys):
    """Run a command that must end with one line on standard error and status 2; that line."""

    def run(*arguments):
        assert main([str(a) for a in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = [line for line in err.splitlines() if line]
        assert line.startswith("knapsolve: error: ")
        return line

    return run
