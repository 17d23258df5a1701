"""Names that a terminal cannot show, files whose names are no text, and warnings in a line."""

import os
import subprocess
import sys

import pytest

from tests.repositories import make_repository

LOG = "item,time,changed\ncaf\u00e9,0,0\ncaf\u00e9,1,1\n\U0001f600,0,0\n\U0001f600,2,0\n"


def run(folder, *arguments, encoding="ascii"):
    """The command line in a process whose streams have an encoding: status, standard output and error."""
    done = subprocess.run(
        [sys.executable, "-m", "knapsolve", *arguments], cwd=folder, capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding, "replace")


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "shown"), [("ascii", r"caf\xe9"), ("latin-1", "caf\u00e9")])
def test_names_beyond_the_encoding_of_the_terminal_are_escaped(tmp_path, encoding, shown):
    (tmp_path / "polls.csv").write_text(LOG, encoding="utf-8")
    status, out, err = run(tmp_path, "allocate", "polls.csv", "--capacity", "10/s", encoding=encoding)
    assert (status, err) == (0, "")
    assert shown in out and r"\U0001f600" in out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are text there")
def test_files_may_have_names_that_are_no_text(tmp_path):
    (tmp_path / "polls.csv").write_text(LOG, encoding="utf-8")
    os.rename(tmp_path / "polls.csv", os.fsencode(tmp_path) + b"/\xff.csv")
    names = os.fsdecode(b"\xff.csv"), os.fsdecode(b"\xfe.csv")
    status, out, err = run(tmp_path, "allocate", names[0], "--capacity", "10/s", "-o", names[1], encoding="utf-8")
    assert (status, err) == (0, "")
    assert r"\udcff.csv: 4 polls" in out
    assert "caf\u00e9" in (tmp_path / names[1]).read_text(encoding="utf-8")


@pytest.mark.slow
def test_warnings_are_a_line_without_code(tmp_path):
    mine = make_repository(tmp_path / "mine")
    mine.git("clone", "-q", "--depth", "2", f"file://{tmp_path / 'mine'}", tmp_path / "shallow")
    status, _, err = run(tmp_path, "replay", "--git", "shallow", "--polls-per-change", "3", encoding="utf-8")
    assert status == 0
    assert "knapsolve: warning: shallow is a shallow clone: its history is cut off\n" in err
    assert "UserWarning" not in err and ".py" not in err
