"""Cost of a poll in the closed loop, beside a Python twin and a heapq scheduler, on the reference scale.

    python benchmarks/closed_loop.py

Each figure is the smallest of many short trials; `scaled` multiplies it by 1.6 ns / the time that numpy's
Generator.random(out=a) takes for a number in the same run, so that figures from different machines compare.
"""

import heapq
import math
import random
import sys
import time

import numpy as np

from knapsolve import HTRAA, LAKG, EDFScheduler
from knapsolve._core.lanes import WIDTH, KnapsackLanes
from knapsolve._core.loop import run
from knapsolve._core.schedulers import DeadlineOrder, RandomOrder
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged

REFERENCE = 1.6  # ns a random number on the machine that targets are for
TARGETS = {  # ns a poll, Bernoulli environment
    ("LAKG", 500, "random"): 24,
    ("LAKG", 500, "edf"): 35,
    ("LAKG", 32768, "random"): 45,
    ("LAKG", 32768, "edf"): 100,
    ("HTRAA", 500, "random"): 36,
    ("HTRAA", 500, "edf"): 70,
    ("HTRAA", 32768, "random"): 50,
    ("HTRAA", 32768, "edf"): 140,
}  # fmt: skip


def best_of(function, trials, work):
    """Smallest time of `trials` calls, in ns per unit of work."""
    times = []
    for _ in range(trials):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) / work * 1e9


def random_number_cost():
    """Cost of a random number, ns."""
    generator, out = np.random.default_rng(0), np.empty(20_000)
    return best_of(lambda: generator.random(out=out), 200, out.size)


def make_learner(name, n):
    if name == "HTRAA":
        return HTRAA()
    return LAKG(resolution=max(1500, int(np.ceil(n ** (1 / 1.3) * 1.7))))


def closed_loop(name, n, order, environment=BernoulliEnvironment, warm_up=200_000):
    """A function that makes some polls in the middle of a long run."""
    world = environment(zipf_unchanged(n, 0.9, 1.5))
    learner = make_learner(name, n)
    learner._begin(n)
    streams = [np.random.default_rng(seed) for seed in (1, 2)]
    core, compiled = learner._core(), world._core()
    scheduler = RandomOrder() if order == "random" else DeadlineOrder(n, DeadlineOrder.allocate(n))
    scheduler.start(core, streams[0])
    done = 0

    def polls(count=20_000):
        nonlocal done
        run(core, scheduler, compiled, done, done + count, 0.0, 1.0, *streams)
        done += count

    polls(warm_up)
    return polls


