"""The command line as a whole: help, unknown commands, what is missing, and how papers are reproduced."""

import io
import itertools
import re
import subprocess
import sys
import types

import pytest

from knapsolve.reproduce.progress import advance, announce, begin


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
        (["simulate", "--learner", "lakg", "--update", "reward-inaction"], "--update is of htraa: name it by"),
        (["simulate", "--balance", "0.5"], "--balance is of renewal: name it by --learner, got 0.5"),
        (["simulate", "--learner", "uniform", "--resolution", "50"], "--resolution is of lakg and htraa: name"),
        (["simulate", "--polls", "1e12"], "--polls makes 16,000,000,000,000 polls in all, at most 1e+12 are allowed"),
        (["whittle", "--steps", "2" + 15 * "0"], "--steps makes 2,000,000,000,000,000 crawls in all, at most 1e+12"),
        (["replay", "debian", "--capacity", "1e5/s", "--policy", "uniform"], "--capacity makes 110,160,000,000,100"),
        (["simulate", "--jobs", "0"], "--jobs must be at least 1"),
        (["simulate", "--resolution", "5"], "error: --resolution must be at least 120 for 500 materials"),
        (["simulate", "--resolution", "1000000000"], "error: --resolution must be an integer in [2, "),
        (["simulate", "--perturbations", "99999999999"], "error: --perturbations must be an integer in [0, 1"),
        (["simulate", "--switch-every", "99999999999999999999"], "error: --switch-every must be an integer in [1, "),
        (["simulate", "--n", "99999999999999999999"], "error: --n must be an integer from 2 to 1e+09, got 9999"),
    ],
)
def test_other_commands_refuse_as_plainly(arguments, message, folder, refuse):
    assert message in refuse(*arguments)


@pytest.mark.parametrize("option", ["--output", "-o"])
def test_reproduce_calls_the_papers_module_or_says_that_it_is_missing(option, folder, succeed, refuse, monkeypatch):
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce", types.ModuleType("knapsolve.reproduce"))
    paper = types.ModuleType("knapsolve.reproduce.robots")
    paper.run = lambda quick, output, seed: f"{quick} {output} {seed}"
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce.robots", paper)
    text = succeed("reproduce", "robots", "--quick", option, "there", "--seed", 4)
    assert text == "True there 4\n" and (folder / "there").is_dir()
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce.gpoks", None)
    assert "gpoks is not in this version" in refuse("reproduce", "gpoks")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_reproduce_shows_a_bar_of_its_parts_on_a_terminal_and_lines_elsewhere(folder, succeed, monkeypatch):
    def run(quick, output, seed):
        begin(4)
        announce("the first figure")
        advance(3)
        announce("the fourth figure")
        advance(4)
        return "the text"

    paper = types.ModuleType("knapsolve.reproduce.robots")
    paper.run = run
    monkeypatch.setitem(sys.modules, "knapsolve.reproduce.robots", paper)
    monkeypatch.setenv("TERM", "xterm")
    streams = Terminal(), io.StringIO()
    for stream in streams:
        monkeypatch.setattr("sys.stderr", stream)
        assert succeed("reproduce", "robots") == "the text\n"
    bar, lines = (stream.getvalue() for stream in streams)
    assert re.search(r"all done .*100%.* 4 parts in", bar.splitlines()[-2])
    assert lines == "  0:00:00  the first figure\n  0:00:00  the fourth figure\n"


def test_help_is_shown_without_a_command_and_for_each(succeed):
    assert "replay" in succeed() and "replay" in succeed("--help")
    for command in ("replay", "simulate", "reproduce"):
        assert "--seed" in succeed(command, "-h")


@pytest.mark.slow
def test_without_the_extra_there_is_one_clear_line():
    code = (
        "import sys; sys.modules['typer'] = None; import knapsolve; assert 'rich' not in sys.modules;"
        "from knapsolve.cli import main; sys.exit(main(['replay']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "knapsolve: error: the command line needs typer and rich: pip install 'knapsolve[cli]'\n"


def test_paragraphs_of_help_are_as_wide_as_the_terminal(succeed, monkeypatch):
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
        for command in ("allocate", "replay", "whittle", "robots"):
            lines = [line.strip() for line in succeed(command, "--help").splitlines()]
            lines = lines[: next(k for k, line in enumerate(lines) if line.startswith("╭"))]
            for line, following in itertools.pairwise(lines):
                assert not line or not following or len(f"{line} {following.split()[0]}") > width - 3, line
