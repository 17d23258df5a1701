"""Every check of public input lives here, a module per kind; inner code trusts what passed.

Each function returns the checked value in the form the kernels want, or raises a
ValueError or TypeError that names the parameter, the offending value and what is allowed.
"""

# ruff: noqa: F401

from knapsolve._validation.arrays import (
    check_amounts,
    check_array,
    check_column,
    check_same_length,
    check_states,
    check_vector,
    check_whole,
    refuse_masks,
    refuse_stamps,
    refuse_texts,
)
from knapsolve._validation.messages import calls_from_outside, shown
from knapsolve._validation.polls import (
    check_crawl_log,
    check_material_numbers,
    check_poll_columns,
    check_poll_log,
)
from knapsolve._validation.random_state import resolve_random_state, resolve_seed_sequence
from knapsolve._validation.scalars import (
    check_after,
    check_amount,
    check_capacity,
    check_choice,
    check_column_key,
    check_flag,
    check_integer,
    check_jobs,
    check_kernel,
    check_progress,
    check_real,
)
from knapsolve._validation.sites import check_site_numbers, check_sites
