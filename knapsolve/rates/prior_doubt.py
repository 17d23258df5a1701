"""What few items leave open about the prior that they share, and how much wider it makes their intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv, gammaln

from knapsolve._core.censored import Grouped
from knapsolve.rates.prior import MOST_POLLS_AN_ITEM, OFFSETS, SHAPES, SHARP, START

Array = NDArray[np.float64]
FEW = 256  # items: more of them know their prior
SHAPES_TRIED, MEANS_TRIED = 11, 9
REACH = 3.0  # standard deviations of the log mean that are tried, on each side
FAINTEST = 1e-3  # weight of a prior, relative to the likeliest, below which it does not count
HALVINGS = 45
TINIEST = 1e-300


def widening(changes: Array, time: Array, prior: tuple[float, float], shares: Array) -> Array:
    """Quantiles (n_items, m) over all priors relative to those under the fitted one, at shares (m,).

    What the polls tell of an item is taken for `changes` in a `time`, (n_items,) each, so that its posterior under
    Gamma(a, b) is Gamma(a + changes, b + time), and all items together weigh that prior by the product of
    Gamma(a + changes) / Gamma(a) b^a / (b + time)^(a + changes), flat in log a and in the log of the mean a / b; for
    shares above 1/2 in the root of the mean, as Jeffreys has it, since what is flat in the logarithm of a rate takes an
    item that was not yet seen to change for one that never does.
    An item's posterior is the mixture over a grid of such priors; O(n_items) for each of some fifty of them.
    Reference: Kass and Steffey, JASA 84 (1989), on the doubt that empirical Bayes leaves out.
    """
    shape, own = prior[0], changes[:, None]
    seen = max(int(np.count_nonzero(changes + time)), 1)
    told = START + (1 - 1 / seen) * float((changes * shape / (changes + shape)).sum())
    means = np.log(prior[0]) - np.log(prior[1]) + np.linspace(-REACH, REACH, MEANS_TRIED) / np.sqrt(told)
    shapes, log_means = (each.ravel() for each in np.meshgrid(np.geomspace(*SHAPES, SHAPES_TRIED), means))
    spans = shapes * np.exp(np.clip(-log_means, -690.0, 690.0))
    evidence = gammaln(shapes + own) - gammaln(shapes) + shapes * np.log(spans)
    evidence = (evidence - (shapes + own) * np.log(spans + time[:, None])).sum(axis=0)
    ratios = np.empty((changes.size, shares.size))
    for column, share in enumerate(shares):
        likely = evidence + (0.5 * log_means if share > 0.5 else 0.0)
        weights = np.exp(likely - likely.max())
        kept = weights > FAINTEST
        weights, a, b = weights[kept] / weights[kept].sum(), shapes[kept] + own, spans[kept] + time[:, None]
        ends = np.log(np.maximum(gammaincinv(a, share) / b, TINIEST))
        low, high = ends.min(axis=1), ends.max(axis=1)  # the mixture's quantile lies between its parts'
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = gammainc(a, b * np.exp(middle)[:, None]) @ weights < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        fitted = np.maximum(gammaincinv(changes + shape, share) / (time + prior[1]), TINIEST)
        ratios[:, column] = np.exp((low + high) / 2) / fitted
    return ratios


def least_likely(items: Grouped, rates: Array, own: Array, shares: Array) -> Array:
    """The rates (n_items, m) below the likeliest at which polls are as likely as `shares` (m,) of their largest chance.

    What bounds an item from below whatever the prior: no Gamma says that a rate is not small, which is all that polls
    say that each found a change. So it is 0 where an item's `own` changes are enough for a Gamma. Rates that are lower
    than this give all changed polls with a chance below `shares`.
    """
    least = np.zeros((items.n_items, shares.size))
    blurred = np.flatnonzero((own < SHARP) & (items.found > 0))
    at = np.log(rates[blurred])[:, None] + OFFSETS
    chances = items.likelihoods(blurred, at, MOST_POLLS_AN_ITEM)
    for column, share in enumerate(np.log(shares)):
        above = chances - chances.max(axis=1, keepdims=True) - share
        first = np.argmax(above >= 0, axis=1)
        rows, before = np.arange(blurred.size), np.maximum(first - 1, 0)
        low, high = above[rows, before], above[rows, first]
        part = np.divide(-low, high - low, out=np.ones(blurred.size), where=first > 0)
        ends = np.exp(at[rows, before] + part * (at[rows, first] - at[rows, before]))
        least[blurred, column] = np.where(first > 0, ends, 0.0)
    return least
