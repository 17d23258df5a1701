"""The ensembles of the papers' problem: values at 1e4 to 1e6 polls, against independent references.

The references are means of about 20 runs printed to 3 or 4 digits; ours must lie within 3 combined standard
errors of them (their runs taken to scatter like ours), plus half a unit of their last digit.
"""

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, OptimalPolicy, ProportionalPolicy, UniformPolicy, simulate
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from tests.sizes import slow_and_full

N, N_RUNS = 500, 20
POLLS = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def agrees(series, reference, digits=3):
    """Mean of the runs' numbers (n_runs,) within 3 combined standard errors of the printed reference."""
    series = np.asarray(series)
    error = series.std(ddof=1) * np.sqrt(1 / series.size + 1 / 20)
    allowed = 3 * error + 0.5 * 10.0**-digits
    assert abs(series.mean() - reference) < allowed, (
        f"{series.mean():.5f} is not {reference} +- {allowed:.5f}"
    )


def digits_of(number):
    return len(str(number).split(".")[1])


OPTIMA = {(0.3, 1.5): (0.560972, 0.560093, 0.123518), (0.3, 1.0): (0.880622, 0.879646, 0.530366),
          (0.9, 1.5): (0.976998, 0.945106, 0.233643)}  # fmt: skip


@pytest.mark.parametrize("skewness", OPTIMA)
def test_values_of_the_static_policies_are_the_known_ones(skewness):
    unchanged = zipf_unchanged(N, *skewness)
    environment = BernoulliEnvironment(unchanged)
    policies = OptimalPolicy(unchanged=unchanged), ProportionalPolicy(unchanged=unchanged), UniformPolicy()
    for policy, expected in zip(policies, OPTIMA[skewness]):
        history = simulate(policy, environment, 1, random_state=0)
        assert float(f"{history.value[0, 0]:.6f}") == expected
        assert history.value[0, 0] == pytest.approx(environment.value(history.amounts[0]), rel=1e-12)
    assert history.amounts.sum() == pytest.approx(1)


@pytest.mark.parametrize(("scheduler", "expected"), [("edf", 0.956), ("random", 0.884)])
def test_detections_per_poll_of_the_oracle_depend_on_the_scheduler(scheduler, expected):
    unchanged = zipf_unchanged(N, 0.9, 1.5)
    policy, environment = OptimalPolicy(unchanged=unchanged), PollingEnvironment(unchanged)
    history = simulate(policy, environment, 1_000_000, scheduler=scheduler, n_runs=4, random_state=1)
    agrees(history.detections[:, -1] / 1_000_000, expected)


