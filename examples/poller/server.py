"""A web server whose pages change as a recorded history did, only faster."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from urllib.parse import quote, unquote


@dataclass
class ReplayServer:
    """Pages by host and path; page k is at its v-th version after v recorded changes.

    Every page says when it last changed (Last-Modified), every second one also which version it is (ETag).
    A conditional request for the version that is still current is answered by 304, without a body.
    """

    pages: list[tuple[str, str]]  # (host, path)
    changes: list[list[float]]  # of each page, recorded times in seconds since 1970, ascending
    begin: float  # what is shown at first
    speed: float  # recorded seconds a second
    # of each request: time, host, path, whether conditional, status
    requests: list[tuple[float, str, str, bool, int]] = field(default_factory=list)

    async def start(self, port: int = 0) -> int:
        """Serve on this machine alone; the port."""
        self.numbers = {page: k for k, page in enumerate(self.pages)}
        self.started = time.time()
        self.listener = await asyncio.start_server(self._serve, "127.0.0.1", port, backlog=1024)
        return self.listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.listener.close()
        await self.listener.wait_closed()

    def recorded_time(self, now: float) -> float:
        return self.begin + (now - self.started) * self.speed

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            given = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
            status, headers, body = self._answer(method, unquote(target), given)
            lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
            writer.write("\r\n".join(lines).encode("latin-1") + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass  # whoever asked has gone, or speaks no HTTP
        finally:
            writer.close()

    def _answer(self, method: str, path: str, given: dict[str, str]) -> tuple[str, dict[str, str], bytes]:
        now = time.time()
        host = given.get("host", "").partition(":")[0]
        conditional = "if-none-match" in given or "if-modified-since" in given
        number = self.numbers.get((host, path))
        if number is None or method != "GET":
            self.requests.append((now, host, path, conditional, 404))
            return "404 Not Found", {"Content-Length": "0", "Connection": "close"}, b""
        moment = self.recorded_time(now)
        version = bisect_right(self.changes[number], moment)
        changed = self.changes[number][version - 1] if version else self.begin
        tag = f'"v{version}"'
        headers = {"Date": formatdate(moment, usegmt=True), "Last-Modified": formatdate(changed, usegmt=True)}
        if number % 2 == 0:
            headers["ETag"] = tag
        if "if-none-match" in given:  # it goes before a date
            same = given["if-none-match"] == tag
        else:
            since = given.get("if-modified-since")
            same = since is not None and int(changed) <= parsedate_to_datetime(since).timestamp()
        self.requests.append((now, host, path, conditional, 304 if same else 200))
        if same:
            return "304 Not Modified", headers | {"Connection": "close"}, b""
        body = f"{path} at version {version}\n".encode()
        return "200 OK", headers | {"Content-Length": str(len(body)), "Connection": "close"}, body


async def fetch(
    port: int, host: str, path: str, etag: str | None, last_modified: str | None, timeout: float = 5.0
) -> tuple[int, dict[str, str], bytes]:
    """GET a page, if it is another than the one known; status, headers (names in lower case), body."""
    lines = [f"GET {quote(path)} HTTP/1.1", f"Host: {host}", "Connection: close"]
    if etag is not None:
        lines.append(f"If-None-Match: {etag}")
    if last_modified is not None:
        lines.append(f"If-Modified-Since: {last_modified}")
    async with asyncio.timeout(timeout):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
            answer = await reader.read()
        finally:
            writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    status = int(first.split(" ")[1])
    if status == 200 and len(body) != int(headers.get("content-length", len(body))):
        raise ValueError("the connection broke before the page's end")
    return status, headers, body
