"""What all items together say about one: a Gamma prior over rates, fitted by empirical Bayes."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from knapsolve._core.censored import Grouped

MOST_ITEMS = 4096  # the prior is fitted on every so many-th item if there are more
SHAPES = (0.02, 20.0)
START = 0.5  # shape before anything is known, in changes
MOST_ROUNDS = 50


def gamma_prior(sample: Grouped, guess: float) -> tuple[float, float]:
    """Shape (in changes) and time of a Gamma prior over the rates of the items, by EM from a first guess of their mean.

    Each item's posterior is taken for the Gamma with its mode and curvature in log L: E[L] = L and
    E[log L] = log L + digamma(s) - log s, s the curvature. The shape a then solves log a - digamma(a) =
    log mean E[L] - mean E[log L]. The guess counts as one item more in the mean, which is not 0 then where nothing
    changed. In the end the shape is lowered for what the mean itself is uncertain by: what other items tell of it, in
    changes, is k a / (k + a) for each that has k of its own. O(polls of the sample) a round.
    """
    seen = sample.polls > 0
    n = int(np.count_nonzero(seen))
    if n == 0:
        return START, START / guess
    shape, rate = START, guess
    for _ in range(MOST_ROUNDS):
        rates, curvatures, _ = sample.rates(shape, shape / rate)
        rates, curvatures = rates[seen], curvatures[seen]
        own = np.maximum(curvatures - shape * rates / rate, 0.0)
        mean = float(rates.mean())
        spread = np.log(mean) - float((np.log(rates) + digamma(curvatures) - np.log(curvatures)).mean())
        before = shape, rate
        shape, rate = min(max(shape_of(spread), SHAPES[0]), SHAPES[1]), (n * mean + guess) / (n + 1)
        if abs(shape - before[0]) <= 1e-3 * shape and abs(rate - before[1]) <= 1e-3 * rate:
            break
    others = (1 - 1 / n) * float((own * shape / (own + shape)).sum())
    shape = 1 / (1 / shape + 1 / (START + others))
    return shape, shape / rate


def shape_of(spread: float) -> float:
    """The a > 0 with log a - digamma(a) = spread > 0, to some digits: Minka's start and three Newton steps."""
    if not spread > 1e-6:
        return SHAPES[1]
    a = (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)
    for _ in range(3):
        step = (np.log(a) - digamma(a) - spread) / (1 / a - polygamma(1, a))
        a = max(a - step, a / 4)
    return float(a)
