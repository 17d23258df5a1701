"""`knapsolve whittle`: the numbers of the library out of any table, and plain words for bad input."""

import csv
import io
import json
import sys

import numpy as np
import pytest

from knapsolve import WhittlePolicy
from knapsolve.cli import main
from knapsolve.cli import whittle as module
from knapsolve.restless import relaxed_bound

GOOD = "site,arrival_rate,decay_rate\na,1,0.1\n[/b],2,0.2\n$c$,3,0.3\nd,0.01,2\n"
ARRIVAL, DECAY = [1, 2, 3, 0.01], [0.1, 0.2, 0.3, 2]


@pytest.mark.parametrize("block", [1, 7, 2**20])
def test_json_holds_the_numbers_of_the_library(block, succeed, folder, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    (folder / "sites.csv").write_text(GOOD)
    document = json.loads(succeed("whittle", "sites.csv", "--crawls", 2, "--steps", 301, "--max-age", 9, "--json"))
    history = WhittlePolicy(ARRIVAL, DECAY, 2, 9).simulate(301, return_crawls=True)
    assert document["reward"] == pytest.approx(history.reward.mean(), rel=1e-13)
    assert document["late_reward"] == pytest.approx(history.reward[150:].mean(), rel=1e-13)
    assert (document["upper_bound"], document["price"]) == relaxed_bound(ARRIVAL, DECAY, 2, 9)
    crawls = np.bincount(history.crawls[150:].ravel(), minlength=4)
    rows = document["policy"]
    assert [row["site"] for row in rows] == ["a", "[/b]", "$c$", "d"]
    assert [row["crawls"] for row in rows] == crawls.tolist()
    assert [row["share"] for row in rows] == pytest.approx(crawls / 302)
    assert [row["period"] for row in rows] == [151 / n if n else None for n in crawls.tolist()]
    assert rows[3]["period"] is None  # it publishes too little


def test_the_example_is_the_paper_s_and_says_so(succeed):
    text = succeed("whittle")
    assert "the example of Avrachenkov and Borkar (2019): 4 sites" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["4", "250", "0.21", "125", "25%", "4.00"] in rows
    assert text.count("471.3825") == 2


def test_tables_pictures_and_the_csv_take_any_names(succeed, folder):
    (folder / "sites.csv").write_text(GOOD)
    text = succeed("whittle", "sites.csv", "--plot", "picture.png", "-o", "sites_out.csv")
    assert "[/b]" in text and "$c$" in text and "sites without any: 1" in text
    assert (folder / "picture.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.reader(io.StringIO((folder / "sites_out.csv").read_text())))
    assert rows[0] == ["site", "arrival_rate", "decay_rate", "crawls", "share", "period"]
    assert [row[0] for row in rows[1:]] == ["a", "[/b]", "$c$", "d"] and rows[4][5] == ""


def test_only_the_sites_crawled_most_are_printed(succeed, folder):
    rates = "".join(f"{k},1\n" for k in range(1, 51))
    (folder / "sites.csv").write_text("arrival_rate,decay_rate\n" + rates)
    text = succeed("whittle", "sites.csv", "--crawls", 50, "--steps", 10)
    assert "The 20 sites crawled most, of 50; --output saves all." in text
    assert sum(line.endswith(" 1.00 ") for line in text.splitlines()) == 20


def test_the_same_sites_in_any_form_give_the_same_answer(succeed, folder, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (folder / "sites.csv").write_text(GOOD)
    (folder / "other.csv").write_text("\ufeff" + GOOD.replace("site,arrival_rate,decay_rate", "name,lam,c"))
    names = ["a", "[/b]", "$c$", "d"]
    parquet.write_table(
        pyarrow.table({"site": names, "arrival_rate": ARRIVAL, "decay_rate": DECAY}), folder / "s.parquet"
    )
    named = ["--site-column", "name", "--arrival-column", "lam", "--decay-column", "c"]
    monkeypatch.setattr(sys, "stdin", open(folder / "sites.csv"))  # noqa: SIM115
    calls = {"sites.csv": [], "other.csv": named, "s.parquet": [], "-": []}
    answers = [json.loads(succeed("whittle", name, "--json", *own)) for name, own in calls.items()]
    assert all(answer["policy"] == answers[0]["policy"] for answer in answers)


BAD_TABLES = {
    "missing": (None, "there is no file 'table' (without one, an example is shown)"),
    "empty": ("", "is empty"),
    "header alone": ("arrival_rate,decay_rate\n", "holds no rows"),
    "no column": ("arrival_rate,c\n1,1\n", "has no column 'decay_rate' (it has 'arrival_rate', 'c'): say which by"),
    "word": ("arrival_rate,decay_rate\n1,1\nx,1\n", "table, row 2 (line 3): the arrival_rate 'x' is not a number"),
    "gap": ("arrival_rate,decay_rate\n1,1\n1,\n", "table, row 2 (line 3) has no finite decay_rate"),
    "nan": ("arrival_rate,decay_rate\n1,1\nnan,1\n", "table, row 2 (line 3) has no finite arrival_rate"),
    "negative": ("arrival_rate,decay_rate\n1,1\n-2,1\n", "table, row 2 (line 3) has a negative arrival_rate"),
    "no decay": ("arrival_rate,decay_rate\n1,1\n2,0\n", "table, row 2 (line 3) has a decay_rate that is not positive"),
    "twice": ("site,arrival_rate,decay_rate\na,1,1\nb,1,1\na,1,1\n", "row 3 (line 4) has the site of an earlier row"),
    "no site": ("site,arrival_rate,decay_rate\na,1,1\n,1,1\n", "table, row 2 (line 3) has no site"),
    "two sites": ("site,site,arrival_rate,decay_rate\na,b,1,1\n", "has more than one column 'site'"),
    "overflow": ("arrival_rate,decay_rate\n1e308,1e-9\n1,1\n", "must be within the floating-point range"),
    "too few": ("arrival_rate,decay_rate\n1,1\n", "--crawls must be at most the number of sites, 1, got 2"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_one_line_and_status_2(case, refuse, folder):
    content, message = BAD_TABLES[case]
    if content is not None:
        (folder / "table").write_text(content)
    assert message in refuse("whittle", "table", "--crawls", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--crawls", "0"], "error: --crawls must be a positive integer, got 0"),
        (["--crawls", "5"], "--crawls must be at most the number of sites, 4, got 5"),
        (["--steps", "1"], "error: --steps must be an integer of at least 2, got 1"),
        (["--max-age", "0"], "error: --max-age must be a positive integer, got 0"),
        (["--max-age", "2.5"], "error: --max-age must be a positive integer, got 2.5"),
        (["--output", "table.txt"], "--output must end in .csv, got 'table.txt'"),
        (["--output", "file/table.csv"], "cannot write the table"),
        (["--plot", "picture.doc"], "--plot must end in one of"),
        (["file", "--site-column", "name"], "has no column 'name'"),
        (["file", "--site-column", "c", "--decay-column", "c"], "must differ, got 'c' for both"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(arguments, message, refuse, folder):
    (folder / "file").write_text(GOOD)
    assert message in refuse("whittle", *arguments)


def test_sites_that_publish_nothing_are_no_reason_to_fail(succeed, folder):
    (folder / "sites.csv").write_text("arrival_rate,decay_rate\n0,1\n0,2\n")
    assert json.loads(succeed("whittle", "sites.csv", "--json", "--plot", "p.svg"))["upper_bound"] == 0
    assert "upper bound" in succeed("whittle", "sites.csv")


def test_ctrl_c_ends_with_status_130_and_no_table(folder, capsys, monkeypatch):
    def press(self, n_crawls):
        raise KeyboardInterrupt

    monkeypatch.setattr(WhittlePolicy, "_chooser", press)
    assert main(["whittle"]) == 130
    out, err = capsys.readouterr()
    assert out == "" and err.rstrip().endswith("knapsolve: interrupted")