LAKG_VALUES = [  # alpha, beta, resolution, exponent, values at POLLS
    (0.9, 1.5, 1500, 1.3, (0.406, 0.783, 0.9725, 0.9736, 0.9735)),
    (0.9, 1.5, 2500, 1.3, (0.326, 0.582, 0.952, 0.9761, 0.9760)),
    (0.9, 1.5, 5000, 1.2, (0.293, 0.447, 0.856, 0.9755, 0.9762)),
    (0.3, 1.5, 1500, 1.3, (0.245, 0.538, 0.556, 0.556, 0.556)),
    (0.3, 1.0, 1500, 1.3, (0.644, 0.785, 0.871, 0.870, 0.870)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta", "resolution", "exponent", "values"), LAKG_VALUES)
def test_lakg_has_the_reference_values(alpha, beta, resolution, exponent, values):
    learner = LAKG(resolution=resolution, exponent=exponent)
    environment = BernoulliEnvironment(zipf_unchanged(N, alpha, beta))
    history = simulate(learner, environment, 1_000_000, scheduler="random", n_runs=N_RUNS, n_jobs=2,
                       record_every=10_000, random_state=7)  # fmt: skip
    for polls, value in zip(POLLS, values):
        agrees(history.value[:, history.polls == polls], value, digits_of(value))


def perturbed_values(learner, n_perturbations, polls, n_runs, alpha=0.9, beta=1.5):
    """Values (n_runs, n_polls), each run with its own perturbation."""
    rows = []
    for run in range(n_runs):
        unchanged = zipf_unchanged(N, alpha, beta, n_perturbations, random_state=run)
        history = simulate(learner(), BernoulliEnvironment(unchanged), polls[-1], scheduler="random",
                           record_every=polls[0], random_state=100 + run)  # fmt: skip
        rows.append(history.value[0, np.isin(history.polls, polls)])
    return np.array(rows)


def check_perturbed(update, n_perturbations, polls, values, n_runs=N_RUNS):
    rows = perturbed_values(lambda: HTRAA(resolution=500, update=update), n_perturbations, polls, n_runs)
    for column, value in zip(rows.T, values):
        agrees(column, value)


def test_htraa_has_the_reference_values_with_few_perturbations():
    check_perturbed("reward-penalty", 1_000, (10_000, 100_000), (0.930, 0.959), n_runs=100)


@pytest.mark.parametrize(
    ("n_perturbations", "values"),
    slow_and_full(
        [(1_000, (0.930, 0.959, 0.961)), (100_000, (0.771, 0.955, 0.959))], [(1_000_000, (0.531, 0.909, 0.944))]
    ),
)
def test_htraa_has_the_reference_values_whatever_the_perturbation(n_perturbations, values):
    check_perturbed("reward-penalty", n_perturbations, (10_000, 100_000, 1_000_000), values, n_runs=60)


@pytest.mark.slow
@pytest.mark.parametrize(("update", "low", "high"), [
    ("reward-inaction", 0.955, 0.955), ("inaction-penalty", 0.976, 0.976), ("reward-penalty", 0.961, 0.965)
])  # fmt: skip
def test_updating_schemes_have_the_reference_values(update, low, high):
    values = perturbed_values(lambda: HTRAA(resolution=500, update=update), 1_000, (1_000_000,), N_RUNS)[:, 0]
    agrees(values, np.clip(values.mean(), low, high))


DYNAMIC = [  # learner, perturbations, polls between switches, mean value over polls 5e5..1e6
    ("lakg", 0, 80_000, 0.9645), ("htraa", 1_000, 80_000, 0.9583),
    ("lakg", 0, 1_000, 0.859), ("htraa", 1_000, 1_000, 0.881),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_perturbations", "switch_every", "value"), DYNAMIC)
def test_switching_ranks_give_the_reference_values(kind, n_perturbations, switch_every, value):
    means = []
    for run in range(N_RUNS):
        unchanged = zipf_unchanged(N, 0.9, 1.5, n_perturbations, random_state=run)
        learner = LAKG(resolution=1500, exponent=1.3) if kind == "lakg" else HTRAA(resolution=500)
        environment = BernoulliEnvironment(unchanged, switch_every=switch_every)
        history = simulate(
            learner, environment, 1_000_000, scheduler="random", record_every=2_000, random_state=run
        )
        means.append(history.value[0, history.polls >= 500_000].mean())
    agrees(means, value, digits_of(value))


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "expected"), [("edf", 0.9710), ("random", 0.9613)])
def test_lazy_deadlines_serve_htraa_better_than_random_access(scheduler, expected):
    environment = BernoulliEnvironment(zipf_unchanged(N, 0.9, 1.5, 1_000, random_state=0))
    history = simulate(
        HTRAA(resolution=500), environment, 1_000_000, scheduler=scheduler, n_runs=N_RUNS, random_state=3
    )
    agrees(history.value[:, history.polls >= 500_000].mean(axis=1), expected, 4)


@pytest.mark.parametrize("learner", [LAKG(resolution=1500), HTRAA(resolution=500)])
def test_deadlines_beat_random_access_on_pages(learner):
    """What a crawler meets: evenly spaced polls find more changes than random ones, for both learners."""
    environment = PollingEnvironment(zipf_unchanged(N, 0.9, 1.5))
    found = {
        scheduler: simulate(
            learner, environment, 300_000, scheduler=scheduler, n_runs=6, random_state=2
        ).detections[:, -1]
        for scheduler in ("edf", "random")
    }
    gain = found["edf"].mean() - found["random"].mean()
    assert gain > 5 * np.hypot(found["edf"].std(ddof=1), found["random"].std(ddof=1)) / np.sqrt(6)
