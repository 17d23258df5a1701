"""Matplotlib displays, after scikit-learn: made by a class method, drawn by `plot`, artists kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SHARES = {
    "detected_share": "share of changes detected",
    "freshness": "freshness (share of time a copy is current)",
}
# Colour and marker of a policy, whichever others are drawn (the first colours are Okabe and Ito's, safe for
# colour-blind readers); learners of one's own get the others in order.
STYLES: dict[str, tuple[str, Any]] = {
    "renewal": ("#0072b2", "o"),
    "stormcrawler": ("#8c564b", "s"),
    "nutch": ("#9467bd", "^"),
    "harmonic": ("#cc79a7", "D"),
    "harmonic-once": ("#bcbd22", "v"),
    "proportional": ("#56b4e9", "P"),
    "multiplicative": ("#c2185b", "*"),
    "recursive": ("#2f4f4f", "8"),
    "rates": ("#3d5afe", (5, 1, 180)),
    "gpoks": ("#e31a1c", (7, 1, 0)),
    "uniform": ("#7f7f7f", "X"),
    "lakg": ("#d55e00", "<"),
    "htraa": ("#009e73", ">"),
    "estimator-naive": ("#e69f00", "d"),
    "estimator-mle": ("#7a5c00", "h"),
    "told": ("#332288", (4, 1, 0)),
    "optimal": ("#000000", "p"),
}
OTHER_COLOURS = ("#17becf", "#fb9a99", "#7cb518", "#a50026", "#f0c808", "#a6761d")
OTHER_MARKERS: tuple[Any, ...] = ((3, 1, 0), (6, 1, 0), "H", (4, 1, 45), (8, 1, 0))
MOST_GROUPS = 10


class ReplayDisplay:
    """Policies compared on a replayed change log: detected share, freshness, and who got the polls.

    Parameters
    ----------
    table : list of dict
        Rows as from `ReplayResult.table`: ``policy``, and ``detected_share`` and ``freshness``, each with
        ``_low`` and ``_high``.
    item_polls : mapping of str to ndarray of shape (n_items,)
        Polls of each item, by policy.
    n_changes : ndarray of shape (n_items,)
        Recorded changes of each item.
    title : str, default=""
        What was replayed.

    Attributes
    ----------
    axes_ : list of three matplotlib Axes
        Detected share, freshness, polls per item.
    figure_ : matplotlib Figure
        Their figure.
    intervals_ : dict of (str, str) to ErrorbarContainer
        By metric and policy: the point and its interval.
    lines_ : dict of str to Line2D
        By policy: polls per item against changes.

    References
    ----------
    The Display objects of scikit-learn, whose convention this follows.

    Examples
    --------
    >>> from knapsolve.displays import ReplayDisplay
    >>> from knapsolve.replay import replay
    >>> result = replay((["a", "b", "a"], [1., 2., 3.]), 2, ["uniform"], start=0, random_state=0)
    >>> display = ReplayDisplay.from_result(result)  # doctest: +SKIP
    """

    def __init__(
        self,
        table: list[dict[str, Any]],
        item_polls: Mapping[str, np.ndarray],
        n_changes: np.ndarray,
        title: str = "",
    ):
        self.table = table
        self.item_polls = item_polls
        self.n_changes = n_changes
        self.title = title

    @classmethod
    def from_result(cls, result: Any, *, ax: Sequence[Any] | None = None, title: str | None = None) -> ReplayDisplay:
        """Make a display of a `ReplayResult` and draw it.

        Parameters
        ----------
        result : ReplayResult
            From `knapsolve.replay.replay`.
        ax : sequence of three matplotlib Axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Title of a new figure; items, changes and polls by default.

        Returns
        -------
        display : ReplayDisplay
            The display, drawn.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed (``pip install knapsolve[plot]``).
        """
        polls = {name: run.item_polls for name, run in result.runs.items()}
        if title is None:
            n_polls = max((int(each.sum()) for each in polls.values()), default=0)
            changes = int(result.n_changes.sum())
            title = (
                f"{result.items.size:,} items, {changes:,} changes, {n_polls:,} polls by each policy "
                "(95% intervals over items)"
            )
        return cls(result.table(), polls, result.n_changes, title).plot(ax=ax)

    def plot(self, ax: Sequence[Any] | None = None) -> ReplayDisplay:
        """Draw.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : ReplayDisplay
            Itself.

        Raises
        ------
        ValueError
            If `ax` is not three axes.
        ModuleNotFoundError
            If matplotlib is not installed (``pip install knapsolve[plot]``).
        """
        if ax is None:
            import matplotlib.pyplot as plt

            height = 2.2 + 0.38 * len(self.table)
            size = (14, max(4.2, height))
            self.figure_, axes = plt.subplots(1, 3, figsize=size, layout="constrained", width_ratios=(1, 1, 1.15))
            self.figure_.suptitle(self.title)
        else:
            axes = np.ravel(np.asarray(ax, dtype=object))
            if len(axes) != 3:
                raise ValueError(f"ax must be three axes (detected share, freshness, polls), got {len(axes)}")
            self.figure_ = axes[0].figure
        self.axes_ = list(axes)
        self.intervals_: dict[tuple[str, str], Any] = {}
        for axis, metric in zip(self.axes_, SHARES):
            self._draw_shares(axis, metric)
        self._draw_polls(self.axes_[2])
        if ax is None:
            self.axes_[1].tick_params(labelleft=False)
        return self

    def _draw_shares(self, ax: Any, metric: str) -> None:
        """One row a policy, in the table's order; a dotted line where uniform stands."""
        names = [row["policy"] for row in self.table]
        for place, row in enumerate(self.table):
            value = row[metric]
            reach = [[max(0.0, value - row[f"{metric}_low"])], [max(0.0, row[f"{metric}_high"] - value)]]
            self.intervals_[metric, row["policy"]] = ax.errorbar(
                value,
                place,
                xerr=reach,
                **self._style(row["policy"]),
                markersize=7,
                capsize=3,
                elinewidth=1.6,
            )
            ax.annotate(
                _short(value),
                (value, place),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.0},
                zorder=1.6,  # over the grid and the dotted line, under the intervals
            )
        mark = ""
        if "uniform" in names:
            uniform = self.table[names.index("uniform")][metric]
            ax.axvline(uniform, color=STYLES["uniform"][0], lw=0.8, ls=":", zorder=0)
            mark = "\ndotted: uniform"
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.7)
        ax.set_xlabel(SHARES[metric] + mark)
        ax.locator_params(axis="x", nbins=5)
        ax.grid(axis="x", alpha=0.25)

    def _draw_polls(self, ax: Any) -> None:
        """Mean polls per item, items grouped by how often they changed."""
        from matplotlib.ticker import SymmetricalLogLocator

        groups = _groups(self.n_changes)
        centres = [float(np.mean(self.n_changes[group])) for group in groups]
        self.lines_ = {}
        least, most = np.inf, 0.0
        for name, polls in self.item_polls.items():
            means = [float(np.mean(polls[group])) for group in groups]
            least, most = min(least, *means), max(most, *means)
            (self.lines_[name],) = ax.plot(
                centres,
                means,
                **self._style(name),
                markersize=5,
                lw=1.4,
                label=name,
            )
        ax.set_xscale("symlog", linthresh=1)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_xlim(left=min(-0.1, min(centres)))
        ax.set_ylim(bottom=0 if least < 2 else 0.6 * least)
        ax.set_xlabel("changes of an item (items in groups alike)")
        ax.set_ylabel("polls of an item (mean of its group)")
        if 0 < most < 100 * least:  # decades alone would be one or two ticks
            ax.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1, subs=(1, 2, 5)))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda number, _: f"{number:,g}")
        ax.grid(alpha=0.25)
        ax.legend(fontsize=8, frameon=False)

    def _style(self, name: str) -> dict[str, Any]:
        """Colour and marker: the policy's own, or those of the k-th learner that is none of ours."""
        if name in STYLES:
            colour, marker = STYLES[name]
        else:
            k = [other for other in self.item_polls if other not in STYLES].index(name)
            colour, marker = OTHER_COLOURS[k % len(OTHER_COLOURS)], OTHER_MARKERS[k % len(OTHER_MARKERS)]
        return {"color": colour, "marker": marker}


def _groups(n_changes: np.ndarray) -> list[np.ndarray]:
    """Indices of items, in at most MOST_GROUPS groups: no change, then by powers of two (or of four, ...)."""
    if n_changes.max() == 0:
        return [np.arange(n_changes.size)]
    step = 1
    while np.log2(n_changes.max()) // step + 2 > MOST_GROUPS:
        step += 1
    label = np.where(n_changes == 0, -1, np.log2(np.maximum(n_changes, 1)) // step)
    return [np.flatnonzero(label == each) for each in np.unique(label)]


def _short(value: float) -> str:
    """`.723` for 0.7234, without the zero that says nothing."""
    return f"{value:.3f}".removeprefix("0")
