"""Small git repositories with a known history."""

import os
import subprocess

import pytest

DAY = 86400
FIRST = 1_600_000_000


class Repository:
    """Commits whose times are days since the first."""

    def __init__(self, folder, branch="main"):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self.git("init", "-q", "-b", branch)
        except FileNotFoundError:
            pytest.skip("needs git")

    def git(self, *arguments, day=0, author_day=None):
        when = {"GIT_COMMITTER_DATE": f"{FIRST + day * DAY} +0000",
                "GIT_AUTHOR_DATE": f"{FIRST + (day if author_day is None else author_day) * DAY} +0000"}  # fmt: skip
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(self.folder)}
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        subprocess.run(
            ["git", *map(os.fspath, arguments)], cwd=self.folder, check=True, capture_output=True,
            env=own | when | names | quiet,
        )  # fmt: skip

    def commit(self, day, files=None, author_day=None, gone=()):
        """Write the files (path: content), delete those gone, and commit."""
        for path, content in (files or {}).items():
            target = os.path.join(os.fsencode(self.folder), os.fsencode(path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as stream:
                stream.write(content if isinstance(content, bytes) else content.encode())
        for path in gone:
            (self.folder / path).unlink()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", f"day {day}", day=day, author_day=author_day)


def make_repository(folder):
    """Two files, changed on days 0, 1, 2, 4 and 0, 8."""
    mine = Repository(folder)
    mine.commit(0, {"a": "1", "b": "1"})
    for day in (1, 2, 4):
        mine.commit(day, {"a": f"at {day}"})
    mine.commit(8, {"b": "2"})
    return mine
