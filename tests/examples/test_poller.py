"""The example poller: conditional requests, hosts' gaps, and a kill -9 that loses nothing."""

import asyncio
import importlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
POLLER = ROOT / "examples" / "poller"
if not POLLER.exists():
    pytest.skip("needs the source tree", allow_module_level=True)


@pytest.fixture
def module(monkeypatch):
    """Import a module of the example."""
    monkeypatch.syspath_prepend(str(POLLER))
    names = ("server", "store", "crawler", "report", "command")
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)


def start(*arguments, **streams):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(POLLER), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **streams,
    )  # fmt: skip


def next_line(process):
    """Read one line and nothing after it: communicate() would not see what readline() had buffered."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        line += byte
    return line.decode()


@pytest.mark.slow
def test_the_demonstration_keeps_hosts_gaps_and_saves_its_picture(tmp_path):
    state, picture = tmp_path / "state.db", tmp_path / "picture.png"
    options = ("--seconds", 3, "--rate", 100, "--pages", 40, "--host-gap", 0.03)
    done = start(*options, "--state", state, "--picture", picture)
    out, err = done.communicate(timeout=60)
    assert done.returncode == 0, err
    assert re.search(r"lateness: median [\d.]+ ms, .* within 10 ms", out)
    assert float(re.search(r"one host: ([\d.]+) ms", out)[1]) >= 30
    assert picture.read_bytes()[:4] == b"\x89PNG"
    with sqlite3.connect(state) as connection:
        rows = connection.execute("SELECT page, sent, elapsed, status, changed FROM polls ORDER BY poll").fetchall()
    found, first, last = 0, set(), {}
    for page, sent, elapsed, status, changed in sorted(rows, key=lambda row: row[1]):
        assert status in (200, 304)
        if page in last:
            assert elapsed == sent - last[page] and changed == (status == 200)
            found += changed
        else:
            assert (elapsed, changed, status) == (None, None, 200)
            first.add(page)
        last[page] = sent
    assert len(first) == 40 and found > 0
    beats = int(re.search(r"beats without a poll: (\d+)", out)[1])
    assert len(rows) + beats == 300, "one beat in a hundredth of a second, each a poll or not"
    measured = {line.split()[0]: [float(each) for each in line.split()[2:]]
                for line in out.splitlines() if line.startswith(("renewal", "in turn"))}  # fmt: skip
    assert measured["renewal"][0] <= len(rows) and 0 < measured["renewal"][2] <= 1


def committed(state):
    with sqlite3.connect(f"file:{state}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT * FROM polls ORDER BY poll").fetchall()


@pytest.mark.slow
def test_a_kill_and_a_restart_lose_nothing(tmp_path, module):
    """What was acknowledged is there; the policy restored is the policy that was killed; copies are still known."""
    state = tmp_path / "state.db"
    common = ("--seconds", 30, "--rate", 150, "--pages", 40, "--host-gap", 0.005, "--state", state)
    server = start("serve", *common, stdin=subprocess.PIPE)
    try:
        port = int(next_line(server))
        victim = start("poll", *common, "--port", port)
        lines = [next_line(victim) for _ in range(90)]
        victim.send_signal(signal.SIGKILL)
        lines += victim.communicate()[0].splitlines(keepends=True)
        assert victim.returncode == -signal.SIGKILL
        told = [line.split() for line in lines if line.endswith("\n")]
        number, learnt = int(told[-1][0]), told[-1][1]
        before = committed(state)
        assert number <= len(before) <= number + 100, "all that was acknowledged, and at most what was in flight"

        crawler = module("crawler")
        pages, _ = module("command").world(40)
        store = module("store").Store(state, pages)
        restored = crawler.Crawler(store, pages, port, 150.0, 7.0)
        for page, sent in enumerate(restored.sent):
            assert restored.host_ready[restored.host[page]] >= sent + 7.0, "hosts keep their distance from before"
        policy = crawler.new_policy(40, 150.0)
        crawler.learn(policy, store.log(number))
        assert crawler.digest(policy) == learnt != "nothing"
        validators = store.validators()
        store.close()

        again = start("poll", "--seconds", 1, *common[2:], "--port", port)
        _, err = again.communicate(timeout=60)
        assert again.returncode == 0, err
        after = committed(state)
        assert after[: len(before)] == before and len(after) > len(before)
        last = {row[1]: row[3] for row in before}
        known = {page for page, each in enumerate(validators) if each != (None, None)}
        assert len(known) == 40
        for _, page, _, sent, elapsed, status, changed in sorted(after[len(before) :], key=lambda row: row[3]):
            assert elapsed == pytest.approx(sent - last[page], abs=1e-9), "time runs on through the crash"
            assert changed == (status == 200)
            last[page] = sent
        requests = [line.split() for line in server.communicate(input="")[0].splitlines()]
    finally:
        server.kill()
    unconditional = {path for _, _, path, conditional, _ in requests if conditional == "0"}
    assert sum(conditional == "0" for *_, conditional, _ in requests) == len(unconditional) == 40, "each page once"
    assert len(after) <= len(requests) <= len(after) + 100


def test_the_server_answers_conditional_requests(module):
    server_module = module("server")
    pages = [("a.test", "/with tag"), ("a.test", "/ü")]
    server = server_module.ReplayServer(pages, [[100.0, 200.0], [100.0, 200.0]], 0.0, 1.0)

    async def talk():
        port = await server.start()
        answers = []
        for moment, page, etag, since in [
            (50, 0, None, None), (50, 0, '"v0"', None), (150, 0, '"v0"', None), (250, 0, '"v1"', None),
            (250, 0, '"v2"', None), (250, 0, '"v2"', "Thu, 01 Jan 1970 00:00:00 GMT"),
            (150, 1, None, None), (150, 1, None, "Thu, 01 Jan 1970 00:01:40 GMT"),
            (250, 1, None, "Thu, 01 Jan 1970 00:01:40 GMT"), (250, 1, None, "Thu, 01 Jan 1970 00:03:20 GMT"),
        ]:  # fmt: skip
            server.recorded_time = lambda now, moment=moment: moment
            status, headers, body = await server_module.fetch(port, *pages[page], etag, since)
            answers.append((status, headers.get("etag"), headers["last-modified"][17:25], body.decode()))
        nowhere = await server_module.fetch(port, "a.test", "/nowhere", None, None)
        await server.stop()
        return answers, nowhere[0]

    answers, nowhere = asyncio.run(talk())
    with_tag, umlaut = "/with tag at version {}\n", "/ü at version {}\n"
    assert answers == [
        (200, '"v0"', "00:00:00", with_tag.format(0)), (304, '"v0"', "00:00:00", ""),
        (200, '"v1"', "00:01:40", with_tag.format(1)), (200, '"v2"', "00:03:20", with_tag.format(2)),
        (304, '"v2"', "00:03:20", ""), (304, '"v2"', "00:03:20", ""),
        (200, None, "00:01:40", umlaut.format(1)), (304, None, "00:01:40", ""),
        (200, None, "00:03:20", umlaut.format(2)), (304, None, "00:03:20", ""),
    ]  # fmt: skip
    assert nowhere == 404


def test_a_server_that_is_gone_is_recorded_and_no_observation(module, tmp_path):
    crawler = module("crawler")
    pages = [("a.test", "/1"), ("a.test", "/2"), ("b.test", "/3")]
    store = module("store").Store(tmp_path / "state.db", pages)
    poller = crawler.Crawler(store, pages, 1, 100.0, 0.0)
    asyncio.run(poller.run(0.2))
    assert {status for *_, status, _ in committed(tmp_path / "state.db")} == {0}
    assert store.log() == [] and store.polled(told=True) == [] and store.validators() == [(None, None)] * 3
    assert len(store.polled(told=False)) > 0
    again = crawler.Crawler(store, pages, 1, 100.0, 0.0)
    assert np.isnan(again.sent).all() and (np.isnan(again.tried) == np.isnan(poller.tried)).all()
    assert np.isnan(poller.sent).all() and crawler.digest(poller.policy) == "nothing"
    with pytest.raises(ValueError, match="about other pages"):
        module("store").Store(tmp_path / "state.db", pages[:2])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rate", "0"], "--rate must be above 0 and at most 100000, got 0.0"),
        (["--rate", "1e9"], "--rate must be above 0"),
        (["--seconds", "-1"], "--seconds must be above 0"),
        (["--seconds", "inf"], "--seconds must be above 0"),
        (["--seconds", ".001", "--rate", "1"], "must be at least 1 (a poll), got 0.001 and 1"),
        (["--host-gap", "nan"], "--host-gap must be 0 or more, and finite, got nan"),
        (["--host-gap", "-1"], "--host-gap must be 0 or more"),
        (["--pages", "1"], "--pages must be from 2 to 374, got 1"),
        (["--pages", "100000"], "--pages must be from 2 to 374, got 100000"),
        (["--port", "70000"], "--port must be from 0 to 65535"),
        (["poll"], "--port must be from 1 to 65535, as printed by serve, got 0"),
        (["--state", "nodir/x.db"], "--state must lie in a folder that exists, got nodir/x.db"),
        (["--picture", "nodir/x.png"], "--picture must lie in a folder that exists, got nodir/x.png"),
        (["--picture", "x.nothing"], "--picture must end in"),
        (["--state", "."], "--state must be a file"),
    ],
)
def test_wrong_arguments_are_one_line_before_any_work(options, words, module, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        module("command").arguments(options)
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_help_says_defaults_and_what_each_part_does(module, capsys):
    with pytest.raises(SystemExit):
        module("command").arguments(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for words in ("(default: 20.0)", "(default: 120)", "(default: output/poller.db)", "demo: ", "serve: ", "poll: "):
        assert words in shown
    assert "None" not in shown


def test_a_state_that_is_none_is_one_line_and_left_as_it_was(module, tmp_path, capsys):
    (tmp_path / "text.db").write_text("no database, but a text of some length\n" * 9)
    for name, table in (("users.db", "users"), ("pages.db", "pages")):
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute(f"CREATE TABLE {table} (a)")
    module("store").Store(tmp_path / "others.db", [("a.test", "/1")] * 50).close()
    contents = {path: path.read_bytes() for path in tmp_path.iterdir()}
    complaints = ("about other pages", "no such column", "not a database", "another program")
    for path, words in zip(sorted(contents), complaints):
        command = module("command")
        assert command.main(command.arguments(["--state", str(path), "--pages", "40", "--seconds", "1"])) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(path) in line and words in line
        assert path.read_bytes() == contents[path] or "others" in path.name


def test_a_poller_that_nobody_answers_says_so_and_fails(module, tmp_path, capsys):
    options = ("--seconds", 0.3, "--rate", 50, "--port", 1, "--state", tmp_path / "state.db")
    command = module("command")
    assert command.main(command.arguments(["poll", *map(str, options)])) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no poll was answered" in line and "15 x unanswered" in line and "--port 1" in line


@pytest.mark.slow
def test_a_demonstration_in_which_no_host_may_be_asked_says_so(tmp_path):
    options = ("--seconds", 0.5, "--pages", 8, "--host-gap", 1000, "--state", tmp_path / "state.db")
    for words in ("renewal index", "no poll told anything"):
        done = start(*options)
        out, err = done.communicate(timeout=60)
        assert done.returncode == 0 and err == "" and words in out


def test_ctrl_c_ends_with_what_is_there_and_loses_nothing(tmp_path):
    state = tmp_path / "state.db"
    done = start("--seconds", 60, "--pages", 40, "--state", state)
    assert "40 pages" in next_line(done)
    time.sleep(1)
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=60)
    assert (done.returncode, err) == (130, "")
    assert re.search(rf"interrupted after [\d.]+ of 60 seconds; state kept in {re.escape(str(state))}", out)
    assert len(committed(state)) == sum(map(int, re.search(r"answers: (\d+) x 200, (\d+) x 304", out).groups())) > 0
    assert re.search(r"renewal index +\d+ +\d+ +[01]\.\d", out)


@pytest.mark.slow
def test_ctrl_c_ends_server_and_poller_each(tmp_path):
    state = tmp_path / "state.db"
    server = start("serve", stdin=subprocess.PIPE)
    try:
        port = int(next_line(server))
        poller = start("poll", "--port", port, "--state", state)
        first = next_line(poller)
        poller.send_signal(signal.SIGINT)
        out, err = poller.communicate(timeout=60)
        assert poller.returncode == 130
        (line,) = err.splitlines()
        number = int((first + out).splitlines()[-1].split()[0])
        assert f"interrupted after {number} polls, " in line and f"state kept in {state}" in line
        assert len(committed(state)) == number
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
        assert (server.returncode, err, len(out.splitlines())) == (130, "", number)
    finally:
        server.kill()


def test_ctrl_c_during_the_imports_is_one_line(tmp_path):
    press = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    (tmp_path / "joblib.py").write_text(press)  # what knapsolve imports
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(POLLER), "--state", str(tmp_path / "state.db")],
        env=os.environ | {"PYTHONPATH": path}, text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "poller: interrupted\n")
    assert not (tmp_path / "state.db").exists()
