"""Readable twins of the learners from crawl logs."""

import numpy as np
from scipy.optimize import brentq


class Totals:
    """Crawls by age, at most `slots` ages: the two with the least ratio are merged."""

    def __init__(self, slots):
        self.slots, self.rows = slots, []

    def add(self, age, content):
        for row in self.rows:
            if row[0] == age:
                row[1] += 1
                row[2] += content
                return
        if len(self.rows) == self.slots:
            j, ages = 0, [row[0] for row in self.rows]
            for other in range(1, self.slots - 1):
                if ages[other + 1] * ages[j] < ages[j + 1] * ages[other]:
                    j = other
            a, b = self.rows[j], self.rows.pop(j + 1)
            a[0] = (a[0] * a[1] + b[0] * b[1]) / (a[1] + b[1])
            a[1] += b[1]
            a[2] += b[2]
        self.rows.append([age, 1, content])
        self.rows.sort()


def fit(rows, prior_decay, prior_spread, max_age=np.inf):
    """Arrival and decay rate that maximise sum S ln(lam f) - n lam f, with the prior on ln decay."""
    ages, counts, contents = np.array(rows, dtype=float).T
    ages = np.minimum(ages, max_age)

    def shape(log_decay):
        return -np.expm1(-np.exp(log_decay) * ages) / np.exp(log_decay)

    def score(log_decay):
        f = shape(log_decay)
        t = np.exp(log_decay) * ages
        slope = np.where(t > 1e-8, t / np.expm1(t) - 1, -t / 2)
        rate = contents.sum() / (counts * f).sum()
        return ((contents - counts * rate * f) * slope).sum() - (
            log_decay - np.log(prior_decay)
        ) / prior_spread**2

    low, high = np.log(1e-9), np.log(50.0)
    best = low if score(low) <= 0 else high if score(high) >= 0 else brentq(score, low, high, xtol=1e-14)
    return contents.sum() / (counts * shape(best)).sum(), np.exp(best)


def lspe(transitions, n_features, gain, delta, epsilon):
    """Weights after transitions (before, after, reward), by matrices inverted anew."""
    B, A = epsilon * np.eye(n_features), np.zeros((n_features, n_features))
    b, r, eta = np.zeros(n_features), np.zeros(n_features), 0.0
    for n, (before, after, reward) in enumerate(transitions, start=1):
        step = 1 / (n + 1)
        b += step * (before * (reward - eta) - b)
        A += step * (np.outer(before, after - before) - A)
        B += step * (np.outer(before, before) - B)
        eta += step * (reward - eta)
        inverse = (
            np.linalg.inv(B) if delta == 0 else np.linalg.solve(B.T @ B + delta * np.eye(n_features), B.T)
        )
        r = r + gain * inverse @ (A @ r + b)
    return r, eta
