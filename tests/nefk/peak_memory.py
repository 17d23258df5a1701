"""Most memory that solves take."""

import threading
import tracemalloc

from knapsolve import solve_nefk
from knapsolve._core.threads import work_through
from knapsolve.nefk.group_passes import _tile_space


def peak_of(*arguments, **options):
    """Most memory that a solve takes beyond its arguments, in bytes."""
    tracemalloc.start()
    result = solve_nefk(*arguments, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.residual <= 1e-12
    return peak


def warm_up():
    """Make the four megabytes that a thread keeps to work in, of two threads."""
    both = threading.Barrier(2, timeout=30)
    work_through(lambda _: (both.wait(), _tile_space()), range(2), 2)
