"""What all items together say about one: a Gamma prior over rates, fitted by empirical Bayes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from knapsolve._core.censored import Grouped

MOST_ITEMS = 4096  # the prior is fitted on every so many-th item if there are more
SHAPES = (0.02, 20.0)
START = 0.5  # shape before anything is known, in changes
SPREAD = 1.2  # standard deviation of the log shape about it: few changes, one an item, tell nothing of it
SHARP = 20.0  # information, in changes, from which a likelihood is taken for that of a Gamma
SEEN = 0.99  # polls that found a change, below which it is one too
OFFSETS = np.arange(-20.0, 12.0, 0.2)  # of log L from its mode: a sharp posterior's deviation is .16
FURTHEST = 9.0  # that the log mean may be from the guess
MOST_CHANGES = 1e6  # an item of more is known as well as any
MOST_POLLS, MOST_POLLS_AN_ITEM = 50_000, 1024  # that are integrated over

Array = NDArray[np.float64]


def gamma_prior(sample: Grouped, guess: float) -> tuple[float, float]:
    """Shape (in changes) and time of the Gamma prior of largest marginal likelihood, from a guess of the mean rate.

    The guess counts as one item more that was seen to change START times, so that the mean is not 0 where nothing
    changed, nor infinite where every poll found a change; the log shape is a priori normal. In the end the shape is
    lowered for what the mean itself is uncertain by: what other items tell of it, in changes, is k a / (k + a) for each
    that has k of its own.
    O(polls of the sample) for the likelihoods, O(items of the sample) for each of some twenty priors tried.
    Reference: Carlin and Louis, Bayes and empirical Bayes methods for data analysis (2000), section 3.3.
    """
    seen = sample.polls > 0
    n = int(np.count_nonzero(seen))
    if n == 0:
        return START, START / guess
    bounds = [np.log(SHAPES), np.log(guess) + np.array([-FURTHEST, FURTHEST])]
    loss = Evidence(sample, seen, guess).loss
    found = minimize(loss, np.log([START, guess]), jac=True, method="SLSQP", bounds=bounds)
    shape, rate = (float(each) for each in np.exp(found.x))
    rates, curvatures, _ = sample.rates(shape, shape / rate)
    own = np.maximum(curvatures - shape * rates / rate, 0.0)[seen]
    others = (1 - 1 / n) * float((own * shape / (own + shape)).sum())
    shape = 1 / (1 / shape + 1 / (START + others))
    return shape, shape / rate


class Evidence:
    """How likely the polls of a sample are under a Gamma prior.

    What polls tell of an item is taken for `changes` in a `time`, as it is where none of them hides how many changes
    there were and nearly is where much is known; the likelihoods of the other items, `blurred`, are tabulated and
    integrated over log L by the trapezoidal rule. A poll after a gap in which a change was sure only says that the rate
    is not small: no Gamma does that.
    """

    def __init__(self, sample: Grouped, seen: NDArray[np.bool_], guess: float) -> None:
        rates, curvatures, _ = sample.rates(START, START / guess)
        own = np.maximum(curvatures - START, 0.0)
        blurred = np.flatnonzero(seen & (own < SHARP) & (sample.found >= SEEN))
        plain = seen.copy()
        plain[blurred] = False
        told = np.maximum(curvatures / rates - START / guess, 0.0)[plain]
        less = MOST_CHANGES / np.maximum(own[plain], MOST_CHANGES)
        self.changes, self.time = np.append(own[plain] * less, START), np.append(told * less, START / guess)
        polls = np.minimum(np.diff(sample.first)[blurred], MOST_POLLS_AN_ITEM).sum()
        taken = np.ascontiguousarray(blurred[:: -(-int(polls) // MOST_POLLS) or 1])
        self.weight = blurred.size / max(taken.size, 1)  # of each that is integrated over
        self.log_rates = np.log(rates[taken])[:, None] + OFFSETS
        self.rates = np.exp(self.log_rates)
        self.likelihoods = sample.likelihoods(taken, self.log_rates, MOST_POLLS_AN_ITEM)

    def loss(self, logs: Array) -> tuple[float, Array]:
        """The negative log posterior of (log shape, log mean), and its gradient, by Fisher's identity."""
        shape, mean = np.exp(logs)
        span = shape / mean
        a, b = shape + self.changes, span + self.time
        total = float((gammaln(a) - gammaln(shape) + shape * np.log(span) - a * np.log(b)).sum())
        log_moments, moments = float((digamma(a) - np.log(b)).sum()), float((a / b).sum())
        n = self.changes.size + self.weight * len(self.rates)
        if len(self.rates):
            logs_at = self.likelihoods + shape * self.log_rates - span * self.rates
            top = logs_at.max(axis=1, keepdims=True)
            mass = np.exp(logs_at - top)
            sums = mass.sum(axis=1)
            total += self.weight * float((np.log(sums) + top[:, 0] - gammaln(shape) + shape * np.log(span)).sum())
            log_moments += self.weight * float(((mass * self.log_rates).sum(axis=1) / sums).sum())
            moments += self.weight * float(((mass * self.rates).sum(axis=1) / sums).sum())
        by_shape = n * (np.log(span) + 1 - digamma(shape)) + log_moments - moments / mean
        by_mean = moments / mean - n
        doubt = (logs[0] - np.log(START)) / SPREAD
        return 0.5 * doubt**2 - total, np.array([doubt / SPREAD - shape * by_shape, -shape * by_mean])
