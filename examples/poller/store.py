"""All that the poller knows, in one SQLite file: a kill at any moment loses no poll that was recorded."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

TABLES = """
CREATE TABLE IF NOT EXISTS pages (
    page INTEGER PRIMARY KEY, host TEXT NOT NULL, path TEXT NOT NULL, etag TEXT, last_modified TEXT, body BLOB
);
CREATE TABLE IF NOT EXISTS polls (
    poll INTEGER PRIMARY KEY, page INTEGER NOT NULL, due REAL NOT NULL, sent REAL NOT NULL,
    elapsed REAL, status INTEGER NOT NULL, changed INTEGER
);
"""


class StateError(ValueError):
    """The file is none of this poller's, or about other pages."""


@dataclass
class Poll:
    """One poll and what it brought; `elapsed` and `changed` are None for a first copy and for a failure."""

    page: int
    due: float
    sent: float
    elapsed: float | None
    status: int  # 0: no answer
    changed: bool | None
    etag: str | None = None
    last_modified: str | None = None
    body: bytes | None = None


class Store:
    """Polls and copies. A batch of polls and the copies that they brought are one transaction."""

    def __init__(self, path: Path, pages: list[tuple[str, str]]):
        try:
            self.connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            known = self._prepare(path, pages)
        except sqlite3.Error as error:
            raise StateError(f"{path} cannot be used as the poller's state: {error}") from error
        if known != pages:
            raise StateError(f"{path} is about other pages: give another file")

    def _prepare(self, path: Path, pages: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Make what is missing; the pages that the file is about."""
        run = self.connection.execute
        tables = {name for (name,) in run("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}
        if not tables <= {"pages", "polls"}:
            raise StateError(f"{path} is another program's database: give another file")
        if "pages" in tables:  # refused here, before anything is written, if its columns are others
            run("SELECT page, host, path, etag, last_modified, body FROM pages LIMIT 0")
        # A log written before the pages outlives the process; FULL would outlive a power cut, at an fsync a batch.
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        self.connection.executescript(TABLES)
        rows = [(k, host, path) for k, (host, path) in enumerate(pages)]
        self.connection.executemany("INSERT OR IGNORE INTO pages (page, host, path) VALUES (?, ?, ?)", rows)
        return run("SELECT host, path FROM pages ORDER BY page").fetchall()

    def record(self, polls: list[Poll]) -> int:
        """Write a batch; the number of its last poll."""
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        try:
            for p in polls:
                cursor = run(
                    "INSERT INTO polls (page, due, sent, elapsed, status, changed) VALUES (?, ?, ?, ?, ?, ?)",
                    (p.page, p.due, p.sent, p.elapsed, p.status, p.changed),
                )
                if p.status == 200:
                    run(
                        "UPDATE pages SET etag = ?, last_modified = ?, body = ? WHERE page = ?",
                        (p.etag, p.last_modified, p.body, p.page),
                    )
            run("COMMIT")
        except BaseException:
            run("ROLLBACK")
            raise
        return int(cursor.lastrowid or 0)

    def validators(self) -> list[tuple[str | None, str | None]]:
        """ETag and Last-Modified of each page's copy."""
        return self.connection.execute("SELECT etag, last_modified FROM pages ORDER BY page").fetchall()

    def polled(self, *, told: bool) -> list[tuple[int, float]]:
        """Page and time of every poll in order, or of those alone that told whether the page had changed."""
        which = "WHERE status IN (200, 304)" if told else ""
        return self.connection.execute(f"SELECT page, sent FROM polls {which} ORDER BY poll").fetchall()

    def log(self, upto: int | None = None) -> list[tuple[int, float, int]]:
        """Page, elapsed time and outcome of the polls to learn from, in the order in which they were learnt."""
        where = "" if upto is None else f"AND poll <= {int(upto)}"
        query = f"SELECT page, elapsed, changed FROM polls WHERE changed IS NOT NULL {where} ORDER BY poll"
        return self.connection.execute(query).fetchall()

    def close(self) -> None:
        self.connection.close()
