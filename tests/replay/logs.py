"""Change logs for tests of replays."""

import numpy as np

DAY = 86400.0


def bursty_log(n_items, n_changes, seed, length=100.0):
    """Changes in bursts, some items never in the second half; times are 64ths, so that they scale exactly."""
    generator = np.random.default_rng(seed)
    items = np.append(generator.integers(0, n_items, n_changes), [0, 1])
    times = (
        np.floor(np.append(length * generator.beta(0.6, 0.5, n_changes), [0.75 * length, length]) * 64) / 64
    )
    order = np.argsort(times, kind="stable")
    return np.array([f"item {k}" for k in range(n_items)])[items[order]], times[order]
