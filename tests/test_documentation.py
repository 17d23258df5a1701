"""What the README and the pages of docs/ show runs, and prints what they say."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def as_a_reader(tmp_path, monkeypatch):
    """Blocks draw and read tables; whatever they leave goes where nothing else is."""
    pytest.importorskip("pandas")
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def test_there_are_pages():
    assert len(PAGES) > 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    names = {}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if ">>>" not in block:
            exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_sessions_of_a_page_print_what_it_says(page):
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed == 0
