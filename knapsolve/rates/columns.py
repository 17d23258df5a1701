"""Columns by material from what users give: numbers, arrays, mappings or labelled Series, and names of groups."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from knapsolve._validation import (
    calls_from_outside,
    check_real,
    check_vector,
    refuse_masks,
    refuse_stamps,
    refuse_texts,
    shown,
)

SPARSE = 4  # times as many groups as materials from which on they are numbered anew


def _is_labelled(value: Any) -> bool:
    """Whether this is a pandas Series whose labels are not positions."""
    index = getattr(value, "index", None)
    if index is None or callable(index) or getattr(value, "ndim", 0) != 1:  # lists have a method of that name
        return False
    labels = np.asarray(index)
    return not (labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(labels.size)))


def _by_label(name: str, value: Any, materials: np.ndarray | None = None) -> Any:
    """A labelled Series as a mapping; anything else as it is. Mappings must name one of the materials, if given."""
    if _is_labelled(value):
        _check_unique(name, value)
        value = dict(zip(value.index.tolist(), value))
    if materials is not None and isinstance(value, Mapping) and value and value.keys().isdisjoint(materials.tolist()):
        raise _strangers(name, next(iter(value)))
    return value


def _check_unique(name: str, series: Any) -> None:
    if not series.index.is_unique:
        raise ValueError(f"{name} must have each label of its index once")


def _strangers(name: str, label: Any) -> ValueError:
    allowed = "must go by the materials, or by position (.to_numpy())"
    return ValueError(f"{name} {allowed}, got none of them, but labels like {shown(label)}")


def per_material(name: str, value: Any, materials: np.ndarray, default: float, **allowed: Any) -> Any:
    """`value` as a float, or as an array (n,) in the order of `materials`; mappings go by identifier."""
    if value is None:
        return default
    value = _by_label(name, value, materials)
    if isinstance(value, Mapping):
        value = [value.get(m, default) for m in materials.tolist()]
    refuse_stamps(name, value, are_rates=True)
    refuse_texts(name, value)
    if not isinstance(value, list) and np.ndim(value) == 0:
        return float(check_vector(name, np.atleast_1d(value), **allowed)[0])
    return check_vector(name, value, size=materials.size, **allowed)


def group_columns(groups: Any, caps: Any, materials: np.ndarray) -> tuple[Any, Any]:
    """Group of each material (n,), -1 for none, and caps (n_groups,); labels are numbered in order of the caps."""
    if groups is None and caps is None:
        return None, None
    if groups is None or caps is None:
        raise ValueError("groups and group_caps must be given together")
    if isinstance(groups, str | bytes) or not (isinstance(groups, Mapping) or hasattr(groups, "__len__")):
        allowed = "an array or a mapping of the materials' groups, not a column's name"
        raise TypeError(f"groups must be {allowed}, got {shown(groups)}")
    refuse_masks("groups", groups)
    caps = _by_label("group_caps", caps)
    is_one, is_named = np.ndim(caps) == 0 and not isinstance(caps, Mapping), isinstance(caps, Mapping)
    numbers = _as_array(None if isinstance(groups, Mapping) or _is_labelled(groups) else groups)
    if numbers.dtype.kind in "iu" and numbers.shape == (materials.size,) and int(numbers.min()) >= -1 and not is_named:
        n_groups = int(numbers.max()) + 1
        if is_one and n_groups <= SPARSE * materials.size:
            return numbers, np.full(n_groups, _check_caps([caps])[0])
        if not is_one and n_groups <= len(caps):
            return numbers, _check_caps(caps)
    codes, found = _factorize(groups, materials)
    if len(codes) != materials.size:
        raise ValueError(f"groups must have {materials.size} entries, got {len(codes)}")
    if is_one:
        caps, is_named = dict.fromkeys((label for label in found if not _is_none(label)), caps), True
    number = {name: k for k, name in enumerate(caps if is_named else range(len(caps)))}
    table = np.array([*(number.get(label, -1) for label in found), -1], dtype=np.intp)
    strange = [found[k] for k in np.flatnonzero(table[:-1] < 0) if not _is_none(found[k])]
    if strange and not is_named:
        allowed = f"below the number of group_caps, {len(caps)}, or -1 (names ask for a mapping of caps by name)"
        raise ValueError(f"groups must be {allowed}, got {shown(strange[0])}")
    if strange:
        others = f" and {len(strange) - 1} others" if len(strange) > 1 else ""
        message = f"groups names {shown(strange[0])}{others}, for which group_caps has no cap: taken as no group"
        warnings.warn(message, UserWarning, stacklevel=calls_from_outside())
    numbers, checked = table[codes], _check_caps(caps)
    return numbers, checked[: max(int(numbers.max()) + 1, 1)] if is_named else checked  # others have no materials


def _as_array(groups: Any) -> np.ndarray:
    """Groups as an array, of objects if they are lists of several lengths."""
    try:
        return np.asarray(groups)
    except ValueError:
        return np.asarray(groups, dtype=object)


def _check_caps(caps: Any) -> np.ndarray:
    """Caps (n_groups,); a message about one by name says whose it is, as there are no positions."""
    refuse_texts("group_caps", list(caps.values()) if isinstance(caps, Mapping) else caps)
    if not isinstance(caps, Mapping):
        return check_vector("group_caps", caps, low=0.0, finite=False)
    try:
        return check_vector("group_caps", list(caps.values()), low=0.0, finite=False)
    except (ValueError, TypeError):
        for name, cap in caps.items():
            check_real(f"group_caps[{shown(name)}]", cap, low=0.0, finite=False)
        raise


def _factorize(groups: Any, materials: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Numbers (n,) of the materials' groups, -1 for none, and what each is called."""
    if hasattr(groups, "factorize"):  # a pandas Series, which does it ten times as fast
        codes, names = groups.factorize()
        if not _is_labelled(groups):
            return codes, names.tolist()
        _check_unique("groups", groups)
        where = groups.index.get_indexer(materials)
        if codes.size and (where < 0).all():
            raise _strangers("groups", groups.index[0])
        _warn_of_missing(materials[where < 0])
        return np.where(where < 0, -1, np.append(codes, -1)[where]), names.tolist()
    groups = _by_label("groups", groups, materials)
    if isinstance(groups, Mapping):
        labels = [groups.get(m) for m in materials.tolist()]
        _warn_of_missing([m for m in materials.tolist() if m not in groups])
    else:
        given = _as_array(groups)
        if given.dtype.kind in "iu" and given.ndim == 1:
            found, codes = np.unique(given, return_inverse=True)
            return codes, found.tolist()
        labels = np.asarray(groups, dtype=object).tolist()
    strange = next((label for label in labels if not isinstance(label, Hashable)), None)
    if strange is not None:
        raise TypeError(f"groups must be one name or number of each material, got {shown(strange)}")
    names = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(names.__getitem__, labels), np.intp, len(labels)), list(names)


def _warn_of_missing(materials: Any) -> None:
    """Warn of materials that a mapping of groups does not name: None says that there is no group."""
    if len(materials):
        others = f" and {len(materials) - 1} others" if len(materials) > 1 else ""
        message = f"groups does not name {shown(materials[0])}{others}: taken as no group (None says so)"
        warnings.warn(message, UserWarning, stacklevel=calls_from_outside())


def _is_none(label: Any) -> bool:
    """Whether a label says that there is no group: None, -1 or NaN."""
    if type(label) is str:
        return False
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label == -1 or label != label
