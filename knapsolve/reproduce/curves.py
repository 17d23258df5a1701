"""Ensembles of the web polling experiments of Granmo et al. (2006) and Granmo and Oommen (2011)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from knapsolve.learners import EstimatorPolicy, OptimalPolicy, ProportionalPolicy, UniformPolicy
from knapsolve.reproduce.progress import announce
from knapsolve.simulation import History, simulate

N_PAGES = 500
N_JOBS = 2


@dataclass(frozen=True)
class Curve:
    """A line of a figure: an ensemble, what to call it, and the reference values known for it.

    `reference` maps a number of polls, or "window" for the mean over the figure's window, to what an
    independent implementation gave; lines with the same `color` belong together.
    """

    label: str
    history: History
    reference: dict[int | str, str] = field(default_factory=dict)
    style: str = "-"
    color: int | None = None

    def at(self, polls: int, near: float = 0.0) -> tuple[float, float]:
        """Mean and standard error over runs at a number of polls, or averaged over a share `near` of it."""
        distance = np.abs(self.history.polls - polls)
        if distance.min() > 0.1 * polls:
            raise ValueError(f"polls must be near a record of {self.label}, got {polls}")
        return self._summary(distance <= max(distance.min(), near * polls))

    def end(self) -> float:
        """Mean over runs at the last record."""
        return float(self._values()[:, -1].mean())

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Mean and standard error over runs of the average over records in `first` to `last` polls."""
        return self._summary((self.history.polls >= first) & (self.history.polls <= last))

    def smoothed(self, block: int) -> History:
        """The history with every `block` records averaged into one; as it is if it is short."""
        n_blocks = self.history.polls.size // block
        if n_blocks < 20:
            return self.history
        polls = self.history.polls[: n_blocks * block].reshape(n_blocks, block).mean(axis=1)
        value = self._values()[:, : n_blocks * block].reshape(-1, n_blocks, block).mean(axis=2)
        return History(polls, value, self.history.detections[:, block - 1 :: block], self.history.amounts)

    def _summary(self, chosen: np.ndarray) -> tuple[float, float]:
        values = self._values()[:, chosen].mean(axis=1)
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.inf
        return float(values.mean()), float(error)

    def _values(self) -> np.ndarray:
        assert self.history.value is not None
        return self.history.value

    def polls_to_reach(self, value: float) -> float:
        """Polls at the first record whose mean over runs is at least `value`; infinite if there is none."""
        reached = self.history.mean() >= value
        return float(self.history.polls[np.argmax(reached)]) if reached.any() else np.inf


@dataclass(frozen=True)
class Setting:
    """A Zipf environment: update probabilities alpha / k**beta, and how often ranks switch."""

    alpha: float
    beta: float
    switch_every: int | None = None

    def bernoulli(self, n: int = N_PAGES, **perturbation: Any) -> BernoulliEnvironment:
        unchanged = zipf_unchanged(n, self.alpha, self.beta, **perturbation)
        return BernoulliEnvironment(unchanged, switch_every=self.switch_every)

    def pages(self, n: int = N_PAGES) -> PollingEnvironment:
        return PollingEnvironment(zipf_unchanged(n, self.alpha, self.beta), switch_every=self.switch_every)

    def levels(self, n: int = N_PAGES) -> dict[str, float]:
        """Values of the policies that know the rates, or need not: they stay the same when ranks switch."""
        environment = self.bernoulli(n)
        policies = {
            "optimal": OptimalPolicy(unchanged=environment.unchanged, n_materials=n),
            "proportional": ProportionalPolicy(unchanged=environment.unchanged, n_materials=n),
            "uniform": UniformPolicy(n_materials=n),
        }
        return {name: float(simulate(policy, environment, 1).mean()[0]) for name, policy in policies.items()}


@dataclass(frozen=True)
class Ensemble:
    """How many runs of how many polls, and the one source of random numbers behind all of them."""

    n_runs: int
    n_polls: int
    generator: np.random.Generator
    n_records: int = 2000
    phase_digits: tuple[int, ...] = (1, 2, 5)

    def curve(
        self,
        label: str,
        learner: Any,
        environment: Any,
        reference: dict[int | str, str] | None = None,
        **look: Any,
    ) -> Curve:
        """Replications of a learner: in one environment, or in a list of them, one run each."""
        announce(label)
        environments = environment if isinstance(environment, Sequence) else None
        options: dict[str, Any] = {
            "scheduler": "random",
            "record_every": max(1, self.n_polls // self.n_records),
        }
        if environments is None:
            history = simulate(learner, environment, self.n_polls, n_runs=self.n_runs, n_jobs=N_JOBS,
                               random_state=self.generator, **options)  # fmt: skip
        else:
            tasks = (
                joblib.delayed(simulate)(clone(learner), world, self.n_polls, random_state=generator, **options)
                for world, generator in zip(environments, self.generator.spawn(len(environments)))
            )
            history = _stack(joblib.Parallel(n_jobs=N_JOBS, prefer="threads")(tasks))
        return Curve(label, history, reference or {}, **look)

    def perturbed(self, setting: Setting, n_perturbations: int) -> list[BernoulliEnvironment]:
        """As many environments as there are runs, each with leaves put out of order anew."""
        return [
            setting.bernoulli(n_perturbations=n_perturbations, random_state=generator)
            for generator in self.generator.spawn(self.n_runs)
        ]

    def shuffled(self, setting: Setting, n: int) -> list[BernoulliEnvironment]:
        """As many environments as there are runs, each with its leaves in a random order."""
        unchanged = zipf_unchanged(n, setting.alpha, setting.beta)
        return [
            BernoulliEnvironment(generator.permutation(unchanged)) for generator in self.generator.spawn(self.n_runs)
        ]

    def estimators(self, setting: Setting) -> list[Curve]:
        """The estimator with a growing phase: at each number of polls, one that estimated from all of them.

        With the papers' naive estimate and with the censored maximum likelihood one; the latter also among
        pages, where gaps vary from poll to poll and the fastest pages can be told apart.
        """
        return [
            self._growing("estimator, detection rate", "detection-rate", setting.bernoulli(), ":"),
            self._growing("estimator, likelihood", "mle", setting.bernoulli(), "--"),
            self._growing("estimator, likelihood, pages", "mle", setting.pages(), "-."),
        ]

    def _growing(self, label: str, estimate: str, environment: Any, style: str) -> Curve:
        announce(label)
        phases = (digit * 10**power for power in range(3, 20) for digit in self.phase_digits)
        ends = [
            simulate(EstimatorPolicy(phase=phase, estimate=estimate), environment, phase, scheduler="random",
                     n_runs=self.n_runs, n_jobs=N_JOBS, record_every=phase, random_state=self.generator)
            for phase in itertools.takewhile(lambda phase: phase <= self.n_polls, phases)
        ]  # fmt: skip
        value, detections = (
            np.hstack([getattr(end, name)[:, -1:] for end in ends]) for name in ("value", "detections")
        )
        polls = np.array([end.polls[-1] for end in ends])
        return Curve(label, History(polls, value, detections, ends[-1].amounts), {}, style)


def _stack(histories: list[History]) -> History:
    columns = {name: np.vstack([getattr(h, name) for h in histories]) for name in ("value", "detections", "amounts")}
    return History(polls=histories[0].polls, **columns)
