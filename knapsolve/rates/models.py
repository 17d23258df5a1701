"""What an estimator of change rates knows, in a form that grows, copies and pickles: a log or a filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve.rates.filter_model import FilterModel
from knapsolve.rates.log_model import LogModel

ESTIMATORS = ("mle", "recursive", "bayes", "multiplicative")


def make_model(
    estimator: str,
    memory: float | None,
    gain: float,
    evidence_limit: float | None,
    prior: str | tuple[float, float],
    rate_range: tuple[float, float] | None,
) -> Any:
    """An empty model; parameters are checked."""
    lasting = np.inf if memory is None else float(memory)
    if estimator == "mle":
        return LogModel(lasting, prior)
    unlimited = 0.0 if memory is None else np.inf  # 0: until rates turn out not to last
    limit = unlimited if evidence_limit is None else float(evidence_limit)
    return FilterModel(estimator, lasting, float(gain), limit, rate_range)
