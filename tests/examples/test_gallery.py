"""Every script of the gallery runs and draws, and its lines can be told apart in grey."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sizes import slow_and_full

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
LONG = ("plot_rivals",)  # some thirty policies, at three budgets
RUN = """
import itertools, runpy, sys, matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
plt.show = lambda *args, **kwargs: None
runpy.run_path(sys.argv.pop(1), run_name="__main__")
grey = lambda line: sum(part * weight for part, weight in zip(to_rgb(line.get_color()), (0.299, 0.587, 0.114)))
look = lambda line: (line.get_linestyle(), line.get_marker(), line.get_linewidth())
for ax in (ax for k in plt.get_fignums() for ax in plt.figure(k).axes):
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    for one, other in itertools.combinations(lines, 2):
        if look(one) == look(other) and abs(grey(one) - grey(other)) < 0.12:
            sys.exit(f"{one.get_label()!r} and {other.get_label()!r} look alike in grey")
sys.exit(0 if plt.get_fignums() and all(plt.figure(k).axes for k in plt.get_fignums()) else "no figure was drawn")
"""


def test_there_are_scripts():
    assert len(SCRIPTS) > 10


@pytest.mark.parametrize("script", slow_and_full(
    [path for path in SCRIPTS if path.stem not in LONG], [path for path in SCRIPTS if path.stem in LONG]
), ids=lambda path: path.stem)  # fmt: skip
def test_a_script_runs_and_draws(script, tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(script)],
        cwd=tmp_path, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [], "it leaves no files where it was run"
