"""The knapsack over dask arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knapsolve.nefk.criterion import Criterion
from knapsolve.nefk.distributed.partitions import allocate, check, combine, summarise
from knapsolve.nefk.distributed.rounds import Rounds

Array = NDArray[np.float64]

NOTHING: dict[Callable[..., Array], Callable[[Any], Array]] = {  # what a partition without items answers
    summarise: lambda request: np.zeros((len(request.prices) + 2, 3)),
    check: lambda answer: np.zeros((3, 3)),
    allocate: lambda answer: np.empty(0),
}


@dataclass(frozen=True)
class DistributedResult:
    """Like NEFKResult; `amounts` is a dask array (n,) that no one has computed yet."""

    amounts: Any
    price: float
    value: float
    kkt_residual: float
    budget_residual: float
    n_rounds: int

    @property
    def residual(self) -> float:
        """The larger of the two residuals."""
        return max(self.kkt_residual, self.budget_residual)


def solve_dask(
    criterion: Callable[[Any], Criterion],
    parameter: Any,
    capacity: float,
    *,
    weights: Any = None,
    lower: Any = None,
    upper: Any = None,
    equality: bool = True,
) -> DistributedResult:
    """Solve a knapsack whose columns are dask arrays or columns of a dask data frame.

    Parameters
    ----------
    criterion : class of knapsolve.criteria with a closed form
        For instance ``knapsolve.criteria.Freshness``; called with each partition's parameters.
    parameter : dask array or dask series of shape (n,)
        The criterion's parameter of each item. The lengths of a series' partitions are counted first; partitions may
        be empty.
    capacity : float
        What there is to share out.
    weights, lower, upper : dask array or dask series of shape (n,), float or None
        As in `solve_nefk`; in the same chunks as `parameter`.
    equality : bool, default=True
        Whether all capacity must be given out.

    Returns
    -------
    DistributedResult
        Amounts as a dask array, price, value, residuals, and rounds taken, the last of which checks the answer.
    """
    import dask
    import dask.array as da

    if not (isinstance(criterion, type) and issubclass(criterion, Criterion)):
        raise TypeError(f"criterion must be a class of knapsolve.criteria, without its parameter, got {criterion!r}")
    parameter = _as_array(parameter)
    if not isinstance(parameter, da.Array) or parameter.ndim != 1:
        raise TypeError(f"parameter must be a dask array or series of one dimension, got {type(parameter).__name__}")
    columns = {"weights": _as_array(weights), "lower": _as_array(lower), "upper": _as_array(upper)}
    for name, column in columns.items():
        if isinstance(column, da.Array) and column.chunks != parameter.chunks:
            raise ValueError(f"{name} must have the chunks of parameter, {parameter.chunks}, got {column.chunks}")
    blocks = [
        {
            "parameter": part,
            **{name: _block(column, k) for name, column in columns.items() if column is not None},
        }
        for k, part in enumerate(parameter.to_delayed().ravel())
    ]

    def everywhere(task: Callable[..., Array], *given: Any) -> list[Any]:
        return [dask.delayed(_call)(task, criterion, given, block) for block in blocks]

    def gather(parts: list[Any], join: Callable[[Array, Array], Array]) -> Array:
        while len(parts) > 1:
            pairs = [dask.delayed(join)(*parts[k : k + 2]) for k in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[2 * len(pairs) :]
        return dask.compute(parts[0])[0]

    rounds = Rounds(criterion(1.0) if criterion.__name__ != "Power" else criterion(0.5), capacity, equality)
    while rounds.answer is None:
        rounds.update(gather(everywhere(summarise, rounds.request), combine))
    answer = rounds.answer
    total, value, residual = gather(everywhere(check, answer), _join_checks)[:, 0]
    pieces = [
        da.from_delayed(part, (size,), dtype=np.float64)
        for part, size in zip(everywhere(allocate, answer), parameter.chunks[0])
    ]
    gap = total - rounds.capacity
    gap = max(gap, 0.0) if not equality and answer.price <= 0.0 else abs(gap)
    return DistributedResult(
        da.concatenate(pieces),
        answer.price,
        float(value),
        float(residual),
        float(gap / rounds.capacity),
        rounds.n_rounds + 1,
    )


def _as_array(column: Any) -> Any:
    """A series as a dask array with known chunks, all else as it is."""
    return column.to_dask_array(lengths=True) if hasattr(column, "to_dask_array") else column


def _block(column: Any, k: int) -> Any:
    return column.to_delayed().ravel()[k] if hasattr(column, "to_delayed") else column


def _call(
    task: Callable[..., Array],
    criterion: Callable[[Any], Criterion],
    given: tuple[Any, ...],
    block: dict[str, Any],
) -> Array:
    columns = dict(block)
    parameter = columns.pop("parameter")
    return task(criterion(parameter), *given, **columns) if len(parameter) else NOTHING[task](*given)


def _join_checks(first: Array, second: Array) -> Array:
    joined = combine(first, second)
    joined[2] = np.maximum(first[2], second[2])
    return joined
