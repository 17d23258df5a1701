"""What a reproduction leaves behind: a picture and a table per figure, and the claims put to the test."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from knapsolve.reproduce.curves import Curve
from knapsolve.reproduce.progress import advance, announce, begin

MARKERS = "osD^vXP*h"
LEVEL_STYLES = {"optimal": ("black", "-"), "proportional": ("dimgray", "--"), "uniform": ("darkgray", "-.")}
CLAIMS = ("Claims that held", "Claims that did not hold")
LABEL_WIDTH, COLUMN_WIDTH, TEXT_WIDTH = 32, 26, 110
SHORT = 60  # characters of a line of progress


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    `levels` are horizontal lines by name, `columns` the numbers of polls that the table shows, `window` the
    polls (first, last) over which it also averages, `block` the records averaged into a point of the picture;
    `says` is what the paper says about the figure.
    """

    number: str
    title: str
    says: str
    curves: Sequence[Curve]
    levels: dict[str, float]
    columns: Sequence[int] = (10**4, 10**5, 10**6)
    window: tuple[int, int] | None = None
    block: int = 1

    def __getitem__(self, label: str) -> Curve:
        return next(curve for curve in self.curves if curve.label == label)

    def values(self, polls: int) -> dict[str, float]:
        """Mean over runs of each line at a number of polls."""
        return {curve.label: curve.at(polls)[0] for curve in self.curves}

    def ends(self) -> dict[str, float]:
        """Mean over runs of each line at its end."""
        return {curve.label: curve.end() for curve in self.curves}

    def average(self, label: str) -> float:
        """Mean over runs and over the window of a line."""
        assert self.window is not None
        return self[label].between(*self.window)[0]

    def table(self) -> str:
        """Heading, the paper's words, and a row per line of the picture: mean ± error [reference]."""
        last = max(int(curve.history.polls[-1]) for curve in self.curves)
        columns = [polls for polls in self.columns if polls <= last]
        heads = [f"{polls:,} polls" for polls in columns]
        if self.window is not None:
            heads.append(f"mean {self.window[0]:,.0f}-{self.window[1]:,.0f}")
        lines = [f"{self.number.capitalize()}. {self.title}", *quoted(self.says)]
        lines.append(" " * LABEL_WIDTH + "".join(head.ljust(COLUMN_WIDTH) for head in heads).rstrip())
        for name, level in self.levels.items():
            lines.append((name.ljust(LABEL_WIDTH) + f"{level:.4f}".ljust(COLUMN_WIDTH) * len(heads)).rstrip())
        lines += [self._row(curve, columns) for curve in self.curves]
        return "\n".join(lines)

    def _row(self, curve: Curve, columns: Sequence[int]) -> str:
        near = 0.0 if self.window is None else 0.05
        cells = [_cell(*curve.at(polls, near), curve.reference.get(polls)) for polls in columns]
        if self.window is not None:
            cells.append(_cell(*curve.between(*self.window), curve.reference.get("window")))
        return (curve.label.ljust(LABEL_WIDTH) + "".join(cell.ljust(COLUMN_WIDTH) for cell in cells)).rstrip()

    def draw(self, path: Path) -> None:
        """Draw the means with bands of two standard errors; the moving ones on a linear axis beside."""
        import matplotlib.pyplot as plt

        panels = 1 if self.window is None else 2
        figure, axes = plt.subplots(1, panels, figsize=(6 * panels + 3, 4.6), sharey=True, squeeze=False,
                                    layout="constrained")  # fmt: skip
        for ax, scale in zip(axes[0], ("log", "linear")):
            for name, level in self.levels.items():
                color, style = LEVEL_STYLES[name]
                ax.axhline(level, color=color, ls=style, lw=1, label=name)
            for k, curve in enumerate(self.curves):
                color = f"C{k if curve.color is None else curve.color}"
                marks = {"marker": MARKERS[k % len(MARKERS)], "ms": 5, "markevery": (0.02 + 0.01 * k, 0.12)}
                curve.smoothed(self.block).plot(ax, label=curve.label, ls=curve.style, color=color, lw=1.4, **marks)
            ax.set(xscale=scale, ylim=(0, 1.06 * max(self.levels.values())))
            ax.grid(alpha=0.25)
        for ax in axes[0][1:]:
            ax.set_ylabel("")
            ax.ticklabel_format(axis="x", useMathText=True)
        figure.suptitle(f"{self.number.capitalize()}: {self.title}", fontsize=11)
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right center", fontsize=9, frameon=False)
        save(figure, path)


