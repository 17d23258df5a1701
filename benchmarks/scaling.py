"""Cost of a poll against the number of materials.

    python benchmarks/scaling.py [--largest 1e7] [--polls 1e6] [--output output]

Whole loop, one thread, from the uniform start, where every poll goes to another place in memory: the dear
end. Processor time between the loop's own reports of progress, so that neither setting up nor other programs
count; the least and the median over reports of about 65,000 polls. numpy's ``Generator.random(out=a)`` is
timed in the same run, as a measure of the machine.
"""

import argparse
import itertools
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from knapsolve import HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment

LEARNERS = {
    # n smallest amounts are the same share of the capacity at every n, as LAKG needs
    "LAKG": lambda n: LAKG(resolution=max(2, round(1500 * (n / 500) ** (1 / 1.3)))),
    "H-TRAA": lambda n: HTRAA(),
}


def random_number_cost() -> float:
    """Nanoseconds a number of numpy's uniform generator, the least of several."""
    generator, numbers = np.random.default_rng(0), np.empty(100_000)
    laps = []
    for _ in range(50):
        start = time.perf_counter()
        generator.random(out=numbers)
        laps.append(time.perf_counter() - start)
    return min(laps) / numbers.size * 1e9


def poll_cost(learner: str, n: int, scheduler: str, n_polls: int) -> tuple[float, float]:
    """Nanoseconds a poll: least and median over the loop's reports."""
    environment = BernoulliEnvironment(1 - 0.9 / np.arange(1, n + 1) ** 1.5)
    reports: list[tuple[float, int]] = []
    simulate(
        LEARNERS[learner](n), environment, n_polls, scheduler=scheduler, record_every=n_polls, random_state=0,
        progress=lambda done, total: reports.append((time.thread_time(), done)),
    )  # fmt: skip
    laps = [
        (later[0] - earlier[0]) / (later[1] - earlier[1]) * 1e9
        for earlier, later in itertools.pairwise(reports[:-1])
    ]
    return min(laps), statistics.median(laps)


def measure(sizes: list[int], n_polls: int) -> dict[tuple[str, str], list[float]]:
    """Least cost of each learner and scheduler at each size; prints as it goes."""
    costs: dict[tuple[str, str], list[float]] = {}
    heads = ("least ns", "median ns", "ns / log2 n")
    print(f"{'learner':8} {'scheduler':10} {'materials':>12}" + "".join(f"{head:>12}" for head in heads))
    for learner in LEARNERS:
        for scheduler in ("random", "edf"):
            for n in sizes:
                least, median = poll_cost(learner, n, scheduler, n_polls)
                costs.setdefault((learner, scheduler), []).append(least)
                cells = "".join(f"{cost:12.1f}" for cost in (least, median, least / np.log2(n)))
                print(f"{learner:8} {scheduler:10} {n:12,}{cells}", flush=True)
    return costs


def draw(sizes: list[int], costs: dict[tuple[str, str], list[float]], path: Path) -> None:
    """Nanoseconds a poll against n on two logarithmic axes, beside a line that grows like log n."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    for (learner, scheduler), line in costs.items():
        style = {"random": "o-", "edf": "s--"}[scheduler]
        color = {"LAKG": "C0", "H-TRAA": "C1"}[learner]
        ax.loglog(sizes, line, style, color=color, label=f"{learner}, {scheduler}")
    start = min(line[0] for line in costs.values())
    reference = start * np.log2(sizes) / np.log2(sizes[0])
    ax.loglog(sizes, reference, color="black", lw=1, label="proportional to log n")
    ax.set(xlabel="materials n", ylabel="ns a poll, whole loop, one thread", title="Cost of a poll")
    ax.grid(alpha=0.25, which="both")
    ax.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description="Cost of a poll against the number of materials.")
    parser.add_argument("--largest", type=float, default=1e7, help="largest number of materials")
    parser.add_argument("--polls", type=float, default=1e6, help="polls of each run, at least 3e5")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    arguments = parser.parse_args()
    if not 100 <= arguments.largest <= 1e8 or not 3e5 <= arguments.polls <= 1e10:
        parser.error("--largest must be in [100, 1e8] and --polls in [3e5, 1e10]")
    print(f"numpy Generator.random(out=a): {random_number_cost():.2f} ns a number")
    sizes = [10**k for k in range(2, int(np.log10(arguments.largest) + 1e-9) + 1)]
    costs = measure(sizes, int(arguments.polls))
    path = arguments.output / "scaling.png"
    draw(sizes, costs, path)
    print(f"picture: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
