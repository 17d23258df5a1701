"""`knapsolve simulate`: learners let loose on synthetic pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from knapsolve._validation import check_real
from knapsolve.cli.output import counted, print_table, progress_bar, report
from knapsolve.cli.units import SCHEDULERS, check_plot_path, check_work, choose, choose_all
from knapsolve.displays import STYLES
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from knapsolve.learners import HTRAA, LAKG, OptimalPolicy, ProportionalPolicy, RenewalIndexPolicy
from knapsolve.learners.traa import UPDATES
from knapsolve.replay import POLICIES
from knapsolve.replay.policies import Setting
from knapsolve.simulation import History, simulate

OWNERS = {"resolution": ("lakg", "htraa"), "update": ("htraa",), "balance": ("renewal",)}  # of options
ENVIRONMENTS = {"bernoulli": BernoulliEnvironment, "pages": PollingEnvironment}
MOST_COLUMNS = 5
MOST_PAGES = 10**9


def command(
    learner: Annotated[
        list[str] | None, typer.Option(help=f"Which: {', '.join(POLICIES)}. Repeatable. Default: lakg, htraa.")
    ] = None,
    environment: Annotated[
        str, typer.Option(help="bernoulli (the papers' theory) or pages (what a crawler meets).")
    ] = "pages",
    n: Annotated[int, typer.Option("--n", min=2, max=MOST_PAGES, help="Number of pages.")] = 500,
    alpha: Annotated[float, typer.Option(help="Zipf: update probability of the first rank.")] = 0.9,
    beta: Annotated[float, typer.Option(help="Zipf: skewness; rank k has alpha / k**beta.")] = 1.5,
    perturbations: Annotated[int, typer.Option(min=0, help="Swaps of neighbours in the order of the pages.")] = 0,
    switch_every: Annotated[int | None, typer.Option(min=1, help="Polls between switches of two ranks.")] = None,
    polls: Annotated[str, typer.Option(help="Polls of each run; 1e6 is fine.")] = "100000",
    runs: Annotated[int, typer.Option(min=1, help="Independent runs of each learner.")] = 8,
    jobs: Annotated[int, typer.Option(help="Runs at a time; the result does not depend on it.")] = 1,
    scheduler: Annotated[str, typer.Option(help="edf (earliest deadline first) or random.")] = "edf",
    resolution: Annotated[int | None, typer.Option(min=2, help="Of lakg and htraa; their defaults otherwise.")] = None,
    update: Annotated[
        str | None,
        typer.Option(help="Of htraa: reward-penalty (its default), reward-inaction, inaction-penalty."),
    ] = None,
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Of renewal: 0 finds most changes, 1 keeps copies most current. Default: 0.8."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Save a picture here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Let learners poll pages whose update frequencies follow Zipf's law, and show what they come to find."""
    n_polls = _count(polls)
    kind = ENVIRONMENTS[choose("--environment", environment, ENVIRONMENTS)]
    choose("--scheduler", scheduler, SCHEDULERS)
    if update is not None:
        choose("--update", update, UPDATES)
    check_real("--alpha", alpha, low=0, high=1)
    check_real("--beta", beta, low=0)
    if jobs == 0:
        raise ValueError("--jobs must be at least 1, or negative to count from all processors (-1), got 0")
    names = choose_all("--learner", learner or ["lakg", "htraa"], POLICIES)
    chosen = {"resolution": resolution, "update": update, "balance": balance}
    _check_used(chosen, names)
    total = n_polls * runs
    check_work("--polls", total * len(names))
    unchanged = zipf_unchanged(n, alpha, beta, perturbations, random_state=seed)
    world = kind(unchanged, switch_every=switch_every)
    learners = {name: _learner(name, unchanged, n_polls, chosen) for name in names}
    check_plot_path(plot)
    histories: dict[str, History] = {}
    finished = True
    with progress_bar(total * len(names)) as stage:
        try:
            for name, each in learners.items():
                histories[name] = simulate(
                    each,
                    world,
                    n_polls,
                    scheduler=scheduler,
                    n_runs=runs,
                    n_jobs=jobs,
                    random_state=seed,
                    progress=stage(name, total * len(histories)),
                )
            stage("simulated", total * len(names))(0, 0)
        except KeyboardInterrupt:
            finished = False
    best = world.value(OptimalPolicy(unchanged=unchanged).fit(_two_polls(n), np.arange(n) % 2).allocate())
    facts = {"environment": environment, "n": n, "alpha": alpha, "beta": beta, "scheduler": scheduler}
    facts |= {"runs": runs, "seed": seed, "finished": finished, "optimal_value": best}

    def saves() -> Iterator[str]:
        if plot is not None and histories:
            _draw(histories, best, switch_every is None, plot)
            yield f"picture saved as {plot}"

    report(
        as_json,
        lambda: facts | {"learners": {name: _document(each) for name, each in histories.items()}},
        lambda: _print(facts, learners, histories, switch_every is not None),
        saves(),
    )
    if not finished:
        raise KeyboardInterrupt