def side_by_side(n, environment=BernoulliEnvironment, warm_up=200_000):
    """As `closed_loop`, in eight replications of LAKG with random access at once; polls are those of all."""
    world = environment(zipf_unchanged(n, 0.9, 1.5))
    learners = [make_learner("LAKG", n) for _ in range(WIDTH)]
    for learner in learners:
        learner._begin(n)
    words = np.random.default_rng(1).integers(0, 2**64, (WIDTH, 4), dtype=np.uint64)
    worlds = [world._core() for _ in learners]
    lanes = KnapsackLanes([learner._core() for learner in learners], worlds, words, 1.0)

    def polls(count=20_000):
        lanes.run(count // WIDTH)

    polls(WIDTH * warm_up)
    return polls


def lakg_in_python(rate, polls, resolution=1500, exponent=1.3):
    """LAKG over a sum tree in lists: random access, Bernoulli environment, as one would write it."""
    n, leaves = len(rate), 1 << (len(rate) - 1).bit_length()
    table = [(s / resolution) ** exponent for s in range(resolution + 1)]
    first = max(1, sum(n * x <= 1 for x in table) - 1)
    state, tree = [first] * n, [0.0] * (2 * leaves)
    tree[leaves : leaves + n] = [table[first]] * n
    for k in range(leaves - 1, 0, -1):
        tree[k] = tree[2 * k] + tree[2 * k + 1]
    for _ in range(polls):
        u, k = random.random() * tree[1], 1
        while k < leaves:
            k *= 2
            if u >= tree[k]:
                u -= tree[k]
                k += 1
        i = k - leaves
        v = random.random() < 1 - math.exp(-rate[i] / tree[k])
        full, s = tree[1] >= 1, state[i]
        state[i] = min(s + 1, resolution) if v and not full else max(s - 1, 1) if full and not v else s
        change = table[state[i]] - table[s]
        while k:
            tree[k] += change
            k //= 2


def htraa_in_python(rate, polls, resolution=500):
    """H-TRAA by tree walks: reward-penalty, Bernoulli environment, as one would write it."""
    n, states = len(rate), {}
    for _ in range(polls):
        low, high, x, path = 0, n, 1.0, []
        while high - low > 1:
            middle = (low + high + 1) // 2
            share = states.setdefault((low, high), resolution // 2) / (resolution + 1)
            left = random.random() < share
            path.append(((low, high), left, random.random() < (1 - share if left else share)))
            x *= share if left else 1 - share
            low, high = (low, middle) if left else (middle, high)
        v = random.random() < 1 - math.exp(-rate[low] / x)
        for node, left, gate in path:
            if gate:
                states[node] = min(max(states[node] + (1 if left == v else -1), 1), resolution)


def python_twin(name, n, polls=20_000):
    """The same loop in Python: ns a poll."""
    rate = (-np.log(zipf_unchanged(n, 0.9, 1.5))).tolist()
    twin = lakg_in_python if name == "LAKG" else htraa_in_python
    return best_of(lambda: twin(rate, polls), 3, polls)


def heapq_cost(amounts, polls=100_000):
    """EDF with the standard library's heap: ns a poll."""
    generator = np.random.default_rng(0)
    periods = (1 / amounts).tolist()
    heap = [(generator.random() * period, i) for i, period in enumerate(periods)]
    heapq.heapify(heap)

    def serve():
        for _ in range(polls):
            deadline, i = heap[0]
            heapq.heapreplace(heap, (deadline + periods[i], i))

    return best_of(serve, 3, polls)


def edf_cost(amounts):
    """EDF alone: ns a poll."""
    order, learner = EDFScheduler(amounts, random_state=0)._views()
    order.skip(learner, max(200_000, 2 * amounts.size))
    return best_of(lambda: order.skip(learner, 20_000), 100, 20_000)


def memory(name, n, order):
    """Bytes a material of a learner's state and its scheduler's, identifiers and environment not counted."""
    learner = make_learner(name, n)
    learner._begin(n)
    states = sum(getattr(learner, part).nbytes for part in learner._state_names)
    if order == "edf":
        return (states + sum(part.nbytes for part in DeadlineOrder.allocate(n))) / n
    return (states + 4 * 2 ** (n - 1).bit_length()) / n  # H-TRAA's table of leaves


def verdict(scaled, target):
    """Whether a scaled figure reaches its target."""
    return "pass" if scaled <= target else "MISS"


def main():
    print("closed loop, ns a poll   scaled  target          (raw)  pages   Python twin")
    for (name, n, order), target in TARGETS.items():
        cost = best_of(closed_loop(name, n, order), 200, 20_000)
        pages = best_of(closed_loop(name, n, order, PollingEnvironment), 100, 20_000)
        scale = REFERENCE / random_number_cost()
        scaled = cost * scale
        twin = f"{python_twin(name, n):8.0f}" if order == "random" else ""
        print(
            f"{name:6s} n={n:<6d} {order:7s} {scaled:8.1f} {target:7d}  {verdict(scaled, target)} {cost:8.1f} "
            f"{pages * scale:6.1f} {twin}"
        )
        sys.stdout.flush()
    print("\neight LAKG side by side  scaled    loop  (raw)  pages")
    for n in (50, 500, 32_768):
        cost, loop = (
            best_of(side_by_side(n), 200, 20_000),
            best_of(closed_loop("LAKG", n, "random"), 200, 20_000),
        )
        pages = best_of(side_by_side(n, PollingEnvironment), 100, 20_000)
        scale = REFERENCE / random_number_cost()
        row = f"{cost * scale:8.1f} {loop * scale:7.1f} {cost:7.1f} {pages * scale:6.1f}"
        print(f"LAKG   n={n:<6d} random  {row}")
    print("\nEDF alone, ns a poll     scaled   (raw)   heapq   ratio")
    generator = np.random.default_rng(0)
    for n in (500, 32_768, 1_000_000):
        amounts = np.exp(generator.normal(0, 1.5, n))
        ours, theirs = edf_cost(amounts), heapq_cost(amounts)
        print(
            f"n={n:<21d} {ours * REFERENCE / random_number_cost():8.1f} {ours:7.1f} {theirs:7.0f} "
            f"{theirs / ours:7.1f}"
        )
    print("\nbytes a material (target: 40)   H-TRAA random  H-TRAA EDF  LAKG EDF")
    for n in (500, 32_768, 32_769, 65_537, 90_000, 262_145, 1_000_000):
        print(
            f"n={n:<30d}{memory('HTRAA', n, 'random'):13.1f}{memory('HTRAA', n, 'edf'):12.1f}"
            f"{memory('LAKG', n, 'edf'):10.1f}"
        )


if __name__ == "__main__":
    main()
