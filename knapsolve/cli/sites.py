"""Sites and their rates out of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from knapsolve._identifiers import factorize
from knapsolve.cli.columns import read_columns
from knapsolve.cli.source import Source
from knapsolve.cli.values import check_numbers, refuse_rows


@dataclass
class Sites:
    """Sites as read: names (n,), rates (n,) a step."""

    names: list[str]
    arrival_rate: np.ndarray
    decay_rate: np.ndarray


def read_sites(source: str, site_column: str | None, arrival_column: str, decay_column: str) -> Sites:
    """Read sites and their rates; ValueError or OSError in words if that cannot be done."""
    wanted = {"--arrival-column": arrival_column, "--decay-column": decay_column}
    wanted["--site-column"] = site_column or "site"
    optional = () if site_column else ("--site-column",)
    name, columns = read_columns(source, wanted, optional=optional, hint=" (without one, an example is shown)")
    arrival = _rates(name, columns["--arrival-column"], arrival_column)
    decay = _rates(name, columns["--decay-column"], decay_column)
    refuse_rows(name, arrival < 0, f"has a negative {arrival_column}")
    refuse_rows(name, decay <= 0, f"has a {decay_column} that is not positive")
    if "--site-column" not in columns:
        return Sites([str(row) for row in range(1, arrival.size + 1)], arrival, decay)
    codes, _ = factorize(columns["--site-column"])
    refuse_rows(name, codes < 0, "has no site")
    again = np.ones(codes.size, dtype=bool)
    again[np.unique(codes, return_index=True)[1]] = False
    refuse_rows(name, again, "has the site of an earlier row")
    return Sites([str(each) for each in columns["--site-column"].to_pylist()], arrival, decay)


def _rates(name: Source, raw: Any, column: str) -> np.ndarray:
    """A column of finite numbers."""
    numbers = check_numbers(name, raw, column)
    refuse_rows(name, ~np.isfinite(numbers), f"has no finite {column}")
    return numbers
