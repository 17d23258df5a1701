"""Real upload dates of Debian source packages."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np

from knapsolve._validation import check_real


class ChangeLog(NamedTuple):
    """Changes of many items: row k says that ``items[k]`` changed at ``times[k]``."""

    items: np.ndarray
    times: np.ndarray


COMPLETE_UNTIL = 1672531200.0  # 2023-01-01 UTC: later uploads are known for a frozen release's packages only


def load_debian_uploads(stop: float | None = COMPLETE_UNTIL) -> ChangeLog:
    """Upload dates of 377 Debian source packages, 1995 to 2026.

    Parameters
    ----------
    stop : float or None, default=2023-01-01
        Leave out uploads after this time (seconds since 1970, UTC). The default is the date up to which the
        record is complete for all packages; three of them were first uploaded after it. None gives
        everything.

    Returns
    -------
    items : ndarray of shape (n_uploads,), str
        Name of the source package.
    times : ndarray of shape (n_uploads,)
        Seconds since 1970 (UTC), ascending within each package.

    Raises
    ------
    TypeError, ValueError
        If `stop` is neither None nor a number.

    References
    ----------
    The dated entries of the packages' changelogs, which Debian installs with them.

    Examples
    --------
    >>> from knapsolve.datasets import load_debian_uploads
    >>> items, times = load_debian_uploads()
    >>> len(set(items.tolist())), items.size
    (374, 10591)
    """
    if stop is not None:
        stop = check_real("stop", stop, finite=False)
    with (
        files("knapsolve.datasets").joinpath("debian_uploads.npz").open("rb") as stream,
        np.load(stream) as table,
    ):
        names, items, times = table["names"], table["items"], table["times"].astype(np.float64)
    keep = slice(None) if stop is None else times <= stop
    return ChangeLog(names[items][keep], times[keep])
