"""A change log polled as if live: training stretch, test stretch, one policy at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from knapsolve._progress import report_progress
from knapsolve._validation import (
    check_capacity,
    check_choice,
    check_integer,
    check_real,
    resolve_random_state,
)
from knapsolve.environments import TraceEnvironment
from knapsolve.replay.log import HALF_UNLESS_SAID, Time, as_split, as_trace
from knapsolve.replay.policies import POLICIES, Setting
from knapsolve.replay.result import PolicyReplay, ReplayResult
from knapsolve.replay.units import polls_a_second
from knapsolve.simulation import History, simulate

N_RECORDS = 100  # of detections so far, in the test stretch
FAR = 2.0**60  # polls: no stretch is as long


class TraceReplay:
    """A change log, ready to be polled by one policy after another under the same conditions.

    Parameters
    ----------
    log : (items, times), rows, data frame or TraceEnvironment
        Which item changed when, in any unit of time, ascending within each item. Rows are a list of (item, time);
        of exactly two parts a list of tuples of two is rows, all else is two columns. A data frame has a column
        ``item`` and one of ``time`` and ``timestamp``; one of ``changed`` that holds a 0 makes it a log of polls, which
        is refused.
    capacity : float or str, optional
        Polls per unit of the log's time, per second where times are dates; or, of a log in seconds, text such as
        ``"20/day"`` or ``"5000/hour"``.
    polls_per_change : float, optional
        The same budget as polls per recorded change of the test stretch; one of the two must be given.
    start, stop : float, str or datetime, optional
        The stretch of time to replay; from the first to the last change by default. Dates, also ISO strings such as
        "2021-07-01", count in seconds since 1970, UTC unless they say otherwise.
    split : float, str, datetime or None, default="50%"
        Learners are trained from `start` to `split`, a moment or a share of the stretch; results count from there on,
        while learners go on learning and polling: a copy may be out of date at the split, and the next poll of it
        find a change. All copies are current at the start alone. None: no training, everything counts. By default
        a TraceEnvironment's own ``count_from`` is the split if it lies within the stretch, else half of it.
    scheduler : {"edf", "random"}, default="edf"
        How amounts become polls.
    random_state : None, int, RandomState or Generator, default=None
        Source of all random numbers: every policy gets the same ones, whichever others are replayed.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        The items, sorted, so that nothing depends on the order of the log's rows; those that have no order
        stay as they first appear.
    capacity : float
        Polls per unit of the log's time.
    n_training_polls, n_polls : int
        Polls that each policy makes in the training and in the test stretch.
    n_changes : ndarray of shape (n_items,), intp
        Recorded changes in the test stretch.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, or a stretch has no time for a poll, or the test
        stretch no change.

    References
    ----------
    Pandey, Ramamritham and Chakrabarti, "Monitoring the dynamic web to respond to
    continuous queries", WWW 2003.

    Examples
    --------
    >>> from knapsolve.replay import TraceReplay
    >>> log = (["a", "b", "a", "a"], [1., 2., 3., 9.])
    >>> run = TraceReplay(log, capacity=2, start=0, split=None, random_state=0).run("uniform")
    >>> run.item_polls.tolist(), run.item_detections.tolist()
    ([9.0, 9.0], [3.0, 1.0])
    >>> rows, columns = [("a", 1.), ("b", 9.)], (["a", "b"], [1., 9.])
    >>> [TraceReplay(log, capacity=2).items.tolist() for log in (rows, columns)]
    [['a', 'b'], ['a', 'b']]
    """

    def __init__(
        self,
        log: Any,
        capacity: float | str | None = None,
        *,
        polls_per_change: float | None = None,
        start: Time | None = None,
        stop: Time | None = None,
        split: Time | None = HALF_UNLESS_SAID,
        scheduler: str = "edf",
        random_state: Any = None,
    ):
        if (capacity is None) == (polls_per_change is None):
            both = f"{capacity!r} and {polls_per_change!r}"
            raise ValueError(f"exactly one of capacity and polls_per_change must be given, got {both}")
        if isinstance(capacity, str):
            capacity = polls_a_second(capacity)
        self.scheduler = check_choice("scheduler", scheduler, ("edf", "random"))
        whole = as_trace(log, start, stop)
        self.items, self.start, self.stop = whole.materials, whole.start, whole.stop
        self.split = as_split(log, split, whole)
        since = self.start if self.split is None else self.split
        n_changes = int(((whole.times > since) & (whole.times <= self.stop)).sum())
        if n_changes == 0:
            raise ValueError(f"the log must hold changes after {since:.15g} and up to stop={self.stop:.15g}, got none")
        if capacity is None:
            each = check_real("polls_per_change", polls_per_change, low=0, low_open=True)
            # just enough: rounding must not lose the last poll
            capacity = each * n_changes / (self.stop - since) * (1 + 1e-15)
        self.capacity = check_capacity(capacity)
        given = ("capacity", capacity) if polls_per_change is None else ("polls_per_change", polls_per_change)
        length = self._length(since, self.stop, *given)
        training = 0.0 if self.split is None else self._length(self.start, since, *given)
        self.n_polls, self.n_training_polls = _whole_polls(length), _whole_polls(training)
        with np.errstate(over="ignore"):  # in polls: poll k of the test takes place at k; beyond it is far off
            times = np.clip((whole.times - since) * self.capacity, -FAR, FAR)
        if self.split is None:
            times = np.where(times > 0, times, -1.0)  # known from the start, whatever a run's phase
        self._changes, self._length_in_polls = (whole.items, times), length
        self.n_changes = self._trace(1.0).n_changes
        trained = (times > -training) & (times <= 0)
        self._training_rates = None
        if self.split is not None:
            counts = np.bincount(whole.items[trained], minlength=self.items.size)
            self._training_rates = (counts + 0.5) / training
        self._entropy = int(resolve_random_state(random_state).integers(2**63))

    def _length(self, start: float, stop: float, name: str, budget: float) -> float:
        """Length of a stretch, in polls; `name` is the parameter that gave the budget."""
        length = (stop - start) * self.capacity
        if not 1 <= length * (1 + 1e-12) < 2**53:
            raise ValueError(f"{name} must make 1 to 2**53 polls from {start:.15g} to {stop:.15g}, got {budget:g}")
        return length

    def _trace(self, phase: float) -> TraceEnvironment:
        """Time in polls: poll k of the test takes place at k - 1 + phase."""
        start = phase - 1.0 - self.n_training_polls
        return TraceEnvironment(*self._changes, start, self._length_in_polls, 0.0)

    @property
    def setting(self) -> Setting:
        """What policies may be told."""
        rates = (self.n_changes + 0.5) / self._length_in_polls
        return Setting(self.items.size, self.n_training_polls, self.n_polls, self._training_rates, rates)

    def run(
        self,
        policy: str | Any,
        *,
        name: str | None = None,
        n_runs: int = 1,
        progress: bool | Callable[[int, int], None] = False,
    ) -> PolicyReplay:
        """Replay to one policy.

        Parameters
        ----------
        policy : str or learner
            A key of `POLICIES`, or a learner, a copy of which is trained at a capacity of 1 poll per
            unit of time; one that is no estimator must have that capacity.
        name : str, optional
            What to call it.
        n_runs : int, default=1
            Runs with other random numbers and phases, over which all counts are averaged.
        progress : bool or callable, default=False
            Show a progress bar (needs rich), or call ``progress(polls_done, polls_in_all)`` now and then.

        Returns
        -------
        run : PolicyReplay
            What it did in the test stretch.

        Raises
        ------
        ValueError, TypeError
            If there is no such policy, or it needs a training stretch and there is none.

        References
        ----------
        Pandey, Ramamritham and Chakrabarti (WWW 2003).
        """
        n_runs = check_integer("n_runs", n_runs, low=1)
        self.learner(policy)
        name = name or (policy if isinstance(policy, str) else type(policy).__name__)
        each = self.n_training_polls + self.n_polls
        with report_progress(progress, n_runs * each) as advance:
            histories = [self._run_once(self.learner(policy), run, advance) for run in range(n_runs)]

        def mean(column: str) -> np.ndarray:
            return np.mean([getattr(history, column)[0] for history in histories], axis=0)

        detections = mean("item_detections")
        found = mean("detections")
        test = histories[0].polls > self.n_training_polls
        return PolicyReplay(
            name,
            mean("item_polls"),
            detections,
            mean("item_carried"),
            mean("item_fresh"),
            mean("item_penalty"),
            mean("item_age") / self.capacity,
            histories[0].polls[test] - self.n_training_polls,
            found[test] - (found[-1] - detections.sum()),
        )

    def _run_once(self, learner: Any, run: int, advance: Callable[[int], None]) -> History:
        """Train and test, in place, without a break between them.

        Another run polls at other moments within the time of a poll, which changes what index policies see too.
        """
        stream = np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(run,)))
        phase = 1.0 - stream.random() if run else 1.0
        last = 0

        def tell(done: int, _: int) -> None:
            nonlocal last
            advance(done - last)
            last = done

        return simulate(
            learner,
            self._trace(phase),
            self.n_training_polls + self.n_polls,
            scheduler=self.scheduler,
            record_every=max(1, self.n_polls // N_RECORDS),
            random_state=stream,
            progress=tell,
        )

    def learner(self, policy: str | Any) -> Any:
        """The unfitted learner that stands for a policy, its unit of time being that of one poll.

        Parameters
        ----------
        policy : str or learner
            A key of `POLICIES`, or a learner to copy.

        Returns
        -------
        learner : object
            Its capacity is 1.

        Raises
        ------
        ValueError, TypeError
            If there is no such policy, or it needs a training stretch and there is none.
        """
        if isinstance(policy, BaseEstimator):
            return clone(policy).set_params(capacity=1.0)
        if not isinstance(policy, str):
            if check_capacity(getattr(policy, "capacity", 1.0)) != 1.0:
                raise ValueError(
                    f"capacity of a policy must be 1, a poll per unit of time in a replay, got {policy.capacity!r}"
                )
            return copy.deepcopy(policy)
        kind = POLICIES[check_choice("policy", policy, POLICIES)]
        if kind.needs_training and self.split is None:
            raise ValueError(
                f"split must be given for policy {policy!r}: it is told what happened in a training stretch"
            )
        return kind.make(self.setting)

    def compare(self, runs: Iterable[PolicyReplay], n_bootstrap: int = 2000) -> ReplayResult:
        """Put runs side by side.

        Parameters
        ----------
        runs : iterable of PolicyReplay
            From `run`.
        n_bootstrap : int, default=2000
            Number of resamples of the items.

        Returns
        -------
        result : ReplayResult
            Their numbers, with intervals.

        Raises
        ------
        ValueError, TypeError
            If `n_bootstrap` is not an integer of at least 100, or two runs have one name.
        """
        n_bootstrap = check_integer("n_bootstrap", n_bootstrap, low=100)
        named: dict[str, PolicyReplay] = {}
        for run in runs:
            if named.setdefault(run.name, run) is not run:
                raise ValueError(f"runs must have different names (see `run`), got two that are called {run.name!r}")
        return ReplayResult(
            self.items,
            self.n_changes,
            self.start,
            self.split,
            self.stop,
            self.capacity,
            named,
            n_bootstrap,
            self._entropy,
        )


def _whole_polls(length: float) -> int:
    """Polls in a stretch of so many poll times, as `simulate` counts them."""
    return int(np.floor(length * (1 + 1e-12)))
