"""A change log out of a git repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from knapsolve.cli.inputs import Log
from knapsolve.datasets import from_git_log


def read_git(folder: Path) -> Log:
    """Changes of the repository's files, from the first commit to the last; ValueError if there are too few."""
    items, times = from_git_log(folder)
    if np.unique(items).size < 2:
        raise ValueError(f"{folder} must hold at least 2 different files, it holds only {items[0]!r}")
    return Log(items, times, "second", float(times.min()), float(times.max()))
