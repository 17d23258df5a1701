"""A trace of any repository's files: which one changed when, as its history has it."""

from __future__ import annotations

import errno
import os
import subprocess
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from knapsolve._validation import check_choice, check_flag
from knapsolve.datasets.debian import ChangeLog

DATES = {"committer": "%ct", "author": "%at"}
PLACED_BY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE")  # would point elsewhere than `path`

# whatever the user's settings
PLAIN = ("-c", "log.showRoot=true", "-c", "log.follow=false", "-c", "diff.relative=false")


def from_git_log(
    path: str | os.PathLike[str],
    *,
    revision: str = "HEAD",
    paths: Sequence[str] = (),
    follow_renames: bool = True,
    first_parent: bool = False,
    date: str = "committer",
) -> ChangeLog:
    """When the files of a git repository changed.

    Parameters
    ----------
    path : str or path-like
        The repository's folder, or one inside it.
    revision : str, default="HEAD"
        What to read the history of: a branch, a tag, a commit, or a range of them.
    paths : sequence of str, default=()
        Only files that these match, as ``git log -- paths`` takes them (``["docs", "*.md"]``); all by default.
    follow_renames : bool, default=True
        A renamed file stays one item, under its latest name; moving it alone is no change. Without, a rename
        is a change of both names.
    first_parent : bool, default=False
        See only what one who watches the branch sees: all that a merge brings changes when it is merged. By
        default each commit counts at its own time, and merges that only bring commits together do not.
    date : {"committer", "author"}, default="committer"
        When a commit came to be where it is, or when it was first written.

    Returns
    -------
    items : ndarray of shape (n_changes,), object
        The file's path from the repository's root; bytes that are not UTF-8 are escaped.
    times : ndarray of shape (n_changes,)
        Seconds since 1970 (UTC), ascending. Coming and going are changes too.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not as described, `path` is not in a repository, or there is nothing in its history.
    FileNotFoundError
        If git is not installed.

    Warns
    -----
    UserWarning
        If the clone is shallow: all files seem to have come with its oldest commit.

    References
    ----------
    ``git help log``, on ``--name-status``, ``--find-renames`` and ``--first-parent``.

    Examples
    --------
    >>> from knapsolve.datasets import from_git_log
    >>> items, times = from_git_log(".")  # doctest: +SKIP
    """
    folder = _check_folder(path)
    field = DATES[check_choice("date", date, DATES)]
    for name, value in (("follow_renames", follow_renames), ("first_parent", first_parent)):
        check_flag(name, value)
    if not isinstance(revision, str) or not revision or revision.startswith("-"):
        raise ValueError(f"revision must be a branch, a tag or a commit, got {revision!r}")
    if isinstance(paths, str) or not all(isinstance(each, str) and each for each in paths):
        raise TypeError(f"paths must be a sequence of patterns, got {paths!r}")
    if _git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true":
        warnings.warn(f"{folder} is a shallow clone: its history is cut off", UserWarning, stacklevel=2)
    options = ["--find-renames" if follow_renames else "--no-renames"]
    options += ["--first-parent", "--diff-merges=first-parent"] if first_parent else []
    data = _git(
        folder, "log", "-z", "--name-status", f"--format=tformat:{field}", "--no-show-signature", "--no-color",
        *options, revision, "--", *paths,
    )  # fmt: skip
    there: set[bytes] = set()
    if follow_renames and data:
        tip = _git(folder, "rev-list", "-1", revision, "--").decode().strip()
        there.update(_git(folder, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tip).split(b"\0"))
    rows = _changes(data, there)[::-1]  # oldest first
    if not rows:
        within = f" that match {list(paths)}" if paths else ""
        raise ValueError(f"path must hold a repository with files in its history{within}, got {str(path)!r}")
    moments = np.array([when for _, when in rows])
    order = np.argsort(moments, kind="stable")  # clocks differ
    items = np.empty(len(rows), dtype=object)
    items[:] = [file for file, _ in rows]
    return ChangeLog(items[order], moments[order])


class _File:
    """What was at a path, and what a rename elsewhere in the history made of it."""

    def __init__(self, path: bytes):
        self.path, self.edited_only = path, False
        self.became: _File | None = None

    def latest(self) -> _File:
        file = self
        while file.became is not None:
            file = file.became
        return file


def _changes(data: bytes, there: set[bytes]) -> list[tuple[str, float]]:
    """(file, time) of each change, newest first, from NUL-separated log entries.

    A commit is its time, then its entries: a status and one path, or two for a rename. Newest first, a rename
    says what the file was called in all that follows; and in what came before, if that only edits the old path, and
    that is not among the files `there` in the end: such edits were made side by side with the rename,
    on another branch.
    """
    tokens = iter(data.split(b"\0"))
    at: dict[bytes, _File] = {}  # what a path of this time is now
    when, changes = 0.0, []
    for token in tokens:
        status = token.lstrip(b"\n")
        if status[:1] == b"R":
            old, new = next(tokens), next(tokens)
            file = at.setdefault(new, _File(new)).latest()
            file.edited_only = False
            if old in at and at[old].edited_only and old not in there:
                at[old].became = file
            at[old] = file
            if status != b"R100":
                changes.append((file, when))
        elif status.isalpha():
            path = next(tokens)
            known = path in at
            file = at.setdefault(path, _File(path))
            file.edited_only = status == b"M" and (file.edited_only or not known)
            changes.append((file, when))
        elif status:
            when = float(status)
    names = {file: file.path.decode("utf-8", "backslashreplace") for file in {each.latest() for each, _ in changes}}
    return [(names[file.latest()], moment) for file, moment in changes]


def _check_folder(path: str | os.PathLike[str]) -> Path:
    try:
        folder = Path(path)
    except TypeError as error:
        raise TypeError(f"path must be a folder, got {path!r}") from error
    if not folder.is_dir():
        raise ValueError(f"path must be the folder of a git repository, there is no folder {str(path)!r}")
    return folder


def _git(folder: Path, *arguments: str) -> bytes:
    """What git prints; ValueError in its own words if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in PLACED_BY}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *PLAIN, *arguments], capture_output=True, env=environment, check=False
        )
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "git must be installed to read a repository", "git") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"status {done.returncode}"]
        message = words[0].removeprefix("fatal: ")
        if "does not have any commits" in message or "unknown revision" in message or "bad revision" in message:
            message += " (an empty repository, or no such revision)"
        raise ValueError(f"path must be the folder of a git repository, got {str(folder)!r}: {message}")
    return done.stdout