def _cell(mean: float, error: float, reference: str | None) -> str:
    spread = f" ±{error:.4f}" if np.isfinite(error) else ""
    return f"{mean:.4f}{spread}" + (f" [{reference}]" if reference else "")


def quoted(words: str) -> list[str]:
    """Lines that say what the paper says."""
    return textwrap.wrap(f"The paper: {words}", TEXT_WIDTH, initial_indent="  ", subsequent_indent="  ")


def save(figure: Any, path: Path) -> None:
    """Save a matplotlib figure whole, or not at all."""
    import matplotlib.pyplot as plt

    partial = path.with_suffix(".partial")
    figure.savefig(partial, dpi=130, format=path.suffix[1:])
    partial.replace(path)
    plt.close(figure)


def save_text(paper: str, text: str, output: Path) -> Path:
    """Save what a reproduction prints; where."""
    path = output / f"{paper}.txt"
    path.write_text(text + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Claim:
    """Something that a paper says, our numbers beside it, and whether they bear it out."""

    words: str
    ours: str
    holds: bool


class Report:
    """Collects tables; saves each picture, and the text so far, as soon as a figure is finished.

    Until the end the saved text opens with a line that says which of the `parts`, in order, are missing.
    """

    def __init__(self, paper: str, heading: str, output: Path | None, parts: Sequence[str] = ()):
        self.paper = paper
        self.output = Path("output") if output is None else Path(output)
        self.sections = [heading]
        self.missing = list(parts)
        self.n_parts = len(parts)
        self.saved: list[Path] = []

    def __enter__(self) -> Report:
        self.output.mkdir(parents=True, exist_ok=True)
        begin(self.n_parts)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if len(self.sections) > 1:
            self._write("" if kind is None else "INTERRUPTED" if interrupted else "STOPPED BY AN ERROR")
        if interrupted:
            names = ", ".join(path.name for path in self.saved) or "nothing yet"
            print(f"Interrupted; saved in {self.output}: {names}", file=sys.stderr)

    def _write(self, state: str = "NOT FINISHED") -> None:
        """Save the text so far, with its state and what is missing in front."""
        missing = f"missing: {', '.join(self.missing)}" if self.missing else "its end is missing"
        written = save_text(self.paper, (f"{state}; {missing}\n\n" if state else "") + self.text(), self.output)
        self.saved += [written] if written not in self.saved else []

    def picture(self, name: str) -> Path:
        """Where a picture goes."""
        return self.output / f"{self.paper}_{name.replace(' ', '_')}.png"

    def add(self, figure: Figure) -> Figure:
        """Save a finished figure's picture and table."""
        path = self.picture(figure.number)
        figure.draw(path)
        self.add_text(figure.table(), path)
        return figure

    def add_text(self, text: str, picture: Path | None = None) -> None:
        """Save a section, with the picture that belongs to it."""
        self.sections.append(text + (f"\n  picture: {picture}" if picture else ""))
        self.saved += [picture] if picture is not None and picture not in self.saved else []
        self._finish_part()
        if picture is not None:
            announce(f"saved {picture}")

    def grow(self, lines: Iterable[str]) -> None:
        """Save a section line by line as they are computed: an interruption leaves those that are finished.

        Standard error has the lines' beginnings only, since the whole is printed in the end.
        """
        part = self.missing[0] if self.missing else self.paper
        self.sections.append("")
        for line in lines:
            self.sections[-1] = f"{self.sections[-1]}\n{line}".lstrip("\n")
            self._write()
            announce(textwrap.shorten(f"{part}: {line.strip().split('  ')[0]}", SHORT))
        self._finish_part()

    def _finish_part(self) -> None:
        del self.missing[:1]
        advance(self.n_parts - len(self.missing))
        self._write()

    def add_claims(self, claims: Sequence[Claim]) -> None:
        """Save what held, and what did not."""
        for title, wanted in zip(CLAIMS, (True, False)):
            lines = [title]
            for claim in claims:
                if claim.holds == wanted:
                    lines += textwrap.wrap(f"- The paper: {claim.words}", TEXT_WIDTH, subsequent_indent="  ")
                    lines += textwrap.wrap(
                        f"Ours: {claim.ours}", TEXT_WIDTH, initial_indent="  ", subsequent_indent="  "
                    )
            self.add_text("\n".join(lines if len(lines) > 1 else [*lines, "- none in this run"]))

    def text(self) -> str:
        """Everything so far."""
        return "\n\n".join(self.sections)
