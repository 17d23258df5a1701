"""Fixed amounts from a year's uniform polls of the Debian packages, and what the next year makes of them.

Amounts as `knapsolve allocate` finds them, by the rates of the renewal index and by estimators over all polls; beside
what came, what was to be expected at the estimated rates. The years end where the test stretch of the replays begins.
"""

import numpy as np

from knapsolve import ChangeRateEstimator, ProportionalPolicy, RenewalIndexPolicy, criteria, simulate, solve_nefk
from knapsolve.datasets import load_debian_uploads
from knapsolve.environments import TraceEnvironment
from knapsolve.schedulers import timetable

BEGIN, SPLIT, END = (np.datetime64(day, "s").astype(float) for day in ("2019-07-06", "2020-07-01", "2021-07-01"))
BUDGETS = (1.5, 6.0, 30.0)  # polls per change of the second year
BALANCE = 0.8


def uniform_log(log, capacity, n):
    """Polls of the first year, in turn: items and elapsed (n_polls, 2), and whether there was a change."""
    times = np.asarray(log.times, dtype="datetime64[s]").astype(float)
    codes = np.unique(log.items, return_index=True, return_inverse=True)
    number = np.empty(n, dtype=np.intp)
    number[np.argsort(codes[1])] = np.arange(n)  # in order of first appearance
    codes = number[codes[2]]
    recent = (times > BEGIN) & (times <= SPLIT)
    changes = [np.sort(times[recent & (codes == k)]) for k in range(n)]
    items, when = timetable(np.full(n, capacity / n), np.full(n, BEGIN), BEGIN, SPLIT, random_state=0)
    last, rows = np.full(n, BEGIN), []
    for k, time in zip(items, when):
        seen, known = np.searchsorted(changes[k], (time, last[k]), side="right")
        rows.append((k, time - last[k], seen > known))
        last[k] = time
    return np.array([row[:2] for row in rows]), np.array([row[2] for row in rows], dtype=int)


def main():
    log = load_debian_uploads()
    world = TraceEnvironment(log.items, log.times, SPLIT, END)
    n, n_changes = world.n_materials, int(world.n_changes.sum())
    print(f"{n} packages, {n_changes} changes in the second year\n")
    print(f"{'polls per change':>16}  {'rates':10} {'detected':>9} {'expected':>9} {'fresh':>7} {'expected':>9}")
    for budget in BUDGETS:
        capacity = budget * n_changes / (END - SPLIT)
        X, y = uniform_log(log, capacity, n)
        for name in ("renewal", "mle", "bayes"):
            if name == "renewal":
                rates = RenewalIndexPolicy(n_materials=n, capacity=capacity).fit(X, y).rates_
            else:
                model = ChangeRateEstimator(name).fit(X, y)
                rates = np.empty(n)
                rates[model.materials_.astype(int)] = model.rates_
            weights = 1 - BALANCE + BALANCE * capacity / (4 * n * rates)
            amounts = solve_nefk(criteria.Detection(rates), capacity, weights=weights).amounts
            held = amounts > 0
            found = np.where(held, -np.expm1(-rates / np.where(held, amounts, 1.0)), 1.0)
            policy = ProportionalPolicy(unchanged=1 - amounts / amounts.max(), capacity=capacity, n_materials=n)
            history = simulate(policy, world, n_runs=4, random_state=0)
            print(
                f"{budget:16g}  {name:10} {history.item_detections.sum(axis=1).mean() / n_changes:9.3f} "
                f"{(amounts * found).sum() * (END - SPLIT) / n_changes:9.3f} {history.item_fresh.mean():7.4f} "
                f"{(found * amounts / rates).mean():9.4f}"
            )


if __name__ == "__main__":
    main()
