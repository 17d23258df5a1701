"""The filters' rules as one would write them (csrc/rate_filter.h)."""

import math


class RecursiveTwin:
    """One item: rate, sums over quiet and changed polls and their curvature at the present rate."""

    def __init__(self, rate, prior=0.05, memory=math.inf, limit=math.inf, watch=None):
        self.rate, self.prior, self.memory, self.limit, self.watch = rate, prior, memory, limit, watch
        self.quiet = self.score = self.curvature = 0.0

    def learn(self, elapsed, changed, pooled, weight=1.0, count=None, exposure=None):
        before = self.quiet + self.curvature
        kept = math.exp(-elapsed / self.memory)
        self.quiet, self.score, self.curvature = (kept * x for x in (self.quiet, self.score, self.curvature))
        h = self.rate * elapsed
        surprise = -h
        if count is not None:
            surprise = count - self.rate * exposure
            self.score += weight * count
            self.quiet += weight * self.rate * exposure
        elif changed:
            s = surprise = h / math.expm1(h) if h > 0 else 1.0
            self.score += weight * s
            self.curvature += weight * s * max(s + h - 1, 0)
        else:
            self.quiet += weight * h
        known = self.quiet + self.curvature
        limit = self.watch.limit(before, surprise) if self.watch else self.limit
        kept = min(1.0, limit / known) if known else 1.0
        self.quiet, self.score, self.curvature = (kept * x for x in (self.quiet, self.score, self.curvature))
        back = self.prior * min(1.0, self.rate / pooled)
        step = (self.score - self.quiet + self.prior - back) / (self.quiet + self.curvature + back)
        ratio = math.exp(max(-1.0, min(1.0, step)))
        bent = self.curvature / self.score if self.score > 0 else 0.0
        self.rate *= ratio
        self.quiet *= ratio
        self.score *= math.exp(-bent * (ratio - 1))
        self.curvature = self.score * bent * ratio


class WatchTwin:
    """The limit of evidence for all items: none, until surprises at known ones add up; then 15 for a term."""

    def __init__(self):
        self.drift = self.spread = 0.0
        self.left = self.term = 0

    def limit(self, known, surprise):
        if known > 10:
            surprise = max(surprise, -50)
            self.drift += surprise - self.drift / 3000
            self.spread += surprise**2 - self.spread / 3000
            if self.left:
                self.left -= 1
                if not self.left:
                    self.drift = self.spread = 0.0
            elif self.drift**2 > 36 * self.spread and self.spread > 50:
                self.term = self.left = 2 * self.term or 10_000
        return 15.0 if self.left else math.inf


class PoolTwin:
    """The pooled rate of all items."""

    def __init__(self, guess):
        self.changes, self.exposure, self.guess = 0.0, 0.0, guess

    @property
    def rate(self):
        return (self.changes + 0.5) / (self.exposure + 0.5 / self.guess)

    def learn(self, rate, elapsed, changed, weight=1.0, count=None, exposure=None):
        if count is not None:
            changed, elapsed = count, exposure
        elif changed:
            h = rate * elapsed
            elapsed = (1 - (h / math.expm1(h) if h > 0 else 1.0)) / rate
        self.changes += weight * changed
        self.exposure += weight * elapsed
