"""Reports of papers: what is finished is saved at once, and what is missing is said."""

import re

import numpy as np
import pytest

from knapsolve.history import History
from knapsolve.reproduce.curves import Curve
from knapsolve.reproduce.progress import announce, listening
from knapsolve.reproduce.report import Claim, Figure, Report


def test_claims_are_sorted_by_what_the_numbers_say(tmp_path):
    with Report("paper", "heading", tmp_path) as report:
        report.add_claims(
            [Claim("up is up.", "it is.", np.bool_(True)), Claim("down is up.", "it is not.", False)]
        )
    held, failed = report.text().split("Claims that did not hold")
    assert "up is up." in held and "down is up." not in held and "down is up." in failed


@pytest.mark.parametrize(("error", "state"), [(KeyboardInterrupt, "INTERRUPTED"), (OSError, "STOPPED BY AN ERROR")])
def test_a_report_says_what_is_missing_until_its_end(tmp_path, error, state):
    def fails():
        yield "first line"
        assert (tmp_path / "paper.txt").read_text().startswith("NOT FINISHED; missing: Table 1, Claims\n\nheading")
        raise error

    parts = ("Figure 1", "Table 1", "Claims")
    with Report("paper", "heading", tmp_path, parts) as report:
        for text in parts:
            report.add_text(text)
    whole = (tmp_path / "paper.txt").read_text()
    assert whole == report.text() + "\n" and whole.startswith("heading")

    def again():
        with Report("paper", "heading", tmp_path, parts) as report:
            assert (tmp_path / "paper.txt").read_text() == whole
            report.add_text("Figure 1")
            report.grow(fails())

    with pytest.raises(error):
        again()
    first, *rest = (tmp_path / "paper.txt").read_text().splitlines()
    assert first == f"{state}; missing: Table 1, Claims" and rest[-1] == "first line"


def test_lines_are_announced_by_their_beginnings_and_saved_whole(tmp_path, capsys):
    with Report("paper", "heading", tmp_path, ["Table 1"]) as report:
        report.grow(["GPOKS, 9 tries    8.00 ±0.01    88.9 ±0.1", "LAKG    6.03 ±0.02"])
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^  \d:\d\d:\d\d  ", "", line) for line in lines] == ["Table 1: GPOKS, 9 tries", "Table 1: LAKG"]
    assert "8.00 ±0.01    88.9 ±0.1\nLAKG    6.03 ±0.02\n" in (tmp_path / "paper.txt").read_text(encoding="utf-8")


def test_every_line_of_a_picture_has_a_mark_of_its_own(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr("knapsolve.reproduce.report.save", lambda figure, path: drawn.append(figure))
    polls, runs = np.arange(1, 101), np.linspace(0, 1, 100) * np.ones((3, 1))
    curves = [Curve(f"line {k}", History(polls, runs / (k + 1), runs, runs[:, -1:])) for k in range(8)]
    Figure("figure 1", "title", "says", curves, {"optimal": 1.0}).draw(tmp_path / "picture.png")
    lines = [line for line in drawn[0].axes[0].lines if line.get_label().startswith("line")]
    assert len({line.get_marker() for line in lines} - {"None"}) == len(curves) == len(lines)


def test_who_listens_is_told_how_many_parts_are_done_in_place_of_lines(tmp_path, capsys):
    told = []
    with listening(lambda *what: told.append(what)), Report("paper", "heading", tmp_path, ["A", "B", "C"]) as report:
        announce("begun")
        report.add_text("A")
        report.grow(["first line", "second line"])
        announce("ending")
    assert told == [("begun", 0, 3), ("B: first line", 1, 3), ("B: second line", 1, 3), ("ending", 2, 3)]
    assert capsys.readouterr().err == ""
    announce("after")
    assert capsys.readouterr().err.endswith("  after\n")