def _count(text: str) -> int:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        number = 0.0
    if not (1 <= number < 2**53) or number != int(number):
        raise ValueError(f"--polls must be a whole number of at least 1, such as 100000 or 1e6, got {text!r}")
    return int(number)


def _two_polls(n: int) -> np.ndarray:
    """A poll log that names every page once; the optimal policy, told its rates, learns nothing from it."""
    return np.column_stack([np.arange(n), np.ones(n)])


def _check_used(chosen: dict[str, Any], names: list[str]) -> None:
    """Refuse options of learners that are not among those asked for."""
    for option, value in chosen.items():
        if value is not None and not set(OWNERS[option]) & set(names):
            raise ValueError(f"--{option} is of {' and '.join(OWNERS[option])}: name it by --learner, got {value}")


def _learner(name: str, unchanged: np.ndarray, n_polls: int, chosen: dict[str, Any]) -> Any:
    """The policy of that name, the automata with the papers' settings, the oracles with what is true here."""
    given = {key: value for key, value in chosen.items() if value is not None and name in OWNERS[key]}
    own: dict[str, Callable[[], Any]] = {
        "renewal": lambda: RenewalIndexPolicy(**given),
        "lakg": lambda: LAKG(n_materials=unchanged.size, **given),
        "htraa": lambda: HTRAA(n_materials=unchanged.size, **given),
        "told": lambda: ProportionalPolicy(unchanged=unchanged),
        "optimal": lambda: OptimalPolicy(unchanged=unchanged),
    }
    setting = Setting(unchanged.size, 0, n_polls, None, 1 - unchanged)
    learner = own[name]() if name in own else POLICIES[name].make(setting)
    learner._check_all_parameters()
    return learner


def _document(history: History) -> dict[str, Any]:
    error = history.standard_error()
    return {
        "polls": history.polls.tolist(),
        "value": history.mean().tolist(),
        "standard_error": error.tolist() if np.isfinite(error).all() else None,
        "detections_per_poll": (history.detections.mean(axis=0) / history.polls).tolist(),
    }


def _print(facts: dict[str, Any], learners: dict[str, Any], histories: dict[str, History], switching: bool) -> None:
    """Value at the end and at powers of ten before it, and all that was found."""
    law = f"{facts['n']:,} pages, update probability {facts['alpha']:g} / k^{facts['beta']:g}"
    print(f"\n{law}; {facts['environment']}, {facts['scheduler']}; {counted(facts['runs'], 'run')}")
    best = f"the best is {facts['optimal_value']:.4f}{' before ranks switch' if switching else ''}"
    print(f"value = expected changes found per poll at the amounts held; {best}")
    if not histories:
        return
    points = next(iter(histories.values())).polls
    wanted = [10**k for k in range(1, 18) if points[0] <= 10**k < points[-1]][-MOST_COLUMNS + 1 :] + [int(points[-1])]
    places = [int(np.argmin(np.abs(points - each))) for each in wanted]
    rows = []
    for name, history in histories.items():
        mean, error = history.mean(), history.standard_error()
        cells = [f"{mean[k]:.4f}" + (f" ± {error[k]:.4f}" if np.isfinite(error[k]) else "") for k in places]
        rows.append([name, *cells, f"{history.detections[:, -1].mean() / points[-1]:.4f}"])
    print_table(["value after", *(counted(int(points[k]), "poll") for k in places), "found per poll"], rows)
    if np.isfinite(error).all():
        print("± one standard error.")
    if "renewal" in histories and learners["renewal"].balance > 0:
        print(
            f"renewal, of balance {learners['renewal'].balance:g}, also keeps copies current, which this value does "
            "not count: --balance 0 makes it find most changes."
        )


def _draw(histories: dict[str, History], best: float, static: bool, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, history in histories.items():
        colour, marker = STYLES[name]
        history.plot(ax=ax, label=name, color=colour, marker=marker, markevery=0.1)
    if static:
        ax.axhline(best, color="black", lw=0.8, ls=":", label="best possible")
    ax.set_ylim(0, 1)
    ax.grid(alpha=0.25)
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=150)
