"""Values that GPOKS, LAKG and H-TRAA reach on 512 pages, and the polls that each needs for them.

python benchmarks/gpoks/polls_needed.py: defaults, Bernoulli environment (.9, 1.5), earliest deadline first.
"""

import numpy as np

from knapsolve import GPOKS, HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment, zipf_unchanged

N_PAGES, EVERY = 512, 250
POLLS = (1000, 2000, 4000, 8000, 12_000, 24_000, 48_000, 96_000)
LEVELS = (0.5, 0.75, 0.9, 0.937, 0.95)
SCHEMES = {"GPOKS": (GPOKS(), 24_000, 10), "LAKG": (LAKG(), 96_000, 20), "H-TRAA": (HTRAA(), 96_000, 20)}


def crossings(values, level):
    """Polls that each run needs until its value, (n_runs, n_records), is at least `level`; inf if it never is."""
    reached = values >= level
    return np.where(reached.any(axis=1), EVERY * (1 + reached.argmax(axis=1)), np.inf)


def spread(sample, digits):
    """Mean and standard error."""
    return f"{sample.mean():.{digits}f} ± {sample.std(ddof=1) / sample.size**0.5:.{digits}f}"


def main():
    world = BernoulliEnvironment(zipf_unchanged(N_PAGES, 0.9, 1.5))
    for name, (learner, n_polls, n_runs) in SCHEMES.items():
        history = simulate(learner, world, n_polls, n_runs=n_runs, record_every=EVERY, random_state=0)
        at = [polls for polls in POLLS if polls <= n_polls]
        print(f"{name}, {n_runs} runs")
        print("  value after " + ", ".join(f"{n}: {spread(history.value[:, n // EVERY - 1], 4)}" for n in at))
        needed = {level: crossings(history.value, level) for level in LEVELS}
        texts = (f"{level}: {spread(n, 0) if np.isfinite(n).all() else 'not all'}" for level, n in needed.items())
        print("  polls until " + ", ".join(texts), flush=True)


if __name__ == "__main__":
    main()
