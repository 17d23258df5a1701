"""Checks of what all users of change rates have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._validation import check_real, shown
from knapsolve.rates.filter_model import HIGHEST, LOWEST


def check_rate_parameters(memory: Any, gain: Any, evidence_limit: Any, prior: Any, rate_range: Any) -> None:
    """Raise unless the parameters of an estimator of rates are as documented."""
    if memory is not None:
        check_real("memory", memory, low=LOWEST, high=HIGHEST)
    check_real("gain", gain, low=0.0, high=10.0, low_open=True)
    if evidence_limit is not None:
        check_real("evidence_limit", evidence_limit, low=0.1, high=HIGHEST)
    if not (isinstance(prior, str) and prior == "pooled"):
        check_pair("prior", prior, "'pooled' or (changes, time)")
    if rate_range is not None:
        low, high = check_pair("rate_range", rate_range, "None or (lowest, highest)")
        if not low < high:
            raise ValueError(f"rate_range must ascend, got {rate_range!r}")


def check_elapsed(gaps: np.ndarray, estimator: str) -> None:
    """Raise where an elapsed time (n,) is beyond what rates between LOWEST and HIGHEST go with; "mle" scales times."""
    beyond = (gaps > HIGHEST) | ((gaps > 0) & (gaps < LOWEST) & (estimator != "mle"))
    if beyond.any():
        where = int(np.argmax(beyond))
        allowed = f"0 or in [{LOWEST:g}, {HIGHEST:g}]"
        raise ValueError(f"elapsed must be {allowed}, got {shown(gaps[where])} at position {where}")


def check_pair(name: str, pair: Any, allowed: str) -> tuple[float, float]:
    """Return two positive numbers, or raise naming `name`."""
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise TypeError(f"{name} must be {allowed}, got {pair!r}")
    low, high = (check_real(name, each, low=LOWEST, high=HIGHEST) for each in pair)
    return low, high
