"""The renewal index beside the formulae it comes from, by brute force: `python first_formulae.py`.

They weigh freshness by P / L at every budget, have no clock of activity, and their priors hold equally long whatever
the budget. Both poll the Debian uploads from July 2019 on; the 18 months to 2023 are counted. Means over starts that
lie five days apart, the standard deviation of a run, and the difference with 95% intervals from resampling packages.
"""

import numpy as np

from knapsolve.datasets import load_debian_uploads
from knapsolve.replay import measure_polls, replay

START, SPLIT, STOP = (np.datetime64(day, "s").astype(float) for day in ("2019-07-06", "2021-07-01", "2023-01-01"))
BUDGETS = (1.5, 6.0, 30.0)  # polls per change of the test stretch
STARTS = START + 5 * 86_400 * np.arange(12)
BALANCE = 0.8


def brute_force(changes, start, slot):
    """Items and times of polls, one a slot, always of the largest index; `changes` are each item's, ascending."""
    n = len(changes)
    count, exposure = np.zeros((n, 3)), np.zeros((n, 3))
    rate, last, todo = np.zeros(n), np.zeros(n), [0] * n
    pooled_count, pooled_exposure, unpolled = 0.5, float(n), n
    times = np.arange(start + slot, STOP, slot)
    changes = [np.append((each[each > start] - start) / slot, np.inf) for each in changes]
    items = np.empty(times.size, dtype=np.intp)
    for now in range(1, times.size + 1):
        pooled = pooled_count / pooled_exposure
        unpolled = unpolled and int((rate == 0).sum())
        held = np.where(rate > 0, rate, 4 * pooled) if unpolled else rate
        u = held * (now - last)
        k = int(np.argmax((1 - BALANCE + BALANCE * pooled / held) * (1 - (1 + u) * np.exp(-u))))
        before, gap = todo[k], now - last[k]
        while changes[k][todo[k]] <= now:
            todo[k] += 1
        found = todo[k] > before
        spent, pooled_spent = (gap if not found else 1 / r - gap / np.expm1(r * gap) for r in (held[k], pooled))
        pooled_count, pooled_exposure = pooled_count + found, pooled_exposure + pooled_spent
        keep = np.exp([-gap / n / 64, -gap / n / 8, -1 / 3])
        count[k], exposure[k] = keep * count[k] + found, keep * exposure[k] + spent
        r = 4 * pooled_count / pooled_exposure
        for c, e, weight in zip(count[k], exposure[k], (1.5, 2.0, 2.0)):
            r = (c + weight) / (e + weight / r)
        rate[k], last[k], items[now - 1] = r, now, k
    return items, times


def main():
    log = load_debian_uploads(stop=None)
    names, codes = np.unique(log.items, return_inverse=True)
    when = np.asarray(log.times, dtype="datetime64[s]").astype(float)
    changes = [np.sort(when[codes == k]) for k in range(names.size)]
    n_changes = np.array([((each > SPLIT) & (each <= STOP)).sum() for each in changes])
    draws = np.random.default_rng(0).multinomial(names.size, np.full(names.size, 1 / names.size), 2000)
    for budget in BUDGETS:
        slot = (STOP - SPLIT) / (budget * n_changes.sum())
        runs = {"renewal index": [], "first formulae": []}
        for k, start in enumerate(STARTS):
            stretch = {"start": start, "split": SPLIT, "stop": STOP}
            ours = replay(log, None, ("renewal",), polls_per_change=budget, n_runs=1, random_state=k, **stretch)
            items, times = brute_force(changes, start, slot)
            theirs = measure_polls(log, names[items], times, **stretch)
            for name, run in zip(runs, (ours.runs["renewal"], theirs)):
                runs[name].append((np.ravel(run.item_detections), np.ravel(run.item_fresh)))
        print(f"{budget:g} polls for each change")
        mean = {}
        for name, each in runs.items():
            found, fresh = np.swapaxes(each, 0, 1)
            shares = np.array([found.sum(axis=1) / n_changes.sum(), fresh.mean(axis=1)])
            (found_mean, fresh_mean), (found_sd, fresh_sd) = shares.mean(axis=1), shares.std(axis=1, ddof=1)
            print(f"  {name:15} detected {found_mean:.4f} (+- {found_sd:.4f})  fresh {fresh_mean:.4f} ({fresh_sd:.4f})")
            mean[name] = found.mean(axis=0), fresh.mean(axis=0)
        found, fresh = (a - b for a, b in zip(*mean.values()))
        for what, values, size in (("detected", found, n_changes), ("fresh", fresh, np.ones(names.size))):
            low, high = np.percentile(draws @ values / (draws @ size), [2.5, 97.5])
            print(f"  difference {what:9} {values.sum() / size.sum():+.4f} [{low:+.4f}, {high:+.4f}]", flush=True)


if __name__ == "__main__":
    main()
