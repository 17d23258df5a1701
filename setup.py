"""Build knapsolve's compiled core: one table of extensions, one set of flags.

KNAPSOLVE_DEBUG=1 turns on bounds checks, initialised-memoryview checks, checked division and assertions
(`make` rebuilds everything when it changes; by hand, add CYTHON_FORCE_REGEN=1 and build_ext --force).
KNAPSOLVE_BUILD_JOBS sets how many files compile at once. All metadata lives in pyproject.toml.
"""

import os
from copy import copy
from glob import glob
from itertools import count
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

JOBS = int(os.environ.get("KNAPSOLVE_BUILD_JOBS") or os.cpu_count() or 1)
DEBUG = os.environ.get("KNAPSOLVE_DEBUG", "0") not in ("", "0")

# module -> the C sources of csrc/ that it includes beside its .pyx
EXTENSIONS: dict[str, list[str]] = {
    "_core.bellman": [],
    "_core.mm1k": [],
    "_core.robot_simulation": [],
    "_core.robot_control": ["robot_plan.c", "robot_policy.c", "robot_improve.c", "robot_sweep.c", "cpu_level.c"],
    "_core.random_bits": [],
    "_core.roles": [],
    "_core.weight_tree": ["sum_tree.c", "cpu_level.c"],
    "_core.automata": ["share_tree.c", "cpu_level.c"],
    "_core.policies": [],
    "_core.schedulers": ["deadline_queue.c", "deadline_tree.c"],
    "_core.environments": [],
    "_core.python_roles": [],
    "_core.loop": [],
    "_core.lanes": ["lakg_lanes.c"],
    "_core.whittle_index": ["whittle_index.c", "whittle_inverse.c", "cpu_level.c"],
    "_core.crawl_roles": [],
    "_core.ephemeral": ["whittle_index.c", "cpu_level.c"],
    "_core.top_sites": ["top_select.c"],
    "_core.site_book": ["decay_fit.c"],
    "_core.slots": [],
    "_core.plug_in_whittle": ["whittle_index.c", "cpu_level.c"],
    "_core.lspe": [],
    "_core.lspe_whittle": [],
    "_core.index_policy": [
        "index_calendar.c", "calendar_path.c", "calendar_gather.c", "top_select.c", "whittle_index.c",
        "whittle_inverse.c", "cpu_level.c",
    ],
    "_core.nefk": [
        "nefk_kernel.c", "nefk_groups.c", "nefk_group_expand.c", "nefk_group_approach.c",
        "nefk_group_apart.c", "nefk_group_begin.c", "nefk_group_breaks.c", "nefk_group_checks.c", "nefk_group_corner.c",
        "nefk_group_first.c", "nefk_group_greedy.c", "nefk_group_lanes.c", "nefk_group_rows.c", "nefk_group_search.c",
        "nefk_group_settle.c", "nefk_blocks.c", "nefk_marks.c", "nefk_model.c", "nefk_ramps.c", "nefk_run.c",
        "nefk_search.c", "nefk_steer.c", "cpu_level.c",
    ],
    "_core.group_layout": ["nefk_layout.c", "cpu_level.c"],
    "_core.group_samples": [],
    "_core.group_sums": [],
    "_core.group_tables": ["nefk_by_group.c", "cpu_level.c"],
    "_core.renewal": ["rate_ladder.c", "cpu_level.c"],
    "_core.adaptive_intervals": ["sum_tree.c", "cpu_level.c"],
    "_core.exact_sum": [],
    "_core.censored": ["censored_fit.c"],
    "_core.rate_filters": [],
    "_core.rate_learner": [],
    "_core.refit_learner": [],
    "_core.patience": [],
    "_core.curve_draws": ["gp_posterior.c", "truncated_normal.c", "cpu_level.c"],
    "_core.gpoks": ["gp_posterior.c", "curve_market.c", "cpu_level.c"],
    "_core.credit_order": [],
    "_core.threads": [],
}

# What Cython would else write into every module that has typed memoryviews: more than half of the C
SHARED = "knapsolve._core._cyutility"

COMPILE_FLAGS = ["-fno-math-errno", "-ffp-contract=off", "-Wno-unused-function", "-Wno-unused-const-variable"]
COMPILE_FLAGS += ["-Werror=implicit-function-declaration"]  # which some compilers only warn of
# clang: of a | beside a ?:, of a width that it does not know, and of what Cython makes of const memoryviews
COMPILE_FLAGS += ["-Wno-parentheses", "-Wno-ignored-attributes", "-Wno-incompatible-pointer-types-discards-qualifiers"]
COMPILE_FLAGS += ["-Wno-discarded-qualifiers"]  # the same by gcc's name
COMPILE_FLAGS += ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0", "-DNDEBUG"]
LIMITED_API = [("Py_LIMITED_API", "0x030B0000")]
NUMPY_RANDOM = str(Path(numpy.get_include()).parents[1] / "random" / "lib")


def extension(module: str, sources: list[str]) -> Extension:
    """One extension: its .pyx, its C sources, and the flags that all share."""
    return Extension(
        f"knapsolve.{module}",
        sources=[f"knapsolve/{module.replace('.', '/')}.pyx", *(f"csrc/{name}" for name in sources)],
        depends=sorted(glob("csrc/*.h")),
        include_dirs=["csrc", numpy.get_include()],
        library_dirs=[NUMPY_RANDOM],
        libraries=["npyrandom", "m"],
        define_macros=LIMITED_API,
        extra_compile_args=COMPILE_FLAGS,
        py_limited_api=True,
    )


def shared_utilities() -> Extension:
    """The module that all others share; cythonize writes it."""
    return Extension(
        SHARED,
        sources=[f"{SHARED.replace('.', '/')}.c"],
        define_macros=LIMITED_API,
        extra_compile_args=COMPILE_FLAGS,
        py_limited_api=True,
    )


class BuildExtensions(build_ext):
    """Say what is compiled; an editable install takes what lies in place, where that is up to date."""

    started = count(1)

    def build_extension(self, ext: Extension) -> None:
        in_place = self.get_ext_filename(ext.name)
        if self.editable_mode and not newer_group([*ext.sources, *ext.depends], in_place, "newer"):
            made = os.path.join(self.build_lib, in_place)
            self.mkpath(os.path.dirname(made))
            self.copy_file(in_place, made)
            return
        print(f"[{next(self.started)}/{len(self.extensions)}] {ext.name}", flush=True)
        own = copy(self)  # with objects of its own: several extensions have a source, and are built at once
        own.build_temp = os.path.join(self.build_temp, ext.name)
        super(BuildExtensions, own).build_extension(ext)


directives = {
    "language_level": 3,
    "embedsignature": True,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": not DEBUG,
    "freethreading_compatible": False,
    "show_performance_hints": not DEBUG,
}

if __name__ == "__main__":
    setup(
        ext_modules=cythonize(
            [shared_utilities(), *(extension(module, sources) for module, sources in EXTENSIONS.items())],
            shared_utility_qualified_name=SHARED,
            compiler_directives=directives,
            build_dir="build/cython-debug" if DEBUG else "build/cython",
            nthreads=JOBS,
        ),
        cmdclass={"build_ext": BuildExtensions},
        options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": JOBS}},
    )
