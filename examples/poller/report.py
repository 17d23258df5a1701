"""What the poller did, in numbers and in a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from knapsolve.replay import PolicyReplay, measure_polls


def lateness_lines(lateness: np.ndarray) -> list[str]:
    """How late polls were, behind their timetable."""
    ms = 1000 * lateness
    quantiles = np.percentile(ms, [50, 90, 99, 100])
    shares = ", ".join(f"{np.mean(ms <= limit):.2%} within {limit} ms" for limit in (1, 5, 10))
    return ["lateness: median {:.2f} ms, 90% {:.2f} ms, 99% {:.2f} ms, worst {:.2f} ms; {}".format(*quantiles, shares)]


def measure(
    log: tuple[np.ndarray, np.ndarray], polled: np.ndarray, sent: np.ndarray, start: float, stop: float
) -> dict[str, PolicyReplay]:
    """The polls made, and as many at even intervals in turn, on what really changed."""
    pages = np.unique(log[0])
    beat = start + (stop - start) * (np.arange(polled.size) + 1) / (polled.size + 1)
    in_turn = pages[np.arange(polled.size) % pages.size]
    inside = (sent > start) & (sent < stop)
    return {
        "renewal index": measure_polls(log, polled[inside], sent[inside], start=start, split=None, stop=stop),
        "in turn": measure_polls(log, in_turn, beat, start=start, split=None, stop=stop),
    }


def table(runs: dict[str, PolicyReplay], n_changes: int) -> list[str]:
    lines = [f"{'':14} {'polls':>6} {'found':>6} {'share':>6} {'fresh':>6} {'penalty':>8}"]
    for name, run in runs.items():
        found = run.item_detections.sum()
        lines.append(
            f"{name:14} {run.item_polls.sum():6.0f} {found:6.0f} {found / max(1, n_changes):6.3f} "
            f"{run.item_fresh.mean():6.3f} {run.item_penalty.mean():8.3f}"
        )
    return lines


def draw(
    path: Path, runs: dict[str, PolicyReplay], n_changes: np.ndarray, lateness: np.ndarray, host_gaps: Any, gap: float
) -> None:
    """Lateness, distances within hosts, and polls against changes."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    ms = np.maximum(1000 * lateness, 1e-3)
    left.hist(ms, bins=np.geomspace(ms.min(), max(20.0, 1.05 * ms.max()), 50), color="tab:blue")
    _mark(left, 10, "10 ms")
    left.set(xscale="log", xlabel="behind the timetable (ms)", ylabel="polls", title="When polls were sent")
    middle.hist(1000 * np.asarray(host_gaps), bins=1000 * gap * np.arange(0, 6, 0.1), color="tab:green")
    middle.margins(y=0.15)
    _mark(middle, 1000 * gap, "least allowed")
    middle.set(xlabel="between two polls of one host (ms)", ylabel="polls", title="No host is asked too often")
    nudge = np.random.default_rng(0).uniform(-0.15, 0.15, n_changes.size)
    for (name, run), marker in zip(runs.items(), "ox"):
        found, fresh = run.item_detections.sum() / max(1, n_changes.sum()), run.item_fresh.mean()
        label = f"{name}: {found:.2f} found, {fresh:.2f} fresh"
        right.plot(n_changes + nudge, run.item_polls, marker, ms=4, alpha=0.6, label=label)
    right.set(xscale="symlog", xlabel="changes of a page", ylabel="polls of a page", title="Who changes is polled")
    right.set_ylim(bottom=0, top=1.25 * max(float(run.item_polls.max()) for run in runs.values()))
    right.xaxis.set_major_formatter(lambda number, _: f"{number:g}")
    right.legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _mark(ax: Any, place: float, text: str) -> None:
    """A limit that should be kept."""
    ax.axvline(place, color="tab:red", lw=1, ls="--")
    where = {"xycoords": ("data", "axes fraction"), "xytext": (4, -12), "textcoords": "offset points"}
    ax.annotate(text, (place, 1), color="tab:red", **where)
