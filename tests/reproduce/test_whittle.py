"""The reproduction of the 4-site example prints what is so."""

import re

import pytest

from knapsolve.reproduce.whittle import optimum, run, uniform_random


def test_optimum_is_what_the_whittle_policy_earns():
    low, high = optimum(10)
    assert low == pytest.approx(471.3825180449, abs=1e-7)
    assert high == pytest.approx(471.3825180449, abs=1e-7)


def test_uniform_random_earns_the_known_number():
    assert uniform_random() == pytest.approx(398.8811, abs=5e-5)


@pytest.mark.slow
def test_table_and_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    table = run(quick=True, output=tmp_path)
    rows = {line[:44].strip(): line[44:].split() for line in table.splitlines() if re.search(r"\d\.\d{10}", line)}
    assert float(rows["Whittle index policy, 1 crawl"][0]) == pytest.approx(471.3825180449, abs=1e-9)
    assert rows["Whittle index policy, 1 crawl"][1] == "283"
    assert float(rows["Whittle index policy, lambda = 150"][0]) == pytest.approx(282.83, abs=5e-3)
    assert float(rows["always site 1"][0]) == pytest.approx(179.7910, abs=5e-5)
    assert (tmp_path / "whittle.txt").read_text() == table + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "whittle.txt",
        "whittle_crawls.png",
        "whittle_index.png",
        "whittle_learning.png",
    ]
