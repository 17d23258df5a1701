"""Shallow copies of estimators that learn on their own."""

from __future__ import annotations

import copy
from typing import Any

from knapsolve._locks import OF_THE_OBJECT


def own_copy(estimator: Any) -> Any:
    """The estimator with the same constructor parameters and a state of its own: what one learns the other does not."""
    shared = estimator.get_params(deep=False)
    twin = object.__new__(type(estimator))
    for name, value in vars(estimator).items():
        if name not in OF_THE_OBJECT:
            twin.__dict__[name] = value if name in shared else copy.deepcopy(value)
    return twin
