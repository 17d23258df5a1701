"""The estimator's phase in the compiled loop: uniform until it ends; what it logged is what was polled."""

import numpy as np
import pytest

from knapsolve import EstimatorPolicy, simulate
from knapsolve.environments import PollingEnvironment, zipf_unchanged

UNCHANGED = zipf_unchanged(20, 0.9, 1.5)


@pytest.mark.parametrize("estimate", ["mle", "detection-rate"])
def test_the_phase_polls_every_material_equally_often(estimate):
    policy = EstimatorPolicy(phase=2_000, estimate=estimate)
    simulate(policy, PollingEnvironment(UNCHANGED), 2_000, scheduler="edf", random_state=0)
    materials, _, _ = policy._logged()
    assert np.abs(np.bincount(materials, minlength=20) - 100).max() <= 1


def test_amounts_stay_uniform_until_the_phase_ends():
    policy = EstimatorPolicy(phase=2_000)
    simulate(policy, PollingEnvironment(UNCHANGED), 1_999, random_state=0)
    assert policy.amounts_ == pytest.approx(np.full(20, 0.05))
    assert policy._logged()[0].size == 1_999


def test_a_phase_may_be_cut_in_two_runs():
    policy = EstimatorPolicy(phase=2_000)
    for n_polls in (700, 1_300, 500):
        simulate(policy, PollingEnvironment(UNCHANGED), n_polls, random_state=n_polls)
    assert policy._logged()[0].size == 2_000
    assert policy.amounts_.argmax() == 0 and policy.amounts_[0] > 2 * policy.amounts_[10]


def test_learning_from_a_log_goes_on_where_a_simulation_stopped():
    policy = EstimatorPolicy(phase=10)
    simulate(policy, PollingEnvironment([0.1, 0.9]), 6, random_state=0)
    before = [column.copy() for column in policy._logged()]
    X, y = np.array([[0, 2.0], [1, 2.0], [0, 2.0], [1, 2.0]]), np.array([1, 0, 1, 0])
    policy.partial_fit(X, y)
    after = policy._logged()
    expected = EstimatorPolicy(phase=10).fit(
        np.column_stack([np.append(before[0], X[:, 0]), np.append(before[1], X[:, 1])]),
        np.append(before[2], y),
    )
    assert after[0].size == 10
    assert np.array_equal(policy.amounts_[np.argsort(policy.materials_)],
                          expected.amounts_[np.argsort(expected.materials_)])  # fmt: skip
