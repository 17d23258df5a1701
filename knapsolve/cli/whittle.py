"""`knapsolve whittle`: which sites to crawl when content goes stale, and how often."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from knapsolve.cli.output import counted, print_table, progress_bar, report
from knapsolve.cli.sites import Sites, read_sites
from knapsolve.cli.units import check_output_path, check_plot_path, check_work
from knapsolve.reproduce.whittle import DECAYS, RATES
from knapsolve.restless import RelaxedBound, WhittlePolicy, relaxed_bound, whittle_index

EXAMPLE = "example"
BLOCK = 2**20  # crawls between two moves of the progress bar
MOST_ROWS = 20
CURVE_STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))  # a site like another shows through its gaps
MOST_CURVES = len(CURVE_STYLES)
MOST_STEPS = 60  # in the picture of who is crawled when
COLUMNS = ("site", "arrival_rate", "decay_rate", "crawls", "share", "period")


def command(
    sites: Annotated[
        str | None,
        typer.Argument(help="A .csv or .parquet file of sites, or - for standard input. Default: an example."),
    ] = None,
    crawls: Annotated[int, typer.Option(min=1, help="Sites that can be crawled at a step.")] = 1,
    steps: Annotated[
        int | None,
        typer.Option(min=2, help="Steps to simulate. Default: 100 crawls a site, at least 1000 steps."),
    ] = None,
    max_age: Annotated[
        int | None, typer.Option(min=1, help="Steps after which content is dropped. Default: never.")
    ] = None,
    site_column: Annotated[
        str | None, typer.Option(help="Column of names. Default: site, or else the numbers of the rows.")
    ] = None,
    arrival_column: Annotated[str, typer.Option(help="Column of items that arrive a step.")] = "arrival_rate",
    decay_column: Annotated[
        str, typer.Option(help="Column of rates at which an item loses its worth, a step.")
    ] = "decay_rate",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save crawls and periods of all sites here (.csv).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Crawl sites whose content goes stale by the Whittle index, and say how often that looks at each.

    At every step the sites of the largest indices are crawled. The tables say what that collects a step, the
    most that any policy could, and how the crawls are shared out.
    """
    check_plot_path(plot)
    check_output_path(output)
    if sites is None:
        known = Sites([str(k) for k in range(1, RATES.size + 1)], RATES, DECAYS)
    else:
        known = read_sites(sites, site_column, arrival_column, decay_column)
    if crawls > len(known.names):
        raise ValueError(f"--crawls must be at most the number of sites, {len(known.names):,}, got {crawls:,}")
    n_steps = steps or max(1000, math.ceil(100 * len(known.names) / crawls))
    check_work("--steps", n_steps * crawls, "crawls")
    limit = math.inf if max_age is None else max_age
    policy = WhittlePolicy(known.arrival_rate, known.decay_rate, crawls, limit)
    bound = relaxed_bound(known.arrival_rate, known.decay_rate, crawls, limit)
    outcome = _crawl(policy, n_steps)
    facts = {"sites": sites or EXAMPLE, "n_sites": policy.n_sites, "crawls": crawls, "max_age": max_age}

    def saves() -> Iterator[str]:
        if output is not None:
            with output.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(COLUMNS)
                writer.writerows(_rows(known, outcome, np.arange(policy.n_sites)))
            yield f"sites saved as {output}"
        if plot is not None:
            _draw(policy, known, outcome, bound, plot)
            yield f"picture saved as {plot}"

    report(
        as_json,
        lambda: facts | _document(known, outcome, bound),
        lambda: _print(facts, known, outcome, bound),
        saves(),
    )


@dataclass
class Outcome:
    """What was collected a step, from the start and in the last half; crawls (n_sites,) of the last half."""

    n_steps: int
    reward: float
    late_reward: float
    crawls: np.ndarray

    @property
    def late_steps(self) -> int:
        """Steps of the last half."""
        return self.n_steps - self.n_steps // 2

    @property
    def most_crawled(self) -> np.ndarray:
        """The sites of the table and the picture."""
        return np.argsort(-self.crawls, kind="stable")[:MOST_ROWS]


