"""Learners of two materials in known situations, for the tests of GPOKS."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from knapsolve import GPOKS
from knapsolve.environments import BernoulliEnvironment

PAIR = BernoulliEnvironment([0.75, 0.25])
# observations (grid point in hundredths, polls, changes) and the share of admissible draws
SITUATIONS = {
    "prior, .07": ([], 0.07),
    "a little data, .03": ([(50, 4, 3), (70, 3, 2)], 0.03),
    "a rise, .01": ([(90, 20, 10), (50, 20, 10)], 0.01),
    "a steeper rise, below .001": ([(90, 20, 12), (50, 20, 10)], 0.0005),
}


def two(**parameters):
    """A learner of two materials on the paper's grid."""
    return GPOKS(scale="linear", n_materials=2, random_state=0, **parameters)


def log_at(points, outcomes, material=0):
    """Polls of a material at amounts that are grid points; one of the other material at the end."""
    rows = [[material, 1 / x] for x in points] + [[1 - material, 100.0]]
    return np.array(rows), np.append(outcomes, 1).astype(int)


def in_situation(observations, **parameters):
    points = np.repeat([k / 100 for k, _, _ in observations], [n for _, n, _ in observations])
    outcomes = np.concatenate([np.zeros(0), *[np.arange(n) < y for _, n, y in observations]])
    return two(**parameters).fit(*log_at(points, outcomes))


def regression(x, y, noise=0.1):
    return GaussianProcessRegressor(RBF(1.0), alpha=noise, optimizer=None).fit(x[:, None], y)
