"""Exact instruction counts of the compiled kernels, beside the last saved ones.

    python benchmarks/callgrind.py          count and compare
    python benchmarks/callgrind.py --save   count, compare, and keep the counts in callgrind.json

valgrind counts what a kernel executes: no noise, the same number at every run with one compiler and one numpy
(but for the Python call around a loop, a few dozen in millions). Counts are a poll (loops) or a call
(primitives), of AVX2 (level 1: no valgrind knows AVX-512) or portable code (level 0). They say nothing of
caches: the timings do.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parent
SAVED = HERE / "callgrind.json"
LOOP = "__pyx_pw_9knapsolve_5_core_4loop_1run"  # knapsolve._core.loop.run, as Cython names it
PRIMITIVES = {"sum_tree", "deadline_queue", "deadline_tree", "cpu_level"}  # what kernels.c calls
FLAGS = ["-O3", "-DNDEBUG", "-fno-math-errno", "-ffp-contract=off"]  # setup.py's


class Case(NamedTuple):
    """What to run, the function to count in, and the one before whose last call counts are forgotten."""

    name: str
    command: list[str]
    counted: str
    forget_before: str
    calls: int
    level: int


def cases(driver: Path) -> Iterator[Case]:
    polls, calls = 50_000, 100_000
    for n in (500, 32_768):
        for learner in ("lakg", "htraa"):
            for scheduler in ("random", "edf"):
                command = [
                    sys.executable,
                    str(HERE / "_core" / "loops.py"),
                    learner,
                    scheduler,
                    str(n),
                    str(polls),
                ]
                yield Case(f"loop {learner} {scheduler} n={n}", command, LOOP, LOOP, polls, 1)
        for level, kernel in ((0, "draw"), (0, "add"), (1, "draw"), (1, "add")):
            command = [str(driver), kernel, str(n), str(calls), str(level)]
            code = "avx2" if level else "portable"
            yield Case(
                f"sum_tree {kernel} {code} n={n}", command, f"kernel_{kernel}", "measure", calls, level
            )
        for structure in ("queue", "tree"):
            command = [str(driver), structure, str(n), str(calls), "1"]
            for move in ("pop", "push"):
                name, function = f"deadline_{structure} {move} n={n}", f"deadline_{structure}_{move}"
                yield Case(name, command, function, "measure", calls, 1)


def compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def build_driver(folder: Path) -> Path:
    """Compile the C primitives' driver, as setup.py would."""
    driver = folder / "kernels"
    sources = [HERE / "_core" / "kernels.c"]
    sources += sorted(path for path in (ROOT / "csrc").glob("*.c") if path.stem in PRIMITIVES)
    command = [*compiler(), *FLAGS, "-g", f"-I{ROOT / 'csrc'}", *map(str, sources), "-o", str(driver), "-lm"]
    subprocess.run(command, check=True)
    return driver


def instructions(case: Case, folder: Path) -> float:
    """Instructions a call of the kernel, from one run under callgrind."""
    out = folder / (re.sub(r"\W", "_", case.name) + ".out")
    environment = os.environ | {"KNAPSOLVE_CPU_LEVEL": str(case.level), "PYTHONHASHSEED": "0"}
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    valgrind += [f"--toggle-collect={case.counted}", f"--dump-before={case.forget_before}"]
    done = subprocess.run([*valgrind, *case.command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{case.name}: {' '.join(case.command)}\n{done.stderr[-2000:]}")
    total = int(re.findall(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)[-1])
    if total == 0:
        raise RuntimeError(f"{case.name}: nothing was counted; has {case.counted} been renamed?")
    return round(total / case.calls, 2)


def toolchain() -> dict[str, str]:
    """What the counts depend on besides the sources."""
    said = subprocess.run([*compiler(), "--version"], capture_output=True, text=True)
    return {
        "compiler": said.stdout.splitlines()[0],
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }


def table(counts: dict[str, float], last: dict[str, float]) -> str:
    lines = [f"{'instructions a poll or call':<40}{'now':>12}{'saved':>12}{'change':>10}"]
    for name, count in counts.items():
        before = last.get(name)
        change = (
            "" if before is None else "same" if abs(count - before) < 0.015 else f"{count / before - 1:+.2%}"
        )
        lines.append(f"{name:<40}{count:>12.2f}{'' if before is None else f'{before:.2f}':>12}{change:>10}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", action="store_true", help=f"keep the counts in {SAVED.name}")
    save = parser.parse_args().save
    if shutil.which("valgrind") is None:
        print("instruction counts: skipped, valgrind is not installed")
        return 0
    last = json.loads(SAVED.read_text()) if SAVED.exists() else {"toolchain": {}, "counts": {}}
    with tempfile.TemporaryDirectory() as name:
        todo = list(cases(build_driver(Path(name))))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = dict(zip((c.name for c in todo), pool.map(lambda c: instructions(c, Path(name)), todo)))
    print(table(counts, last["counts"]))
    now = toolchain()
    if last["counts"] and now != last["toolchain"]:
        print(f"counts differ by the tools too: now {now}, saved with {last['toolchain']}")
    if save:
        SAVED.write_text(json.dumps({"toolchain": now, "counts": counts}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
