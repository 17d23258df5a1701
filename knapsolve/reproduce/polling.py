"""The web polling experiments that both papers on automata make, and both learners in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from knapsolve.learners import HTRAA, LAKG
from knapsolve.reproduce.curves import N_PAGES, Curve, Ensemble, Setting
from knapsolve.reproduce.report import Figure

SKEWED, MILD, HARD = Setting(0.3, 1.5), Setting(0.3, 1.0), Setting(0.9, 1.5)
SLOW, FAST = Setting(0.9, 1.5, switch_every=80_000), Setting(0.9, 1.5, switch_every=1_000)
CONFIGURATIONS = ((1500, 1.3), (2500, 1.3), (5000, 1.2))
PERTURBATIONS = (10**3, 10**5, 10**6)
WINDOW = (500_000, 1_000_000)  # polls over which dynamic environments are averaged
LAKG_REFERENCE: dict[tuple[Setting, tuple[int, float]], dict[int | str, str]] = {
    (SKEWED, CONFIGURATIONS[0]): {10**4: ".245", 10**5: ".556", 10**6: ".556"},
    (MILD, CONFIGURATIONS[0]): {10**4: ".644", 10**5: ".871", 10**6: ".870"},
    (HARD, CONFIGURATIONS[0]): {10**4: ".406", 10**5: ".9725", 10**6: ".9735"},
    (HARD, CONFIGURATIONS[1]): {10**4: ".326", 10**5: ".952", 10**6: ".9760"},
    (HARD, CONFIGURATIONS[2]): {10**4: ".293", 10**5: ".856", 10**6: ".9762"},
    (SLOW, CONFIGURATIONS[0]): {"window": ".9645"},
    (FAST, CONFIGURATIONS[0]): {"window": ".859"},
}
HTRAA_REFERENCE: dict[tuple[Setting, int], dict[int | str, str]] = {
    (HARD, 10**3): {10**4: ".930", 10**5: ".959", 10**6: ".961"},
    (HARD, 10**5): {10**4: ".771", 10**5: ".955", 10**6: ".959"},
    (HARD, 10**6): {10**4: ".531", 10**5: ".909", 10**6: ".944"},
    (SLOW, 10**3): {"window": ".9583"},
    (FAST, 10**3): {"window": ".881"},
}


@dataclass(frozen=True)
class Sizes:
    """Runs of an ensemble and polls of a run; the same where pages grow in number; phases of estimators."""

    n_runs: int = 20
    n_polls: int = 10**6
    scale_runs: int = 8
    scale_polls: int = 10**7
    scale_pages: tuple[int, ...] = (512, 2048, 8192, 32768)
    phase_digits: tuple[int, ...] = (1, 2, 5)

    def ensemble(self, seed: int) -> Ensemble:
        return Ensemble(self.n_runs, self.n_polls, np.random.default_rng(seed), phase_digits=self.phase_digits)

    def scale_ensemble(self, seed: int) -> Ensemble:
        return Ensemble(
            self.scale_runs,
            self.scale_polls,
            np.random.default_rng([seed, 1]),
            n_records=self.scale_polls // 5000,
        )


QUICK = Sizes(n_runs=4, scale_runs=2, scale_polls=10**6, phase_digits=(1,))


def heading(paper: str, sizes: Sizes) -> str:
    """What was run, for the top of a report."""
    return (
        f"{paper}\n{N_PAGES} pages, capacity 1 poll per time step, {sizes.n_runs} runs of {sizes.n_polls:,} "
        "polls, Bernoulli environment, random access,\nunless a line says otherwise. Value: sum of x d(x), "
        "mean over runs ± standard error [value of an independent\nimplementation]; bands in the pictures "
        "are two standard errors. The paper prints no numbers, it draws: beside each\ntable stands what it "
        "says in words."
    )


def lakg_label(configuration: tuple[int, float]) -> str:
    """What a line of LAKG is called."""
    return f"LAKG [{configuration[0]}, {configuration[1]}]"


def lakg_curve(ensemble: Ensemble, setting: Setting, configuration: tuple[int, float]) -> Curve:
    """An ensemble of LAKG with [resolution, exponent]."""
    resolution, exponent = configuration
    learner = LAKG(resolution=resolution, exponent=exponent, n_materials=N_PAGES)
    reference = LAKG_REFERENCE.get((setting, configuration))
    return ensemble.curve(lakg_label(configuration), learner, setting.bernoulli(), reference)


def htraa_label(n_perturbations: int) -> str:
    """What a line of H-TRAA is called."""
    return f"H-TRAA, {n_perturbations:,} perturbations"


def htraa_curve(ensemble: Ensemble, setting: Setting, n_perturbations: int) -> Curve:
    """An ensemble of H-TRAA, reward-penalty, N = 500, with leaves out of order."""
    learner, environments = HTRAA(n_materials=N_PAGES), ensemble.perturbed(setting, n_perturbations)
    reference = HTRAA_REFERENCE.get((setting, n_perturbations))
    return ensemble.curve(htraa_label(n_perturbations), learner, environments, reference)


def polling_figure(number: int, setting: Setting, says: str, curves: list[Curve]) -> Figure:
    """A figure of one environment, static or dynamic."""
    title = f"α = {setting.alpha}, β = {setting.beta}"
    if setting.switch_every is not None:
        title += f", ranks switch every {setting.switch_every:,} polls"
    last = max(int(curve.history.polls[-1]) for curve in curves)
    window = None if setting.switch_every is None else (min(WINDOW[0], last // 2), last)
    fast = setting.switch_every is not None and setting.switch_every < 10_000  # than records can follow
    return Figure(f"figure {number}", title, says, curves, setting.levels(), window=window, block=8 if fast else 1)
