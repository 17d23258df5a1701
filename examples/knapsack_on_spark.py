"""
The knapsack on Spark
=====================

Map and reduce are plain functions, so `mapInPandas` can call them: each round sends some prices to the partitions
and adds up one small array from each; then every partition writes its own amounts. Without Spark the same generator
functions run over a list of data frames, as shown at the end.
"""

import functools

import numpy as np
import pandas as pd

from knapsolve.criteria import Freshness
from knapsolve.nefk.distributed import Rounds, allocate, combine, summarise


def summaries(request):
    """For ``frame.mapInPandas(summaries(request), "price int, total double, low double, slope double")``."""

    def run(batches):
        parts = [summarise(Freshness(b["rate"].to_numpy()), request, weights=b["weight"].to_numpy()) for b in batches]
        if parts:
            table = functools.reduce(combine, parts)
            yield pd.DataFrame(
                {"price": range(len(table)), "total": table[:, 0], "low": table[:, 1], "slope": table[:, 2]}
            )

    return run


def amounts(answer):
    """For ``frame.mapInPandas(amounts(answer), "rate double, weight double, amount double")``."""

    def run(batches):
        for b in batches:
            given = allocate(Freshness(b["rate"].to_numpy()), answer, weights=b["weight"].to_numpy())
            yield b.assign(amount=given)

    return run


def add_up(rows, size):
    """The driver's reduce over the rows that come back (``toPandas()``), one block of `size` rows per partition."""
    blocks = rows[["total", "low", "slope"]].to_numpy().reshape(-1, size, 3)
    return functools.reduce(combine, blocks)


def solve(frames, capacity):
    """The driver. With Spark: replace the two list comprehensions by ``frame.mapInPandas(...).toPandas()``."""
    rounds = Rounds(Freshness(1.0), capacity)
    while rounds.answer is None:
        rows = pd.concat([part for frame in frames for part in summaries(rounds.request)(iter([frame]))])
        rounds.update(add_up(rows, len(rounds.request.prices) + 2))
    return pd.concat([part for frame in frames for part in amounts(rounds.answer)(iter([frame]))]), rounds


generator = np.random.default_rng(0)
frames = [
    pd.DataFrame({"rate": generator.exponential(size=5000), "weight": generator.exponential(size=5000)})
    for _ in range(4)
]
shared, rounds = solve(frames, capacity=6000.0)
print(f"{rounds.n_rounds} rounds, price {rounds.answer.price:.6f}, total {shared['amount'].sum():.9f}")
