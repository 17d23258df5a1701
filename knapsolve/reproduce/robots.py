"""Tables 1 and 2 and Figures 2 to 8 of "Controlling robots of Web search engines"."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knapsolve.reproduce.report import save_text
from knapsolve.reproduce.robots_iteration import paper_value_iteration
from knapsolve.reproduce.robots_tables import FIGURES, TABLE_1, TABLE_2, printed_rows, printed_weight
from knapsolve.robots import optimal_load, optimal_robots, solve_robot_control
from knapsolve.robots.problem import RobotProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
PLACES, STARVATION = "places in the queue, K", r"cost of an empty queue, $\gamma$"
ROBOTS = r"best number of robots $N(\gamma, K)$"
ENOUGH = 4.0  # times mu / lam robots never bind in Table 2
NOTES = """\
A star marks an entry that differs from the paper's. mu = 1. Nothing here is random: there are no standard
errors.
Table 1: C_d and N_iter by the paper's own iteration and stop rule; "optimum" is the true least cost, which that
rule misses by up to 4 in the fifth digit. The printed N_iter counts one more than the iterations made, in all
rows; the counts in the captions of Figures 6 to 8 do not."""
NOTE_2 = """\
Table 2: C_d of (.05, 10, 1.2) and (.05, 10, 2.4) are misprints, and N_max is one too high in three rows."""


def table_1(quick: bool = False) -> str:
    """Table 1: static and dynamic policies with the N robots that are best when their number is fixed."""
    lines = [
        "Table 1 (ours | paper)",
        f"{'lam':>5} {'K':>3} {'gamma':>6}  {'C_s':>17}  {'N_s':>9}  {'C_d':>17}  {'optimum':>8}  "
        f"{'N_min':>9}  {'mean N':>12}  {'N_iter':>10}",
    ]
    for lam, k, gamma, c_s, n_s, c_d, n_min, n_mean, n_iter in printed_rows(TABLE_1)[:: 3 if quick else 1]:
        weight = printed_weight(gamma)
        n, cost = optimal_robots(lam, int(k), weight)
        by_paper, _, iterations = paper_value_iteration(RobotProblem(int(n), int(k), lam, weight))
        control = solve_robot_control(int(n), int(k), lam, weight)
        lines.append(
            f"{lam:5g} {k:3g} {gamma:6g}  {_pair(cost, c_s, 5)}  {_pair(n, n_s, 0)}  "
            f"{_pair(by_paper, c_d, 5)}  "
            f"{control.gain:8.5f}  {_pair(control.n_min, n_min, 0)}  {_pair(control.n_mean, n_mean, 1)}  "
            f"{_pair(iterations, n_iter, 0)}"
        )
    return "\n".join(lines)


def table_2(quick: bool = False) -> str:
    """Table 2: dynamic policies with as many robots as they want."""
    lines = [
        "Table 2 (ours | paper)",
        f"{'lam':>5} {'K':>3} {'gamma':>6}  {'C_d':>17}  {'N_min':>9}  {'mean N':>12}  {'N_max':>9}",
    ]
    for lam, k, gamma, _, _, c_d, n_min, n_mean, n_max in printed_rows(TABLE_2)[:: 3 if quick else 1]:
        control = solve_robot_control(int(ENOUGH / lam), int(k), lam, printed_weight(gamma))
        lines.append(
            f"{lam:5g} {k:3g} {gamma:6g}  {_pair(control.gain, c_d, 5)}  {_pair(control.n_min, n_min, 0)}  "
            f"{_pair(control.n_mean, n_mean, 1)}  {_pair(control.n_max, n_max, 0)}"
        )
    return "\n".join(lines)


def figures_6_to_8() -> str:
    """Costs and iteration counts in the captions of Figures 6 to 8."""
    lines = [
        "Figures 6 to 8 (ours | paper): N = 16, K = 5, lam = 0.1",
        f"{'gamma':>6}  {'cost':>17}  {'iterations':>11}",
    ]
    for _, gamma, cost, n_iter in FIGURES:
        by_paper, _, iterations = paper_value_iteration(RobotProblem(16, 5, 0.1, gamma))
        lines.append(f"{gamma:6g}  {_pair(by_paper, cost, 5)}  {_pair(iterations, n_iter, 0)}")
    return "\n".join(lines)


def _pair(ours: float, paper: float, digits: int) -> str:
    """Ours and the paper's entry, with a star where they differ."""
    close = 0.5 * 10.0**-digits * (1.0 + 1e-6) + (0.01 if digits == 1 else 0.0)  # means were cut or rounded
    star = " " if abs(ours - paper) <= close else "*"
    width = digits + 3 if digits > 1 else 5 if digits else 4
    return f"{ours:{width}.{digits}f}|{paper:{width}.{digits}f}{star}"


