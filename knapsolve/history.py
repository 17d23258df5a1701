"""The record of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FEWEST_RUNS_OF_A_BAND = 3  # two tell hardly anything of their spread
MOST_DECISIONS_DRAWN = 400  # beyond, means over blocks of them


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """What happened in a simulation.

    Attributes
    ----------
    polls : ndarray of shape (n_records,), intp
        Polls made at each record; decisions, where sites are crawled.
    value : ndarray of shape (n_runs, n_records) or None
        Expected changes found per unit of time at the amounts then held, ``sum x_i d_i(x_i)``, where the
        environment knows its rates.
    detections : ndarray of shape (n_runs, n_records), intp, or None
        Polls so far that found a change.
    amounts : ndarray of shape (n_runs, n_materials) or None
        Amounts held at the end, polls per unit of time.
    item_polls, item_detections, item_fresh : ndarray of shape (n_runs, n_materials) or None
        For a `TraceEnvironment`: polls, polls that found a change, and the share of time that the copy was
        current.
    item_carried : ndarray of shape (n_runs, n_materials) or None
        For a `TraceEnvironment`: polls after `count_from` that found a change from before it.
    item_penalty, item_age : ndarray of shape (n_runs, n_materials) or None
        For a `TraceEnvironment`, means over time: 1 + 1/2 + ... + 1/N for N changes since the last poll; and
        the time since the first of them (0 where there is none), in the trace's unit.
    reward : ndarray of shape (n_runs, n_records) or (n_steps,), or None
        Where sites are crawled: content collected, items a decision, averaged over the decisions of a record.
    crawls : ndarray of shape (n_steps, n_crawls) or None
        The sites crawled at every decision, ascending, where they were asked for.

    Examples
    --------
    >>> from knapsolve import LAKG, simulate
    >>> from knapsolve.environments import BernoulliEnvironment
    >>> history = simulate(LAKG(resolution=100), BernoulliEnvironment([0.9, 0.5]), 1000, n_runs=4, random_state=0)
    >>> history
    <History: 4 runs, 100 records, mean 0.548186 value (changes found per unit of time) at the end>
    >>> history.mean().shape, history.standard_error().shape, history.amounts.shape
    ((100,), (100,), (4, 2))
    """

    polls: np.ndarray
    value: Any = None  # ndarray, where there is one
    detections: Any = None  # ndarray, where there is one
    amounts: Any = None  # ndarray, where there is one
    item_polls: np.ndarray | None = None
    item_detections: np.ndarray | None = None
    item_fresh: np.ndarray | None = None
    item_carried: np.ndarray | None = None
    item_penalty: np.ndarray | None = None
    item_age: np.ndarray | None = None
    reward: Any = None  # ndarray, where there is one
    crawls: np.ndarray | None = None

    def __repr__(self) -> str:
        runs, records = self._series().shape
        summary = f"{runs} runs, {records} records" if runs != 1 else f"1 run, {records} records"
        mean = self.mean()
        what = f"{mean[-1] if self.reward is None else mean.mean():.6g} {self._label()}"
        return f"<{type(self).__name__}: {summary}, mean {what}{' at the end' if self.reward is None else ''}>"

    def _series(self) -> np.ndarray:
        """What is averaged and drawn, (n_runs, n_records)."""
        if self.reward is not None:
            return np.atleast_2d(self.reward)
        if self.value is not None:
            return self.value
        assert self.detections is not None
        return self.detections / self.polls

    def _label(self) -> str:
        if self.reward is not None:
            return "reward (content collected a decision)"
        return "detections per poll" if self.value is None else "value (changes found per unit of time)"

    def _in_blocks(self) -> History:
        """Rewards averaged over a hundred blocks if there are many; what does not fill one is left out."""
        if self.reward is None or self.polls.size <= MOST_DECISIONS_DRAWN:
            return self
        size = self.polls.size // 100
        used = self.polls.size // size * size
        blocks = self._series()[:, :used].reshape(-1, used // size, size).mean(axis=2)
        return History(self.polls[size - 1 : used : size], reward=blocks)

    def mean(self) -> np.ndarray:
        """Mean over runs of `reward`, else of `value`, else of detections per poll.

        Returns
        -------
        mean : ndarray of shape (n_records,)
            In the unit of what is averaged.
        """
        return self._series().mean(axis=0)

    def standard_error(self) -> np.ndarray:
        """Standard error of `mean`.

        Returns
        -------
        standard_error : ndarray of shape (n_records,)
            Infinite for a single run.
        """
        series = self._series()
        if series.shape[0] < 2:
            return np.full(series.shape[1], np.inf)
        return series.std(axis=0, ddof=1) / np.sqrt(series.shape[0])

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the mean over runs against polls or decisions, from three runs on with a band of two standard errors.

        Rewards of more than 400 records are averaged over a hundred blocks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new one by default.
        **kwargs
            Passed on to ``ax.plot``.

        Returns
        -------
        ax : matplotlib Axes
            Where it was drawn.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed (``pip install knapsolve[plot]``).
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        drawn = self._in_blocks()
        mean, error = drawn.mean(), drawn.standard_error()
        (line,) = ax.plot(drawn.polls, mean, **kwargs)
        if len(drawn._series()) >= FEWEST_RUNS_OF_A_BAND and np.isfinite(error).all():
            ax.fill_between(drawn.polls, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.25, lw=0)
        ax.set_xlabel("polls" if self.reward is None else "decisions")
        ax.set_ylabel(self._label())
        return ax
