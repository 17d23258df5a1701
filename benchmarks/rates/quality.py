"""How good allocation by estimated rates is in the papers' environments: value, with standard errors.

    python benchmarks/rates/quality.py
"""

import numpy as np

from knapsolve import RateAllocator, simulate, solve_nefk
from knapsolve.criteria import Freshness, Harmonic, PoissonFreshness
from knapsolve.environments import PollingEnvironment, zipf_unchanged

WORLDS = ((0.9, 1.5), (0.3, 1.5), (0.3, 1.0))
N_RUNS = 20


def optimum(world):
    return world.value(np.log(world.unchanged) / np.log(world.unchanged).sum())


def papers_environments():
    print("500 pages, EDF: value after 1e4 and 1e5 polls")
    settings = [{"estimator": name} for name in ("recursive", "bayes", "mle", "multiplicative")]
    for setting in [*settings, {"evidence_limit": 10.0}]:
        for alpha, beta in WORLDS:
            world = PollingEnvironment(zipf_unchanged(500, alpha, beta))
            learner = RateAllocator(**setting)
            history = simulate(learner, world, 100_000, n_runs=N_RUNS, n_jobs=-1, record_every=10_000, random_state=0)
            mean, error = history.mean()[[0, -1]], history.standard_error()[[0, -1]]
            row = " ".join(f"{m:.4f} ({e:.4f})" for m, e in zip(mean, error))
            print(f"  {setting} ({alpha}, {beta}) {row}  optimum {optimum(world):.4f}", flush=True)


def many_pages(n=32_768):
    print(f"{n} pages, EDF: share of the optimum after 1e5 polls, in {N_RUNS} random orders")
    for alpha, beta in WORLDS:
        share = []
        for seed in range(N_RUNS):
            world = PollingEnvironment(np.random.default_rng(seed).permutation(zipf_unchanged(n, alpha, beta)))
            share.append(simulate(RateAllocator(), world, 100_000, random_state=seed).value[0, -1] / optimum(world))
        print(f"  ({alpha}, {beta}) {np.mean(share):.4f} ({np.std(share, ddof=1) / N_RUNS**0.5:.4f})", flush=True)


def switching_ranks(every=1000, n_runs=4):
    print(f"500 pages (.9, 1.5), ranks switch every {every} polls: mean value over polls 5e5 to 1e6")
    world = PollingEnvironment(zipf_unchanged(500, 0.9, 1.5), switch_every=every)
    settings = [{"estimator": "multiplicative", "gain": gain} for gain in (0.05, 0.1, 0.2)]
    settings += [{"evidence_limit": limit} for limit in (3.0, 6.0, 10.0, 20.0, 40.0)]
    settings += [{"estimator": "recursive", "memory": memory} for memory in (100.0, 300.0, 1000.0, None)]
    settings.append({"evidence_limit": 1e140})
    for setting in settings:
        history = simulate(
            RateAllocator(**setting), world, 1_000_000, n_runs=n_runs, record_every=4_999, random_state=0
        )
        late = history.value[:, history.polls > 500_000].mean(axis=1)
        print(f"  {setting}: {late.mean():.4f} ({late.std(ddof=1) / n_runs**0.5:.4f})", flush=True)


def other_criteria(n=500, n_polls=200_000):
    print(f"{n} rates of a Gamma of shape .7, EDF: share of the optimum after {n_polls} polls, or as many as are named")
    rates = np.random.default_rng(0).gamma(0.7, 1.0, n) + 0.01
    world = PollingEnvironment(np.exp(-rates))
    settings = [({"estimator": name}, n_polls) for name in ("recursive", "bayes", "mle", "multiplicative")]
    slow = {"estimator": "multiplicative"}
    settings += [({**slow, "gain": 0.5}, n_polls), (slow, 10 * n_polls)]
    for criterion, kind in {"freshness": Freshness, "poisson": PoissonFreshness, "harmonic": Harmonic}.items():
        worth = kind(rates)
        best = worth.value(solve_nefk(worth, 1.0).amounts).sum()
        for setting, polls in settings:
            share = []
            for seed in range(4):
                learner = RateAllocator(criterion=criterion, **setting)
                simulate(learner, world, polls, random_state=seed)
                share.append(worth.value(learner.amounts_).sum() / best)
            row = f"{np.mean(share):.3f} ({np.std(share, ddof=1) / 2:.4f})"
            print(f"  {criterion} {setting} {polls:.0e}: {row}", flush=True)


if __name__ == "__main__":
    papers_environments()
    many_pages()
    switching_ranks()
    other_criteria()
