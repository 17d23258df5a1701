"""Every script of the gallery runs and draws."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
RUN = """
import runpy, sys, matplotlib.pyplot as plt
plt.show = lambda *args, **kwargs: None
runpy.run_path(sys.argv.pop(1), run_name="__main__")
sys.exit(0 if plt.get_fignums() and all(plt.figure(k).axes for k in plt.get_fignums()) else "no figure was drawn")
"""


def test_there_are_scripts():
    assert len(SCRIPTS) > 10


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_draws(script, tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(script)],
        cwd=tmp_path, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [], "it leaves no files where it was run"
