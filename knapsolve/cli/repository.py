"""A change log out of a git repository."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from knapsolve.cli.inputs import Log
from knapsolve.datasets import from_git_log


def read_git(folder: Path) -> Log:
    """Changes of the repository's files, from the first commit to the last; ValueError if there are too few."""
    try:
        items, times = from_git_log(folder)
    except ValueError as error:
        raise ValueError(re.sub("^path(?= must )", "--git", str(error))) from error
    if np.unique(items).size < 2:
        raise ValueError(f"{folder} must hold at least 2 different files, it holds only {items[0]!r}")
    return Log(items, times, "second", float(times.min()), float(times.max()))
