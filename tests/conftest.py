"""One thread for linear algebra, and property tests that draw the same examples every time.

Matrices here are small: more threads only wait for each other, most on a busy machine.
HYPOTHESIS_PROFILE=explore looks for new examples.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
