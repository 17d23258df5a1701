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
CALLS = 50_000  # polls or calls counted, after as many to warm up
SAVED = HERE / "callgrind.json"
LOOP = "__pyx_pw_9knapsolve_5_core_4loop_1run"  # knapsolve._core.loop.run, as Cython names it
PRIMITIVES = {"sum_tree", "deadline_queue", "deadline_tree", "cpu_level"}  # what kernels.c calls
FLAGS = ["-O3", "-DNDEBUG", "-fno-math-errno", "-ffp-contract=off"]  # setup.py's


class Case(NamedTuple):
    """A C primitive: what to run, and the function to count in."""

    name: str
    command: list[str]
    counted: str


def primitives(driver: Path) -> Iterator[Case]:
    for n in (500, 32_768):
        for level, kernel in ((0, "draw"), (0, "add"), (1, "draw"), (1, "add")):
            name = f"sum_tree {kernel} {'avx2' if level else 'portable'} n={n}"
            yield Case(name, [str(driver), kernel, str(n), str(CALLS), str(level)], f"kernel_{kernel}")
        for structure in ("queue", "tree"):
            for move in ("pop", "push"):
                name, function = f"deadline_{structure} {move} n={n}", f"deadline_{structure}_{move}"
                yield Case(name, [str(driver), structure, str(n), str(CALLS), "1"], function)


def drive_loops() -> None:
    """Under valgrind: two calls of the loop for each learner, size and order, the first to warm up."""
    from closed_loop import TARGETS, closed_loop

    for case in TARGETS:
        polls = closed_loop(*case, warm_up=CALLS)
        polls(CALLS)


def compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def build_driver(folder: Path) -> Path:
    """Compile the C primitives' driver, as setup.py would."""
    driver = folder / "kernels"
    sources = [HERE / "kernels.c"]
    sources += sorted(path for path in (ROOT / "csrc").glob("*.c") if path.stem in PRIMITIVES)
    command = [*compiler(), *FLAGS, "-g", f"-I{ROOT / 'csrc'}", *map(str, sources), "-o", str(driver), "-lm"]
    subprocess.run(command, check=True)
    return driver


def callgrind(out: Path, options: list[str], command: list[str], level: int) -> list[int]:
    """Instructions in each of the profiles that one run dumps, the final one last."""
    environment = os.environ | {"KNAPSOLVE_CPU_LEVEL": str(level), "PYTHONHASHSEED": "0"}
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options]
    done = subprocess.run([*valgrind, *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    dumps = sorted(out.parent.glob(f"{out.name}.*"), key=lambda path: int(path.suffix[1:]))
    found = [
        re.findall(r"^(?:summary|totals): (\d+)", path.read_text(), re.MULTILINE)[-1]
        for path in [*dumps, out]
    ]
    return [int(count) for count in found]


def count_loops(folder: Path) -> dict[str, float]:
    """Instructions a poll of each loop: every second profile, after the warm-up's."""
    from closed_loop import TARGETS

    options = [f"--toggle-collect={LOOP}", f"--dump-after={LOOP}"]
    found = callgrind(folder / "loops.out", options, [sys.executable, __file__, "--drive-loops"], 1)[1:-1:2]
    if len(found) != len(TARGETS):
        raise RuntimeError(f"{len(TARGETS)} loops gave {len(found)} counts; has {LOOP} been renamed?")
    return {f"loop {name} {order} n={n}": count / CALLS for (name, n, order), count in zip(TARGETS, found)}


def count_primitive(case: Case, folder: Path) -> dict[str, float]:
    """Instructions a call of a primitive, after the warm-up."""
    out = folder / (re.sub(r"\W", "_", case.name) + ".out")
    options = [f"--toggle-collect={case.counted}", "--dump-before=measure"]
    total = callgrind(out, options, case.command, 1)[-1]
    if total == 0:
        raise RuntimeError(f"{case.name}: nothing was counted; has {case.counted} been renamed?")
    return {case.name: total / CALLS}


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
    parser.add_argument("--drive-loops", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive_loops:
        drive_loops()
        return 0
    if shutil.which("valgrind") is None:
        print("instruction counts: skipped, valgrind is not installed")
        return 0
    last = json.loads(SAVED.read_text()) if SAVED.exists() else {"toolchain": {}, "counts": {}}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        work = [pool.submit(count_loops, folder)]
        work += [pool.submit(count_primitive, case, folder) for case in primitives(build_driver(folder))]
        counts = {kernel: round(count, 2) for future in work for kernel, count in future.result().items()}
    print(table(counts, last["counts"]))
    now = toolchain()
    if last["counts"] and now != last["toolchain"]:
        print(f"counts differ by the tools too: now {now}, saved with {last['toolchain']}")
    if arguments.save:
        SAVED.write_text(json.dumps({"toolchain": now, "counts": counts}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
