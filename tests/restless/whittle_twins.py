"""Readable twins of the compiled code, and oracles that know nothing of it."""

import mpmath
import numpy as np

EXAMPLE = {"arrival_rate": [250.0] * 4, "decay_rate": [0.7, 0.35, 0.7, 0.21]}


def index_from_age(age, rate, decay, max_age=np.inf, cost=1.0):
    """(k+1) x_k - k x_(k+1) over cost, x_k = rate/decay (1 - e^(-decay min(k, max_age)))."""

    def content(k):
        return rate / decay * -np.expm1(-decay * np.minimum(k, max_age))

    return ((age + 1) * content(age) - age * content(age + 1)) / cost


def exact_index(age, rate, decay, max_age=np.inf):
    """The same with 60 digits."""
    with mpmath.workdps(60):
        rate, decay = mpmath.mpf(rate), mpmath.mpf(decay)

        def content(k):
            return rate / decay * -mpmath.expm1(-decay * mpmath.mpf(min(k, max_age)))

        return (age + 1) * content(age) - age * content(age + 1)


def exact_state_index(state, rate, decay, max_age=np.inf):
    """The index of any content: zeta further steps from empty are as good as crawling now, with 60 digits."""
    with mpmath.workdps(60):
        x, rate, decay = mpmath.mpf(state), mpmath.mpf(rate), mpmath.mpf(decay)
        ceiling = rate / decay
        most = ceiling * -mpmath.expm1(-decay * mpmath.mpf(max_age))
        if x >= most:
            return x
        age = mpmath.log1p(-x / ceiling) / -decay
        zeta = max(mpmath.ceil(age), 1)
        later = min(ceiling * -mpmath.expm1(-decay * (age + 1)), most)
        return ceiling * -mpmath.expm1(-decay * min(zeta, mpmath.mpf(max_age))) - zeta * (later - x)


def dynamic_program_index(state, rate, decay, max_age=np.inf, horizon=400):
    """Bisect the price at which the one-arm dynamic program is indifferent between crawling and waiting.

    At price p a crawl k steps after another earns (x_k - p)/k a step; the gain is the best of these, or 0.
    From content `state` one may crawl now, or wait j steps and lose the gain j times, or wait for ever if the
    gain is 0.
    """
    long = np.longdouble
    rate, decay, state = long(rate), long(decay), long(state)
    ceiling = rate / decay
    ages = np.arange(1, horizon + 1, dtype=long)
    lattice = ceiling * -np.expm1(-decay * np.minimum(ages, long(max_age)))
    later = np.minimum(
        ceiling - (ceiling - state) * np.exp(-decay * ages), ceiling * -np.expm1(-decay * long(max_age))
    )
    later = np.maximum(later, state)
    low, high = long(0), max(ceiling, state) * 2
    for _ in range(70):
        price = (low + high) / 2
        gain = max(((lattice - price) / ages).max(), long(0))
        wait = (later - price - gain * ages).max()
        if gain == 0:
            wait = max(wait, long(0))
        if state - price >= wait:
            low = price
        else:
            high = price
    return float(low)


def whittle_policy(rate, decay, max_age, n_crawls, n_steps, index):
    """Crawls (n_steps, n_crawls) of the index policy: sort all indices, lower site first among equals."""
    ages = np.ones(len(rate))
    crawls = np.empty((n_steps, n_crawls), dtype=int)
    for step in range(n_steps):
        order = np.argsort(
            -index(age=ages, arrival_rate=rate, decay_rate=decay, max_age=max_age), kind="stable"
        )
        crawls[step] = np.sort(order[:n_crawls])
        ages[crawls[step]] = 0
        ages += 1
    return crawls
