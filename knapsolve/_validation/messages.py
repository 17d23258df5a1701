"""How error messages show a value and say what is allowed."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np


def shown(value: Any) -> str:
    """A value as it stands in an error message, on one line: numpy's scalars as Python's, long ones cut short."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}..."


def interval(low: float, high: float, low_open: bool, high_open: bool, finite: bool) -> str:
    """Say in words which interval is allowed."""
    prefix = "finite and " if finite else ""
    if low == 0 and high == math.inf:
        return prefix + ("positive" if low_open else "non-negative")
    if high == math.inf and low == -math.inf:
        return "finite" if finite else "a number"
    if high == math.inf:
        return f"{prefix}{'greater than' if low_open else 'at least'} {low:g}"
    if low == -math.inf:
        return f"{prefix}{'less than' if high_open else 'at most'} {high:g}"
    return f"in {'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"


def calls_from_outside() -> int:
    """How many calls up, from who calls this, the package was called."""
    frame, calls = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("knapsolve", "sklearn"):
        frame, calls = frame.f_back, calls + 1
    return calls