def _figure_2(ax: Axes) -> None:
    weights = np.linspace(0.05, 10, 400)
    for k, style in ((5, "-"), (20, "--")):
        ax.step(weights, optimal_robots(1 / 5.7, k, weights)[0], style, where="mid", label=f"K = {k}")
    ax.set(xlabel=STARVATION, ylabel=ROBOTS, title=r"Figure 2: $\mu/\lambda = 5.7$")


def _figure_3(ax: Axes) -> None:
    buffers = np.arange(2, 101)
    for weight, style in zip((0.5, 1.0, 1.5, 2.0, 5.0), STYLES):
        ax.plot(buffers, optimal_load(buffers, weight), ls=style, label=rf"$\gamma$ = {weight:g}")
    ax.axhline(1.0, color="0.7", linewidth=0.8)
    ax.set(xlabel=PLACES, ylabel=r"optimal load $\rho(\gamma, K)$", title="Figure 3: the optimal load")


def _figure_4(ax: Axes) -> None:
    buffers = np.arange(2, 101)
    for weight, style, aside in zip((0.5, 1.0, 1.5, 2.0, 5.0), STYLES, (-0.12, -0.06, 0.0, 0.06, 0.12)):
        numbers = optimal_robots(1 / 5.7, buffers, weight)[0]
        ax.step(buffers, numbers + aside, ls=style, where="mid", label=rf"$\gamma$ = {weight:g}")
    ax.set(xlabel=PLACES, ylabel=ROBOTS, title=r"Figure 4: $\mu/\lambda = 5.7$ (whole numbers, lines side by side)")


def _figure_5(ax: Axes) -> None:
    ratio = np.linspace(0.5, 10, 800)
    for weight, style in zip((0.2, 1.0, 5.0), STYLES):
        numbers = optimal_robots(1 / ratio, math.inf, weight)[0]
        ax.step(ratio, numbers, ls=style, where="mid", label=rf"$\gamma$ = {weight:g}")
    ax.plot(ratio, ratio, color="0.7", linewidth=0.8, label="load 1")
    ax.set(xlabel=r"robots that keep up with the server, $\mu/\lambda$",
           ylabel=r"best number of robots $N(\gamma, \infty)$", title="Figure 5: large buffers")  # fmt: skip


def save_figures(output: Path) -> list[Path]:
    """Draw Figures 2 to 8 into the folder `output`."""
    from matplotlib.figure import Figure

    output.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, draw in enumerate((_figure_2, _figure_3, _figure_4, _figure_5), 2):
        figure = Figure(figsize=(5.5, 4.0), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        ax.legend()
        paths.append(output / f"robots_figure_{number}.png")
        figure.savefig(paths[-1], dpi=120)
    for number, weight, *_ in FIGURES:
        figure = Figure(figsize=(5.5, 4.0), layout="constrained")
        solve_robot_control(16, 5, 0.1, weight).plot(figure.subplots())
        paths.append(output / f"robots_figure_{number}.png")
        figure.savefig(paths[-1], dpi=120)
    return paths


def run(quick: bool = False, output: Path | None = None, seed: int = 0) -> str:
    """Compute the paper's tables beside ours.

    Parameters
    ----------
    quick : bool, default False
        Only every third row.
    output : Path, optional
        Folder for one picture per figure, and the text.
    seed : int, default 0
        Not used: nothing here is random.

    Returns
    -------
    str
        The tables as text.

    References
    ----------
    Talim, Liu, Nain and Coffman, "Controlling robots of Web search engines", 1999, Tables 1 and 2, Figures 2
    to 8.

    Examples
    --------
    >>> from knapsolve.reproduce.robots import run
    >>> print(run(quick=True).splitlines()[0])
    Table 1 (ours | paper)
    """
    notes = NOTES if quick else f"{NOTES}\n{NOTE_2}"  # the rows that it names are not among every third
    parts = [table_1(quick), table_2(quick), figures_6_to_8(), notes]
    if output is not None:
        parts.append("Pictures: " + ", ".join(path.name for path in save_figures(Path(output))))
    text = "\n\n".join(parts)
    if output is not None:
        save_text("robots", text, Path(output))
    return text
