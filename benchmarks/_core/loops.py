"""The compiled loop on a standard problem, without the package around it.

Zipf rates over n materials (alpha 0.9, beta 1.5), the papers' learners and resolutions, all of it seeded.
Run as a script it makes a warm-up and a measured call of the loop, for benchmarks/callgrind.py:
    python loops.py lakg|htraa edf|random N POLLS
There it skips knapsolve/__init__.py, whose scikit-learn would take most of a minute to load under valgrind.
"""

import sys
import types
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    bare = types.ModuleType("knapsolve")
    bare.__path__ = [str(Path(__file__).parents[2] / "knapsolve")]
    sys.modules["knapsolve"] = bare

from knapsolve._core.automata import AutomataTree, KnapsackGame
from knapsolve._core.environments import Bernoulli
from knapsolve._core.loop import run
from knapsolve._core.schedulers import DeadlineOrder, RandomOrder


def lakg(n: int) -> KnapsackGame:
    """LAKG with exponent 1.3; finer for many materials, so that equal shares are a state."""
    resolution = max(1500, n // 6)
    shares = (np.arange(resolution + 1) / resolution) ** 1.3
    units = np.rint(shares * 2.0**55).astype(np.uint64)
    start = max(1, int(np.searchsorted(n * shares, 1.0, side="right")) - 1)
    return KnapsackGame(np.full(n, start, np.int32), n, shares, units, 1.0)


def htraa(n: int) -> AutomataTree:
    """H-TRAA of resolution 500 at every depth, linear shares, reward-penalty."""
    resolution, depth = 500, (n - 1).bit_length()
    leaf = np.empty(n, np.int32)
    below = [(1, 0, n)]
    while below:
        node, first, size = below.pop()
        if size == 1:
            leaf[first] = node
            continue
        left = (size + 1) // 2
        below += [(2 * node, first, left), (2 * node + 1, first + left, size - left)]
    share = np.tile(np.arange(resolution + 2) / (resolution + 1), (depth, 1))
    states = np.full(2**depth, (resolution + 1) // 2, np.int32)
    return AutomataTree(states, leaf, n, np.full(depth, resolution, np.int32), share, 1.0, True, True, True)


LEARNERS = {"lakg": lakg, "htraa": htraa}


class Loop:
    """One learner, scheduler and Bernoulli environment, ready to go on polling."""

    def __init__(self, learner: str, scheduler: str, n: int):
        self.streams = [np.random.default_rng(seed) for seed in (1, 2)]
        self.learner = LEARNERS[learner](n)
        changed = 0.9 / np.arange(1, n + 1) ** 1.5
        order = np.arange(n, dtype=np.int32)
        self.environment = Bernoulli(-np.log1p(-changed), 0, np.cumsum(changed), order)
        self.scheduler = DeadlineOrder(n, DeadlineOrder.allocate(n)) if scheduler == "edf" else RandomOrder()
        self.scheduler.start(self.learner, self.streams[0])
        self.done = 0

    def poll(self, n_polls: int) -> int:
        """Go on for n_polls; return how many detections they made."""
        stop = self.done + n_polls
        polls, detections = run(
            self.learner, self.scheduler, self.environment, self.done, stop, 0.0, 1.0, *self.streams
        )
        assert polls == n_polls
        self.done = stop
        return detections


if __name__ == "__main__":
    loop = Loop(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    for _ in range(2):
        loop.poll(int(sys.argv[4]))
