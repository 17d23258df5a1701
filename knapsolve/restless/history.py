"""What crawling ephemeral content earned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["CrawlHistory"]


@dataclass(frozen=True)
class CrawlHistory:
    """Rewards of one or more runs.

    Parameters
    ----------
    steps : ndarray of shape (n_records,)
        Number of decisions made when each record ends.
    reward : ndarray of shape (n_records,) or (n_runs, n_records)
        Content collected, items a step, averaged over the steps of the record.
    crawls : ndarray of shape (n_steps, n_crawls), optional
        The sites crawled at every step, ascending, where they were asked for.
    """

    steps: np.ndarray
    reward: np.ndarray
    crawls: np.ndarray | None = field(default=None, repr=False)

    def mean(self) -> np.ndarray:
        """Average the reward over the runs.

        Returns
        -------
        mean : ndarray of shape (n_records,)
            Items a step.
        """
        return np.atleast_2d(self.reward).mean(axis=0)

    def standard_error(self) -> np.ndarray:
        """Compute the standard error of the mean over the runs.

        Returns
        -------
        standard_error : ndarray of shape (n_records,)
            Items a step; infinite for a single run.
        """
        runs = np.atleast_2d(self.reward)
        if len(runs) == 1:
            return np.full(runs.shape[1], np.inf)
        return runs.std(axis=0, ddof=1) / np.sqrt(len(runs))

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean reward with a band of two standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; the current axes by default.

        Returns
        -------
        ax : matplotlib Axes
            Where it was drawn.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed (``pip install knapsolve[plot]``).
        """
        import matplotlib.pyplot as plt

        ax = plt.gca() if ax is None else ax
        mean, error = self.mean(), self.standard_error()
        (line,) = ax.plot(self.steps, mean)
        if np.isfinite(error).all():
            ax.fill_between(
                self.steps, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.25, lw=0
            )
        ax.set(xlabel="decisions", ylabel="content collected a step")
        return ax
