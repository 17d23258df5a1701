"""Sites of ephemeral content: their rates, and lists of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from knapsolve._validation.arrays import check_vector, check_whole
from knapsolve._validation.messages import shown


def check_sites(
    arrival_rate: Any, decay_rate: Any, max_age: Any, *, plural: str = ""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrival rates, decay rates and maximum ages as vectors (n_sites,), or raise naming one."""
    arrival, decay = f"arrival_rate{plural}", f"decay_rate{plural}"
    rates = check_vector(arrival, arrival_rate, low=0.0)
    if rates.size == 0:
        raise ValueError(f"{arrival} must have at least one entry, got none")
    decays = check_vector(decay, decay_rate, size=rates.size, low=0.0, low_open=True)
    limits = np.asarray(max_age)
    if limits.ndim == 0:
        limits = limits[None]
    limits = check_whole("max_age", limits, low=1.0, finite=False)
    if limits.size not in (1, rates.size):
        raise ValueError(f"max_age must have 1 or {rates.size} entries, got {limits.size}")
    with np.errstate(over="ignore"):
        ceiling = rates / decays
    if not np.isfinite(ceiling).all():
        worst = int(np.argmin(np.isfinite(ceiling)))
        raise ValueError(
            f"{arrival} / {decay} must be within the floating-point range, got {shown(rates[worst])} / "
            f"{shown(decays[worst])} at position {worst}"
        )
    if rates.size >= 2**31:
        raise ValueError(f"{arrival} must have fewer than 2**31 entries, got {rates.size}")
    return rates, decays, np.ascontiguousarray(np.broadcast_to(limits, rates.shape))


def check_site_numbers(name: str, values: Any, n_sites: int) -> np.ndarray:
    """Return `values` as distinct int32 site numbers below n_sites, or raise naming `name`."""
    numbers = np.asarray(values)
    if numbers.size == 0:
        return np.empty(0, dtype=np.int32)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an array of site numbers, got dtype {numbers.dtype}")
    check_vector(name, numbers, low=0, high=n_sites - 1)
    if np.unique(numbers).size != numbers.size:
        raise ValueError(f"{name} must be distinct, got {shown(values)}")
    return np.ascontiguousarray(numbers, dtype=np.int32)
