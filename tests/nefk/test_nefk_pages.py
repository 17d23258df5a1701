"""Solves one after the other have the same pages: none is given back to the system to be zeroed anew."""

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
from knapsolve import criteria, solve_nefk
n, generator = 300_000, np.random.default_rng(1)
criterion, groups = criteria.Freshness(np.exp(generator.normal(0, 1.5, n))), generator.integers(0, n // 2, n)
caps, weights, solves = generator.uniform(0.1, 2.0, n // 2), generator.uniform(0.1, 2.0, n), 5
for k in range(2 * solves):
    solve_nefk(criterion, 0.3 * n, weights=weights, groups=groups, group_caps=caps, n_jobs=1)
    if k == solves - 1:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // solves)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what stays of freed memory is the C library's rule")
def test_solves_with_groups_keep_their_pages():
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}  # which dask sets
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=own, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300  # of some 1,700 that a solve writes to
