"""Groups of items and their caps as the user gives them, checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import knapsolve._core.group_layout as group_layout
from knapsolve._core.threads import work_through
from knapsolve._validation import calls_from_outside, check_column, refuse_masks, shown
from knapsolve.nefk.criterion import LARGEST
from knapsolve.nefk.passes import parts_of

SPARSE, MOST_SPARSE = 16, 1 << 22  # times as many groups as items, of more than so many, that one cap is not made for


def check_groups(groups: Any, n_jobs: int) -> tuple[NDArray[np.intp], int]:
    """Group of each item (n,), -1 for none, in whatever integers it is given, and the last one that occurs."""
    refuse_masks("groups", groups, ": -1 in place of each makes it an item of no group")
    try:
        given = np.asarray(groups)
    except ValueError:  # lists of several lengths
        given = np.asarray(groups, dtype=object)
    if given.shape == (0,) and given.dtype == np.float64:  # an empty list
        given = np.empty(0, dtype=np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        allowed = "a one-dimensional array of integers, -1 for no group"
        raise TypeError(f"groups must be {allowed}, got {_strange_group(given)}")
    first, last = _extent_of(given, n_jobs)
    if last > np.iinfo(np.intp).max:
        position = int(np.argmax(given))
        raise ValueError(f"groups must be -1 for no group, as signed integers, got {last} at position {position}")
    if first < -1:
        raise ValueError(f"groups must be at least -1 (no group), got {first} at position {int(np.argmin(given))}")
    return given, last


def _extent_of(groups: NDArray[Any], n_jobs: int) -> tuple[int, int]:
    """The least and the largest of the groups' numbers, and of -1."""
    if groups.dtype == np.intp and groups.flags.c_contiguous:
        find = group_layout.extent
    else:
        def find(part: NDArray[Any]) -> tuple[int, int]:  # both at once, while they are in the cache
            return int(part.min()), int(part.max())

    ends = work_through(lambda part: find(groups[part]), list(parts_of(groups.size)), n_jobs)
    return min((low for low, _ in ends), default=-1), max((high for _, high in ends), default=-1)


def _strange_group(given: NDArray[Any]) -> str:
    """What is no integer, or no one-dimensional array, and what makes it one."""
    if given.ndim != 1:
        return f"an array of shape {given.shape}"
    if given.dtype.kind == "f":
        if np.isnan(given).any():
            return f"nan at position {int(np.isnan(given).argmax())}: fill it with -1, and make all integers"
        is_whole = np.isfinite(given) & (given == np.floor(given))
        if not is_whole.all():
            return f"{given[is_whole.argmin()]} at position {int(is_whole.argmin())}"
    for place, value in enumerate(given.tolist() if given.dtype.kind == "O" else ()):
        if value is None:
            return f"None at position {place}"  # what no group is has been said
        if not isinstance(value, int):
            return f"{shown(value)} at position {place}: pandas.factorize(names)[0] makes integers"
    makes = "groups.astype(int)" if given.dtype.kind in "fOb" else "pandas.factorize(names)[0]"
    return f"{given.dtype}, of which {makes} makes integers"


def check_caps(group_caps: Any, groups: Any, last: int, n: int, n_jobs: int = 1) -> NDArray[np.float64]:
    """Cap of each group (g,) of n items, of which groups (n,) up to the `last` occur; one number is every group's."""
    _check_labels(group_caps)
    checked = check_column("group_caps", group_caps, low=0.0, high=LARGEST, or_infinite=True, n_jobs=n_jobs)
    if isinstance(checked, float) and last >= max(SPARSE * n, MOST_SPARSE):
        allowed = "numbered without gaps (pandas.factorize does it) where group_caps is one number"
        raise ValueError(f"groups must be {allowed}, got {last} among {n} items")
    caps = np.full(last + 1, checked) if isinstance(checked, float) else np.asarray(checked, dtype=np.float64)
    if last >= len(caps):
        got = f"got {len(caps)}, and group {last} at position {int(np.argmax(groups == last))}"
        raise ValueError(f"group_caps must be one number or have an entry for each group, {last + 1} or more, {got}")
    if _are_by_item(caps, groups, last):
        taken = f"entry k is that of group k; of caps by item, give one for each of the {last + 1} groups"
        message = f"group_caps has an entry for each of the {n} items, alike within groups; {taken}"
        warnings.warn(message, UserWarning, stacklevel=calls_from_outside())
    return caps


def _are_by_item(caps: NDArray[np.float64], groups: NDArray[np.integer], last: int) -> bool:
    """Whether caps (g,) are as many as the items, more than the groups, and the same for all items of each, but not for
    those of all groups that have several: they were likely meant by item.
    """
    if len(caps) != groups.size or last + 1 >= len(caps) or (caps == caps[0]).all():
        return False
    of_group, count = np.full(last + 1, np.nan), np.zeros(last + 1, dtype=np.int64)
    for part in parts_of(groups.size):
        named = groups[part] >= 0
        names, some = groups[part][named].astype(np.intp), caps[part][named]
        before = of_group[names]
        of_group[names] = some
        if ((before != some) & ~np.isnan(before)).any() or (of_group[names] != some).any():
            return False
        np.add.at(count, names, 1)
    several = of_group[count > 1]
    return bool((several[1:] != several[:-1]).any())


def _check_labels(caps: Any) -> None:
    """Caps go by group number: other labels of a pandas Series would be lost without a word."""
    if isinstance(caps, Mapping):
        raise TypeError(f"group_caps must be a number or an array in order of the groups' numbers, got {shown(caps)}")
    labels = getattr(caps, "index", None)
    if labels is not None and not callable(labels) and not np.array_equal(labels, np.arange(len(labels))):
        allowed = "in order of the groups' numbers: caps.sort_index() by number, caps.reindex(names).to_numpy() by name"
        raise ValueError(f"group_caps must be {allowed}, got a Series of labels like {shown(next(iter(labels)))}")
