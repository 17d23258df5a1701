"""Ctrl-C at any moment, and readers that go away: one line, and what is finished."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import knapsolve
from tests.cli.conftest import GOOD
from tests.processes import run_script


def test_ctrl_c_ends_with_status_130_and_the_finished_rows():
    arguments = ["replay", "debian", "--capacity", "50/s", "--policy", "uniform,lakg", "--runs", "1",
                 "--start", "2022-12-01", "--split", "none", "--stop", "2022-12-02T06:00"]  # fmt: skip
    done = interrupted_after(arguments, "lakg")
    assert done.returncode == 130
    assert done.stderr.rstrip().endswith("knapsolve: interrupted") and "Traceback" not in done.stderr
    assert "uniform" in done.stdout and "[" in done.stdout


@pytest.mark.parametrize(
    ("command", "status", "complaint"),
    [
        (["-m", "knapsolve", "--version"], 130, True),
        (["bin/knapsolve", "--version"], 130, True),
        (["-c", "import knapsolve"], -signal.SIGINT, False),
    ],
    ids=["the module", "the command", "a program"],
)
def test_ctrl_c_during_the_imports(tmp_path, command, status, complaint):
    """One line from the command line; a program that imports knapsolve gets its exception."""
    (tmp_path / "joblib.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "knapsolve").write_text("from knapsolve.cli import main\nraise SystemExit(main())\n")
    folders = [str(tmp_path), str(Path(knapsolve.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    if complaint:
        assert done.stderr == "knapsolve: interrupted\n"
    else:
        assert "KeyboardInterrupt" in done.stderr


def interrupted_after(arguments, sign):
    """Run the command line and press Ctrl-C when the progress bar has come to `sign`."""
    code = (
        "import sys, os, signal, knapsolve.cli.output as output; from contextlib import contextmanager\n"
        "bar = output.progress_bar\n"
        "@contextmanager\n"
        "def spy(total):\n"
        "    with bar(total) as stage:\n"
        f"        yield lambda name, before: press if name == {sign!r} else stage(name, before)\n"
        "def press(done, total): os.kill(os.getpid(), signal.SIGINT)\n"
        "output.progress_bar = spy\n"
        "from knapsolve.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    return run_script(code, *arguments, seconds=120)


def test_an_interrupted_document_says_that_it_is_not_finished():
    arguments = ["simulate", "--n", "8", "--polls", "3e6", "--runs", "1", "--learner", "uniform,lakg", "--json"]
    done = interrupted_after(arguments, "lakg")
    document = json.loads(done.stdout)
    assert done.returncode == 130 and document["finished"] is False and list(document["learners"]) == ["uniform"]


def test_a_picture_after_ctrl_c_says_that_policies_are_missing(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.svg"
    (tmp_path / "log.csv").write_text(GOOD)
    arguments = ["replay", str(tmp_path / "log.csv"), "--capacity", "1/s", "--policy", "uniform,lakg"]
    done = interrupted_after([*arguments, "--plot", str(picture)], "lakg")
    assert done.returncode == 130, done.stderr
    assert "interrupted: 1 of 2 policies are finished" in picture.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["ReplayResult._resampled", "ReplayResult.plot"])
@pytest.mark.parametrize("as_json", [False, True], ids=["table", "json"])
def test_ctrl_c_after_the_last_poll_prints_all_rows(tmp_path, phase, as_json):
    """In the intervals or the picture, once; their intervals are then of fewer resamples, and say so."""
    if phase.endswith("plot"):
        pytest.importorskip("matplotlib")
    (tmp_path / "log.csv").write_text(GOOD)
    code = (
        "import sys, os, signal, time\n"
        "from knapsolve.replay import ReplayResult\n"
        f"whole, calls = {phase}, []\n"
        "def pressed(self, *arguments):\n"
        "    calls.append(1)\n"
        "    if len(calls) == (1 if 'plot' in whole.__name__ else 3):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(1)\n"
        "    return whole(self, *arguments)\n"
        f"{phase} = pressed\n"
        "from knapsolve.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["replay", str(tmp_path / "log.csv"), "--capacity", "1/s", "--policy", "uniform,lakg"]
    arguments += ["--json"] * as_json + ["--plot", str(tmp_path / "out.svg")] * phase.endswith("plot")
    done = run_script(code, *arguments, seconds=120)
    assert done.returncode == 130, done.stderr
    assert done.stderr.rstrip().endswith("knapsolve: interrupted") and "Traceback" not in done.stderr
    assert "(100 resamples only: interrupted)" in done.stdout
    if as_json:
        document = json.loads(done.stdout)
        assert not document["finished"] and [row["policy"] for row in document["policies"]] == ["uniform", "lakg"]
    else:
        first = [line.split()[0] for line in done.stdout.splitlines() if "[" in line and line.strip()]
        assert [word for word in first if word in ("uniform", "lakg")] == ["uniform", "lakg", "lakg"]


def test_ctrl_c_before_anything_is_finished_prints_no_table(tmp_path):
    (tmp_path / "log.csv").write_text(GOOD)
    done = interrupted_after(
        ["replay", str(tmp_path / "log.csv"), "--capacity", "1/s", "--policy", "uniform"], "uniform"
    )
    assert (done.returncode, done.stdout) == (130, "")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error():
    command = [
        sys.executable,
        "-m",
        "knapsolve",
        "replay",
        "debian",
        "--capacity",
        "1/day",
        "--runs",
        "1",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    error = process.stderr.read().decode()
    assert process.wait() == 0 and "Traceback" not in error and "Exception ignored" not in error
