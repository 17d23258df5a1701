"""What users call unchanged and changed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from knapsolve._validation import refuse_masks, shown


def outcomes_of(y: Any, classes: Any, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Both labels in order, and for each poll which of them it has (n,); anything else is left for check_poll_log."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: y must say whether there was a change")
    refuse_masks("y", y)
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        return (np.array([0, 1]) if known is None else known), values  # check_poll_log warns
    if values.dtype.kind == "c" or values.ndim != 1 or values.size == 0:
        return (np.array([0, 1]) if known is None else known), values
    if values.dtype.kind in "biuf" and (known is None or np.array_equal(known, [0, 1])):  # the usual labels, fast
        changed = values == 1
        if (changed | (values == 0)).all() and (classes is None or np.array_equal(np.unique(classes), [0, 1])):
            return (np.array([0, 1], dtype=values.dtype) if known is None else known), changed.astype(np.int8)
    check_classification_targets(values)
    first = known is None and classes is None
    if known is None:
        known = np.unique(values) if classes is None else np.unique(np.asarray(classes))
        if np.isin(known, [0, 1]).all() and known.dtype.kind in "biuf":
            known = np.array([0, 1], dtype=known.dtype)
    if known.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y must hold 0 and 1, "
            f"or two labels, got {known.size} of them"
        )
    if known.size < 2:
        raise ValueError(f"y must hold 0 and 1, or labels of two classes, got one class only, {shown(known[0])}")
    if first and not np.isin(known, [0, 1]).all():
        warnings.warn(
            f"y of {shown(known[1])} is taken for changed and {shown(known[0])} for unchanged, as they sort; "
            "give 0 and 1 if that is wrong",
            stacklevel=4,
        )
    if not np.isin(values, known).all():
        wrong = values[~np.isin(values, known)][0]
        raise ValueError(f"y must hold the labels {known.tolist()}, got {wrong!r}")
    return known, (values == known[1]).astype(np.int8)