def _crawl(policy: WhittlePolicy, n_steps: int) -> Outcome:
    """Let the policy crawl in blocks; sites hold their mean contents."""
    block = max(1, BLOCK // policy.n_crawls)
    collected, counts = [0.0, 0.0], np.zeros(policy.n_sites, dtype=np.int64)
    with progress_bar(n_steps, "steps") as stage:
        advance = stage("crawling", 0)
        for half, stretch in enumerate((range(n_steps // 2), range(n_steps // 2, n_steps))):
            for start in stretch[::block]:
                size = min(block, stretch.stop - start)
                reward, crawled = np.empty(size), np.empty((size, policy.n_crawls), dtype=np.int32)
                policy._chooser(policy.n_crawls).run(reward, crawled)
                collected[half] += float(reward.sum())
                if half == 1:
                    counts += np.bincount(crawled.ravel(), minlength=policy.n_sites)
                advance(start + size, n_steps)
    late = n_steps - n_steps // 2
    return Outcome(n_steps, sum(collected) / n_steps, collected[1] / late, counts)


def _rows(known: Sites, outcome: Outcome, chosen: np.ndarray) -> list[list[Any]]:
    """What COLUMNS say of the chosen sites; the period, in steps, is None for sites not crawled."""
    total = int(outcome.crawls.sum())
    return [
        [
            known.names[site],
            float(known.arrival_rate[site]),
            float(known.decay_rate[site]),
            crawls,
            crawls / total,
            outcome.late_steps / crawls if crawls else None,
        ]
        for site, crawls in zip(chosen.tolist(), outcome.crawls[chosen].tolist(), strict=True)
    ]


def _document(known: Sites, outcome: Outcome, bound: RelaxedBound) -> dict[str, Any]:
    rows = _rows(known, outcome, np.arange(len(known.names)))
    return {
        "steps": outcome.n_steps,
        "reward": outcome.reward,
        "late_steps": outcome.late_steps,
        "late_reward": outcome.late_reward,
        "upper_bound": bound.value,
        "price": bound.price,
        "policy": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
    }


def _print(facts: dict[str, Any], known: Sites, outcome: Outcome, bound: RelaxedBound) -> None:
    what = "the example of Avrachenkov and Borkar (2019)" if facts["sites"] == EXAMPLE else facts["sites"]
    dropped = "" if facts["max_age"] is None else f"; content is dropped after {counted(facts['max_age'], 'step')}"
    print(f"\n{what}: {counted(facts['n_sites'], 'site')}, crawls a step: {facts['crawls']:,}{dropped}.")
    share = f"{outcome.reward / bound.value:.2%}" if bound.value else ""
    rows = [
        [f"Whittle policy, {outcome.n_steps:,} steps from empty sites on", f"{outcome.reward:.7g}", share],
        [f"Whittle policy, the last {counted(outcome.late_steps, 'step')}", f"{outcome.late_reward:.7g}", ""],
        ["upper bound for every policy", f"{bound.value:.7g}", ""],
    ]
    print_table(["content collected a step", "items", "of the bound"], rows)
    shown = _rows(known, outcome, outcome.most_crawled)
    rows = [
        [name, f"{arrival:g}", f"{decay:g}", f"{crawls:,}", f"{100 * share:.3g}%", f"{period:.2f}" if period else "-"]
        for name, arrival, decay, crawls, share, period in shown
    ]
    print_table(["site", "arrival rate", "decay rate", "crawls", "share of crawls", "steps between"], rows)
    if len(shown) < len(known.names):
        print(f"The {len(shown)} sites crawled most, of {len(known.names):,}; --output saves all.")
    never = int((outcome.crawls == 0).sum())
    print(
        f"Crawls are those of the last half; sites without any: {never:,}. "
        f"The price of a crawl is {bound.price:.5g} items."
    )


def _draw(policy: WhittlePolicy, known: Sites, outcome: Outcome, bound: RelaxedBound, path: Path) -> None:
    """The indices of some sites as they wait, and who is crawled in the next steps."""
    import matplotlib.pyplot as plt

    shown = outcome.most_crawled[outcome.crawls[outcome.most_crawled] > 0]
    longest = outcome.late_steps / outcome.crawls[shown].min()
    span = int(min(max(8.0, 4.0 * longest), MOST_STEPS))
    ages = np.arange(min(max(8, math.ceil(2.0 * longest)), 10_000) + 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    curves = shown[np.unique(np.linspace(0, shown.size - 1, MOST_CURVES).astype(int))]
    for site, style in zip(curves, CURVE_STYLES, strict=False):
        index = whittle_index(
            age=ages,
            arrival_rate=policy.arrival_rate[site],
            decay_rate=policy.decay_rate[site],
            max_age=policy.max_age[site],
        )
        left.plot(ages, index, ls=style, lw=2, label=_short(known.names[site]))
    left.axhline(bound.price, color="0.3", ls="--", lw=1, label="price of a crawl")
    left.set(xlabel="steps since the last crawl", ylabel="Whittle index, items", xlim=(0, ages[-1]))
    left.legend(frameon=False, fontsize=8, title="site")
    row = np.full(policy.n_sites, -1)
    row[shown] = np.arange(shown.size)
    for step in range(outcome.n_steps, outcome.n_steps + span):
        rows = row[policy.step()]
        right.scatter(np.full((rows >= 0).sum(), step), rows[rows >= 0], marker="s", s=20, color="C0")
    right.set_yticks(np.arange(shown.size), [_short(known.names[site]) for site in shown])
    right.set(xlabel="step", ylabel="site crawled", xlim=(outcome.n_steps - 0.5, outcome.n_steps + span))
    right.invert_yaxis()
    figure.savefig(path, dpi=150)


def _short(name: str) -> str:
    """A name that fits beside an axis, without what matplotlib would take for a formula."""
    return (name if len(name) <= 24 else name[:23] + "…").replace("$", r"\$")
