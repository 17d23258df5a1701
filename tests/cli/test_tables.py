"""Tables on terminals of any width: nothing is lost, and names stay readable."""

import pytest

from knapsolve.cli.output import print_table
from tests.cli.conftest import GOOD


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
def test_what_does_not_fit_a_terminal_comes_in_further_tables_and_nothing_is_lost(width, folder, monkeypatch, succeed):
    (folder / "log.csv").write_text(GOOD)
    command = ("replay", "log.csv", "--capacity", "1/s", "--runs", "2", "--policy", "renewal,uniform")
    words = [line.split() for line in succeed(*command).splitlines()]
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", width)
    text = succeed(*command)
    tables = text[text.index("policy") : text.index("Means of")]
    wanted = [word for line in words if line[:1] in (["policy"], ["minus"], ["renewal"], ["uniform"]) for word in line]
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


def test_names_that_would_look_alike_when_cut_are_shown_whole(monkeypatch, capsys):
    monkeypatch.setattr("knapsolve.cli.output.WIDTH_WHEN_PIPED", 60)
    names = [f"{'a' * 60}{k}{'b' * 60}" for k in range(2)]
    print_table(["item", "rate"], [[name, "1"] for name in names])
    folded = capsys.readouterr().out
    assert "…" not in folded and max(map(len, folded.splitlines())) <= 60
    assert "".join(line[:-5].strip() for line in folded.splitlines()[3:]).replace(" ", "") == "".join(names)
