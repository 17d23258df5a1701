import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest
from matplotlib.image import imread

from knapsolve.reproduce.robots import run


@pytest.mark.slow
def test_tables_stand_beside_the_papers_with_its_misprints_marked(tmp_path):
    text = run(output=tmp_path)
    first, second, captions = (
        text.split(f"{head} (ours | paper)")[1] for head in ("Table 1", "Table 2", "Figures 6 to 8")
    )
    assert first.split("Table 2")[0].count("*") == 27  # N_iter of all rows, and nothing else
    assert second.split("Figures")[0].count("*") == 5  # two costs and three N_max
    assert "*" not in captions.split("A star")[0]
    assert " 0.08156| 0.12020*" in second
    assert "Table 2: C_d of" in text and (tmp_path / "robots.txt").read_text() == text + "\n"
    pictures = sorted(tmp_path.glob("*.png"))
    assert len(pictures) == 7
    for path in pictures:
        assert np.ptp(imread(path)) > 0.5


def test_a_quick_run_has_every_third_row():
    text = run(quick=True)
    assert "Table 2: C_d of" not in text, "the rows that the note names are not shown"
    assert len(text.split("Table 2")[0].strip().splitlines()) == 2 + 9
