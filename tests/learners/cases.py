"""The learners from poll logs, one fast instance of each kind, and logs for them."""

import pickle

import numpy as np

from knapsolve import (
    GPOKS,
    HTRAA,
    LAKG,
    AdaptiveIntervalPolicy,
    EstimatorPolicy,
    OptimalPolicy,
    ProportionalPolicy,
    RateAllocator,
    RenewalIndexPolicy,
    UniformPolicy,
)
from knapsolve.learners import WindowedRatePolicy

LEARNERS = {
    "lakg": LAKG(resolution=60),
    "lakg-2": LAKG(resolution=200, exponent=1.1, capacity=2.5),
    "htraa": HTRAA(resolution=30, random_state=1),
    "htraa-ri": HTRAA(resolution=700, update="reward-inaction", random_state=2),
    "htraa-ip": HTRAA(resolution=(5, 9, 700, 12, 8, 6, 5, 4), update="inaction-penalty", random_state=3),
    "htraa-curved": HTRAA(resolution=30, exponent=1.7, capacity=3.0, random_state=4),
    "gpoks": GPOKS(n_points=19, random_state=5),
    "gpoks-thompson": GPOKS(n_points=12, draw="thompson", monotone=False, capacity=3.0, random_state=6),
    "gpoks-rejection": GPOKS(n_points=9, sampler="rejection", max_tries=20, feedback_noise=0.1, random_state=7),
    "gpoks-mean": GPOKS(n_points=19, draw="mean"),
    "uniform": UniformPolicy(),
    "proportional": ProportionalPolicy(),
    "optimal": OptimalPolicy(),
    "estimator": EstimatorPolicy(phase=40),
    "renewal": RenewalIndexPolicy(),
    "renewal-detection": RenewalIndexPolicy(balance=0.0, capacity=7.0),
    "nutch": AdaptiveIntervalPolicy(),
    "stormcrawler": AdaptiveIntervalPolicy(rule="stormcrawler", bounds=(0.2, 3.0), capacity=0.3),
    "harmonic": WindowedRatePolicy(window=70, every=30),
    "harmonic-once": WindowedRatePolicy(window=50, every=50, max_fits=1, capacity=3.0),
    "proportional-anew": WindowedRatePolicy(criterion="proportional", window=40, every=7),
    "rates": RateAllocator(),
    "rates-bayes": RateAllocator(3.0, estimator="bayes", criterion="freshness", memory=50.0),
    "rates-gradient": RateAllocator(estimator="multiplicative", criterion="harmonic"),
    "rates-renewal": RateAllocator(criterion="renewal", balance=0.6, capacity=3.0),
    "rates-mle": RateAllocator(estimator="mle", criterion="poisson", memory=20.0),
    "estimator-naive": EstimatorPolicy(phase=40, estimate="detection-rate"),
}


def poll_log(n_polls, n_materials, seed=0):
    """A log in which material k changes with probability 1 / (k + 1)."""
    rng = np.random.default_rng(seed)
    material = rng.integers(0, n_materials, n_polls)
    material[:2] = np.arange(min(2, n_polls)) % n_materials
    elapsed = rng.exponential(2.0, n_polls)
    changed = (rng.random(n_polls) < 1 / (material + 1)).astype(int)
    return np.column_stack([material, elapsed]), changed


def state_of(learner):
    """Everything that a learner knows, in comparable form."""
    state = {name: np.asarray(value).tolist() for name, value in vars(learner).items()
             if name.endswith("_") and isinstance(value, np.ndarray)}  # fmt: skip
    state["amounts_"] = learner.amounts_.tolist()
    if learner.random_state is not None:
        state["generator"] = repr(learner._generator.bit_generator.state)
    return state


def state_bytes(learner):
    """Everything that a learner holds, as bytes; the lookup of identifiers and the lock are made when needed."""
    return pickle.dumps({k: v for k, v in vars(learner).items() if k not in ("_lookup", "_lock", "_shortlist")})
