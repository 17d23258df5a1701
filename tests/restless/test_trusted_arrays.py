"""Kernels compare the arrays that they are given; what a policy was made with cannot be changed under it."""

import copy
import pickle

import joblib
import numpy as np
import pytest

from knapsolve import LSPEWhittle, PlugInWhittle, WhittlePolicy
from knapsolve._core import index_policy as kernel
from knapsolve._core.top_sites import top_sites
from knapsolve.environments import EphemeralEnvironment

X, Y = np.column_stack([np.arange(50) % 5, np.ones(50)]), np.arange(50) % 7
SITES = ["totals_", "estimates_", "last_crawls_", "n_crawls_", "clock_"]
WEIGHTS = ["thresholds_", "weights_", "pending_", "collected_", "second_moments_", "moves_", "rewards_", "numbers_"]


@pytest.mark.parametrize("use", ["allocate", "partial_fit"])
@pytest.mark.parametrize("shape", [(0,), (4, 1), (500,), (2, 2, 2)])
@pytest.mark.parametrize(
    ("learner", "name"),
    [(PlugInWhittle(), name) for name in SITES] + [(LSPEWhittle(), name) for name in SITES + WEIGHTS],
)
def test_arrays_of_other_shapes_are_refused(learner, name, shape, use):
    learner.fit(X, Y)
    setattr(learner, name, np.zeros(shape))
    with pytest.raises(ValueError, match=r"must (have shape|stay)|dimensions"):
        learner.allocate(2) if use == "allocate" else learner.partial_fit(X, Y)


@pytest.mark.parametrize("name", SITES + WEIGHTS)
@pytest.mark.parametrize("learner", [PlugInWhittle(), LSPEWhittle(n_seeds=0)])
def test_sites_are_sites_whatever_the_arrays_hold(learner, name):
    if not hasattr(learner.fit(X, Y), name):
        pytest.skip("not an array of this learner")
    for value in (np.nan, np.inf, -np.inf, -1.0, 1e300):
        getattr(learner.fit(X, Y), name)[...] = value
        for m in (1, 2, 5):
            sites = learner.allocate(m)
            assert sites.size == m == np.unique(sites).size
            assert sites.min() >= 0 and sites.max() < 5


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_keys_without_a_number_come_last(m):
    for keys in ([np.nan] * 6, [np.nan, 1, np.nan, 2, -np.inf, 0], [-np.inf] * 6, [3, np.nan, np.nan, np.nan, 4, 5]):
        expected = np.lexsort((np.arange(6), -np.nan_to_num(keys, nan=-np.inf, neginf=-np.inf)))[:m]
        assert top_sites(np.array(keys, dtype=float), m).tolist() == sorted(expected)
    with pytest.raises(ValueError, match="m must be in"):
        top_sites(np.ones(3), 4)


@pytest.mark.parametrize("n", [4, 300])
def test_what_a_policy_was_made_with_is_for_reading(n):
    rates, decays, limits = np.full(n, 5.0), np.full(n, 0.3), np.full(n, 9.0)
    policy = WhittlePolicy(rates, decays, 3, limits)
    expected = WhittlePolicy(rates, decays, 3, limits).simulate(40).reward
    for array in (rates, decays, limits):
        array[:] = 100.0
    assert np.array_equal(policy.simulate(40).reward, expected)
    for name in ("arrival_rate", "decay_rate", "max_age", "n_crawls", "n_sites", "method"):
        with pytest.raises(AttributeError):
            setattr(policy, name, getattr(policy, name))
    for name in ("arrival_rate", "decay_rate", "max_age"):
        for each in (policy, copy.copy(policy), pickle.loads(pickle.dumps(policy))):
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[0] = np.nan


@pytest.mark.parametrize("n", [4, 300])
def test_a_copied_policy_goes_its_own_way(n, tmp_path):
    def mapped(policy):
        joblib.dump(policy, tmp_path / "policy")
        return joblib.load(tmp_path / "policy", mmap_mode="r")

    for copied in (copy.copy, copy.deepcopy, mapped):
        policy = WhittlePolicy(np.linspace(1, 2, n), np.full(n, 0.3), 3)
        policy.step()
        twin = copied(policy)
        expected = [policy.step().tolist() for _ in range(20)]
        assert [twin.step().tolist() for _ in range(20)] == expected
        assert policy.step_ == twin.step_ == 21


def test_a_policy_s_kernels_compare_their_arrays():
    n, numbers = 6, np.zeros(kernel.NUMBERS)
    good = {
        "sites": np.zeros((n, 8)), "heads": np.zeros((4, 2), dtype=np.int32),
        "chunks": np.zeros((kernel.chunks_wanted(n, 4), 16), dtype=np.int32), "hot": np.zeros(n, dtype=kernel.RANKED),
        "numbers": numbers, "n_crawls": 2,
    }  # fmt: skip
    kernel.Calendar(**good)
    for name, array in good.items():
        if name != "n_crawls":
            with pytest.raises(ValueError, match="must have shape"):
                kernel.Calendar(**{**good, name: array[:-1] if name != "sites" else array[:, :-1].copy()})
    for m in (0, n + 1):
        with pytest.raises(ValueError, match="n_crawls"):
            kernel.Calendar(**{**good, "n_crawls": m})
        with pytest.raises(ValueError, match="n_crawls"):
            kernel.BruteForce(np.zeros((8, n)), numbers, m)
    for columns, clock in ((np.zeros((7, n)), numbers), (np.zeros((8, n)), numbers[:1])):
        with pytest.raises(ValueError, match="must have shape"):
            kernel.BruteForce(columns, clock, 2)
    for fill, shape in ((kernel.site_rows, (n, 8)), (kernel.site_columns, (8, n))):
        with pytest.raises(ValueError, match="must have shape"):
            fill(np.ones(n), np.ones(n - 1), np.ones(n), np.empty(shape))
        with pytest.raises(ValueError, match="must have shape"):
            fill(np.ones(n), np.ones(n), np.ones(n), np.empty((n, n)))
    policy = WhittlePolicy(np.ones(n), np.ones(n), 2, method="brute")
    with pytest.raises(ValueError, match="crawls must have shape"):
        policy._chooser(2).run(np.empty(3), np.empty((1, 1), dtype=np.int32))


def test_an_environment_s_kernel_compares_its_arrays():
    environment = EphemeralEnvironment(np.ones(3), np.ones(3), dynamics="mean")
    environment._last = np.zeros(2)
    with pytest.raises(ValueError, match="last must have shape"):
        environment.crawl([2])
