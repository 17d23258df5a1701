"""Where random numbers come from."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from knapsolve._validation.scalars import check_integer


def resolve_random_state(random_state: Any) -> np.random.Generator:
    """Return the Generator that `random_state` (None, int, RandomState, Generator, ...) stands for.

    A Generator is used as it is, so that it goes on; a RandomState shares its bit generator.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    if random_state is not None and not isinstance(random_state, np.random.SeedSequence):
        random_state = check_integer("random_state", random_state, low=0)
    return np.random.default_rng(random_state)


def resolve_seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the root that streams are spawned from; a Generator or RandomState spends 128 bits on it."""
    generator = resolve_random_state(random_state)
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return np.random.SeedSequence(generator.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    return cast(np.random.SeedSequence, generator.bit_generator.seed_seq)
