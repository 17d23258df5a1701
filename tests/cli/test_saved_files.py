"""What a command saves is saved before it prints anything: nobody need read that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import knapsolve
from tests.processes import check_script

CHANGES = "item,timestamp\na,0\nb,1\na,2\na,3\nb,9\na,10\n"
POLLS = "item,time,changed\n" + "".join(f"i{k},{t},{t % 2}\n" for t in range(3) for k in range(2000))
CALLS = {
    "allocate": ["polls.csv", "--capacity", "9/s", "-o", "one.csv", "--schedule", "two.csv"],
    "replay": ["changes.csv", "--capacity", "1/s", "--runs", "1", "--policy", "uniform", "--plot", "one.svg"],
    "simulate": ["--polls", "2000", "--runs", "1", "--plot", "one.svg"],
    "robots": ["--arrival-rate", ".3", "--buffer", "9", "--starvation-weight", "2", "--dynamic", "--plot", "one.svg"],
    "whittle": ["-o", "one.csv", "--plot", "two.svg"],
}
WITHOUT_READER = """
import os, sys
from knapsolve.cli import main
os.chdir(sys.argv[1])
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", CALLS)
def test_files_are_saved_though_nobody_reads_what_is_printed(command, as_json, tmp_path):
    (tmp_path / "polls.csv").write_text(POLLS)
    (tmp_path / "changes.csv").write_text(CHANGES)
    check_script(WITHOUT_READER, tmp_path, command, *CALLS[command], *["--json"] * as_json, seconds=120)
    for name in CALLS[command]:
        if name.startswith(("one", "two")):
            assert (tmp_path / name).stat().st_size > 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_files_are_saved_though_the_disk_of_what_is_printed_is_full(tmp_path):
    (tmp_path / "polls.csv").write_text(POLLS)
    places = os.pathsep.join([str(Path(knapsolve.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "knapsolve", "allocate", *CALLS["allocate"], "--json"],
            stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}, timeout=120,
        )  # fmt: skip
    assert done.returncode == 2
    assert (tmp_path / "one.csv").stat().st_size > 0 and (tmp_path / "two.csv").stat().st_size > 0
