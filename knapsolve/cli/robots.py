"""`knapsolve robots`: how many robots to deploy, and how many to have active."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import astuple
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.exceptions import ConvergenceWarning

from knapsolve._validation import check_real
from knapsolve.cli.output import counted, print_table, report, working
from knapsolve.cli.units import check_plot_path
from knapsolve.robots import RobotControl, mm1k_cost, optimal_robots, solve_robot_control
from knapsolve.robots.problem import RobotProblem

TOLERANCE = 1e-9  # of the least cost, relative to the best fixed number's where that is above 1
MOST_UNASKED = 3_000_000  # states that --dynamic takes of itself: beyond lie minutes
DIGITS_OF_BOUNDS = 10
MOST_SWEEPS = 100_000  # where rounding keeps the bounds apart, seconds; the bounds reached are printed


def command(
    arrival_rate: Annotated[float, typer.Option(help="Pages per unit time that one active robot brings.")],
    buffer: Annotated[int, typer.Option(min=2, help="Places in the queue with the page in service.")],
    starvation_weight: Annotated[
        float, typer.Option(help="Cost per unit time of an empty queue; a lost page costs 1.")
    ],
    service_rate: Annotated[float, typer.Option(help="Pages per unit time that the server finishes.")] = 1.0,
    robots: Annotated[
        int | None, typer.Option(min=1, help="Robots there are; control how many of them are active.")
    ] = None,
    dynamic: Annotated[
        bool, typer.Option("--dynamic", help="Control how many are active, with as many as that wants.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Save the switching curves here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say how many robots should feed a server for good and, with --dynamic or --robots, at every moment.

    Robots bring pages to a queue that one server works off. Too few starve it, too many lose pages to a full
    queue. Control activates robots as pages come and go, at the least average cost.
    """
    rates = {"--arrival-rate": arrival_rate, "--service-rate": service_rate}
    for option, value in (rates | {"--starvation-weight": starvation_weight}).items():
        check_real(option, value, low=0.0, low_open=True)
    controlled = dynamic or robots is not None
    if plot is not None and not controlled:
        raise ValueError("--plot draws when control activates robots: give --dynamic or --robots with it")
    check_plot_path(plot)
    fixed = _fixed(robots, buffer, arrival_rate, starvation_weight, service_rate)
    control = None
    if controlled:
        control = _control(robots, fixed, buffer, arrival_rate, starvation_weight, service_rate)
    facts = {"arrival_rate": arrival_rate, "buffer": buffer, "starvation_weight": starvation_weight}
    facts["service_rate"] = service_rate

    def saves() -> Iterator[str]:
        if control is not None and plot is not None:
            _draw(control, plot)
            yield f"picture saved as {plot}"

    report(
        as_json,
        lambda: facts | {"fixed": fixed, "control": None if control is None else _document(control, fixed)},
        lambda: _print(facts, fixed, control),
        saves(),
    )


def _fixed(
    robots: int | None, buffer: int, arrival_rate: float, starvation_weight: float, service_rate: float
) -> dict[str, Any]:
    """The best fixed number, of at most `robots`: the cost falls up to the optimum and rises after it."""
    n, cost = optimal_robots(arrival_rate, buffer, starvation_weight, service_rate)
    if robots is not None and robots < n:
        n = robots
        cost = mm1k_cost(n * arrival_rate / service_rate, buffer, starvation_weight, service_rate)
    return {"n_robots": int(n), "cost": float(cost), "load": int(n) * arrival_rate / service_rate}


def _control(robots: int | None, fixed: dict[str, Any], *parameters: Any) -> RobotControl:
    """Optimal control of `robots` or, if None, of so many that twice as many would not make it cheaper.

    Where the cost is not known to the tolerance, more robots would show nothing.
    """
    n = 2 * fixed["n_robots"] if robots is None else robots
    if robots is None and n * (parameters[0] + 1) > MOST_UNASKED:
        raise ValueError(
            f"--dynamic takes {n:,} robots here, {parameters[0]:,} places in the queue, and minutes: let one robot "
            "stand for many (a higher --arrival-rate), take a smaller --buffer, or say how many by --robots"
        )
    tol = TOLERANCE * max(1.0, fixed["cost"])
    control, doubts = _solve(RobotProblem.checked(n, *parameters), tol)
    while robots is None and control.n_max == n and control.upper - control.lower <= tol:
        n *= 2
        fewer = control
        control, doubts = _solve(RobotProblem.checked(n, *parameters), tol)
        if fewer.gain - control.gain <= max(tol, control.upper - control.lower):
            break
    for doubt in doubts:
        print(f"knapsolve: warning: {doubt}", file=sys.stderr)
    return control


def _solve(problem: RobotProblem, tol: float) -> tuple[RobotControl, list[str]]:
    """The optimal control, and what is to be said against it."""
    n, buffer, *rates = astuple(problem)
    with (
        working(f"control of {n:,} robots, {buffer:,} places in the queue"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always", ConvergenceWarning)
        control = solve_robot_control(n, buffer, *rates, tol=tol / problem.service_rate, max_iter=MOST_SWEEPS)
    return control, [str(warning.message) for warning in caught]


def _document(control: RobotControl, fixed: dict[str, Any]) -> dict[str, Any]:
    names = ("gain", "lower", "upper", "n_min", "n_mean", "n_max")
    values = {name: getattr(control, name) for name in names}
    return {"n_robots": control.problem.n_robots, **values, "saving": _saving(control, fixed)}


def _saving(control: RobotControl, fixed: dict[str, Any]) -> float:
    """Share of the fixed number's cost that control saves."""
    return 1.0 - control.gain / fixed["cost"]


def _print(facts: dict[str, Any], fixed: dict[str, Any], control: RobotControl | None) -> None:
    cost = f"an empty queue costs {facts['starvation_weight']:g} per unit time, a lost page 1"
    print(
        f"\nRobots bring {facts['arrival_rate']:g} pages per unit time each, the server finishes "
        f"{facts['service_rate']:g}; {facts['buffer']:,} places; {cost}."
    )
    rows = [["fixed number", f"{fixed['n_robots']:,}", "", "", _cost(fixed["cost"]), ""]]
    if control is not None:
        numbers = [f"{control.n_min:,}", f"{control.n_max:,}", _cost(control.gain)]
        rows.append(["controlled", f"{control.n_mean:.2f}", *numbers, f"{_saving(control, fixed):.2%}"])
    print_table(["", "robots active", "fewest", "most", "cost per unit time", "saved"], rows)
    most = "" if control is None else f" of at most {control.problem.n_robots:,}"
    print(f"The fixed number is the best one{most}; its load is {fixed['load']:.4g}.")
    if control is not None:
        robots = counted(control.problem.n_robots, "robot")
        bounds = f"[{_outwards(control.lower, ROUND_FLOOR)}, {_outwards(control.upper, ROUND_CEILING)}]"
        print(f"Control has {robots}; its least cost is certified to be in {bounds}.")


def _draw(control: RobotControl, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    control.plot(ax)
    figure.savefig(path, dpi=150)


def _outwards(bound: float, rounding: str) -> str:
    """Ten digits, rounded so that what lies within the bounds stays there."""
    return f"{Context(prec=DIGITS_OF_BOUNDS, rounding=rounding).create_decimal_from_float(float(bound)):g}"


def _cost(value: float) -> str:
    return f"{value:.5f}" if 1e-3 <= value < 1e9 else f"{value:.5g}"
