"""The knapsack beyond one machine: map and sum over partitions, a few rounds of small messages, no data moved.

Every round asks the totals at some thirty prices. A partition answers with one small array (`summarise`), arrays
are added in any order (`combine`), and `Rounds` draws the next prices from the sum, until the prices that enclose
the capacity are neighbouring doubles or meet it. Then each partition writes its own amounts (`allocate`).
Any map-reduce engine serves; `solve_dask` does it with dask.

A first round looks at a few thousand items of each partition, the others at all. Around the best estimate of
the price half of the prices close in by powers of ten, so a smooth total is found in two or three rounds; the other
half divides the bracket evenly, more finely after a round that gained little, so that no total takes many more.
"""

from knapsolve.nefk.distributed.dask_arrays import DistributedResult, solve_dask
from knapsolve.nefk.distributed.partitions import Answer, Request, allocate, check, combine, summarise
from knapsolve.nefk.distributed.rounds import Rounds

__all__ = [
    "Answer",
    "DistributedResult",
    "Request",
    "Rounds",
    "allocate",
    "check",
    "combine",
    "solve_dask",
    "summarise",
]
