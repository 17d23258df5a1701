"""Rates from the whole log, fitted when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from knapsolve._core.censored import Grouped
from knapsolve.rates.censored import scale_of, solved, unscaled
from knapsolve.rates.polls import Polls
from knapsolve.rates.prior import MOST_ITEMS, START, gamma_prior
from knapsolve.rates.prior_doubt import FEW, least_likely, widening

Array = NDArray[np.float64]
TINIEST = 1e-300  # of a rate's quantile, in changes
FAINT = 1e-9  # weight of the changes found, relative to those counted, up to which a posterior is a Gamma


class LogModel:
    """Keeps the whole log and fits it when asked: exact, in memory and time O(polls)."""

    def __init__(self, memory: float, prior: str | tuple[float, float]) -> None:
        self.memory, self.prior, self.n_items = memory, prior, 0
        self.parts: tuple[Polls, ...] = ()
        self._fitted: Any = None

    def copy(self) -> LogModel:
        """As it is now; parts are never changed."""
        other = LogModel(self.memory, self.prior)
        other.n_items, other.parts, other._fitted = self.n_items, self.parts, self._fitted
        return other

    fork = copy
    atomic_rows = 2**62  # parts are added, never changed

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_fitted": None}  # made again when asked

    def learn(self, polls: Polls, n_items: int, commit: Callable[[], None]) -> None:
        """Add a batch to the log."""
        own = replace(polls.part(slice(None)), codes=polls.codes.astype(np.int32))
        self.parts, self.n_items, self._fitted = (*self.parts, own), n_items, None
        commit()

    def open_part(self, n_polls: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A part (materials, elapsed, changed) of n_polls that a loop fills; materials are -1 where it has not."""
        codes: NDArray[np.int32] = np.full(n_polls, -1, dtype=np.int32)
        part = Polls(codes, np.zeros(n_polls), np.zeros(n_polls, dtype=np.int8))
        self.parts, self._fitted = (*self.parts, part), None
        return part.codes, part.elapsed, part.changed

    def _filled(self) -> int:
        """How many polls of the last part are there."""
        return int(np.count_nonzero(self.parts[-1].codes >= 0)) if self.parts else 0

    def _whole(self) -> Polls:
        """The log in one piece."""
        if len(self.parts) == 1 and self._filled() == self.parts[0].codes.size:
            return self.parts[0]
        names = ("codes", "elapsed", "changed", "weights", "counts", "exposures")
        columns: list[Any] = []
        for name in names:
            given = [getattr(part, name) for part in self.parts]
            if all(column is None for column in given):
                columns.append(None)
                continue
            sizes = [part.codes.size for part in self.parts]
            missing = {"weights": 1.0, "counts": np.nan, "exposures": 0.0}.get(name)
            columns.append(np.concatenate([
                np.full(size, missing) if column is None else column for column, size in zip(given, sizes)
            ]))  # fmt: skip
        whole = Polls(*columns)
        return whole if (whole.codes >= 0).all() else whole.part(whole.codes >= 0)

    def _fit(self) -> Any:
        """Groups, power of two of their times, prior (changes, time), rates, curvatures; kept until more is learnt."""
        if self._fitted is None or self._fitted[-1] != self._filled():
            filled, polls = self._filled(), self._whole() if self.parts else None
            exponent = None if polls is None else scale_of(polls.elapsed)
            if polls is not None and exponent is None and not isinstance(self.prior, str):
                exponent = 0  # the prior has a unit of time, if the log has none
            if polls is None or exponent is None:
                return None, 0, (0.5, 0.5), np.ones(self.n_items), np.ones(self.n_items), 0
            longest = polls.elapsed
            exposures = None if polls.exposures is None else np.ldexp(polls.exposures, -exponent)
            polls = replace(polls, elapsed=np.ldexp(polls.elapsed, -exponent), exposures=exposures)
            memory = float(np.ldexp(self.memory, -exponent))
            items = self._grouped(polls, self.n_items, memory)
            n_told = int(np.count_nonzero(items.polls))
            changes, time = self._prior(polls, n_told, memory, exponent)
            rates, curvatures = solved(items, changes, time)
            unscaled(rates, exponent, longest)
            self._fitted = items, exponent, (changes, time), rates, curvatures, filled
        return self._fitted

    @staticmethod
    def _grouped(polls: Polls, n: int, memory: float) -> Grouped:
        more = (polls.weights, polls.counts, polls.exposures)
        return Grouped(n, polls.codes, polls.elapsed, polls.changed, *more, memory)

    def _prior(self, polls: Polls, n_told: int, memory: float, exponent: int) -> tuple[float, float]:
        """Changes and (scaled) time of the prior, of the n_told items of which polls tell something."""
        if not isinstance(self.prior, str):
            return float(self.prior[0]), float(np.ldexp(self.prior[1], -exponent))
        stride = max(-(-n_told // MOST_ITEMS), 1)
        sample = polls if stride == 1 else polls.part(np.flatnonzero(polls.codes % stride == 0))
        sample = replace(sample, codes=(sample.codes // stride).astype(np.int32))
        together = self._grouped(replace(sample, codes=np.zeros_like(sample.codes)), 1, np.inf)
        changed, quiet = together.found[0] + together.counts[0] > 0, together.exposures[0] > 0
        passing = (polls.elapsed > 0) if polls.weights is None else (polls.elapsed > 0) & (polls.weights > 0)
        shortest = float(polls.elapsed[passing].min()) if passing.any() else 1.0
        pooled = together.rates(0.0 if changed else START, 0.0 if quiet else START * shortest)[0][0]
        return gamma_prior(self._grouped(sample, -(-self.n_items // stride), memory), float(pooled))

    def rates(self) -> Array:
        """Rates (n_items,), per unit of time."""
        _, exponent, _, rates, _, _ = self._fit()
        return np.ldexp(rates, -exponent)

    def new_rate(self) -> float:
        """The rate of an item without polls: the prior's mode in log L."""
        _, exponent, (changes, time), _, _, _ = self._fit()
        return float(np.ldexp(changes / time, -exponent))

    def interval(self, shares: Array) -> Array:
        """Posterior quantiles (n_items, m) at ascending shares (m,)."""
        items, exponent, (changes, time), rates, curvatures, _ = self._fit()
        if items is None:
            return gammaincinv(0.5, np.broadcast_to(shares, (self.n_items, shares.size))) / 0.5
        scaled = items.quantiles(changes, time, rates, curvatures, shares)
        shape, span = items.counts[:, None] + changes, items.exposures[:, None] + time
        quiet = items.found <= FAINT * shape[:, 0]  # their posterior is a Gamma, however long its tail
        shapes, which = np.unique(shape[quiet, 0], return_inverse=True)  # few, most often one
        scaled[quiet] = np.maximum(gammaincinv(shapes[:, None], shares), TINIEST)[which] / span[quiet]
        if isinstance(self.prior, str) and np.count_nonzero(items.polls) <= FEW:
            own, told = np.maximum(curvatures - changes, 0.0), np.maximum(curvatures / rates - time, 0.0)
            ratios = widening(own, told, (changes, time), shares)
            wider = scaled * np.where(shares < 0.5, np.fmin(ratios, 1.0), np.fmax(ratios, 1.0))  # outwards alone
            least = np.fmin(scaled, least_likely(items, rates, own, shares))
            scaled = np.where(shares < 0.5, np.fmax(wider, least), wider)
        return np.ldexp(np.maximum.accumulate(scaled, axis=1), -exponent)  # rounding may cross ends that meet
