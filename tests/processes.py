"""Scripts in processes of their own, forked from one that has imported knapsolve, which takes longer than most of them.

What is about starting or ending an interpreter needs a true one: these leave by `os._exit`.
"""

import functools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import knapsolve

SERVER = """
import json, os, signal, sys, tempfile, traceback
import knapsolve, knapsolve.cli.application

def work(script, arguments, streams):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream.fileno(), number)
    sys.argv = ["script", *arguments]
    try:
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return 0 if error.code is None else error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

for line in sys.stdin:
    script, arguments, seconds = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            signal.alarm(seconds)
            status = work(script, arguments, (out, err))
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [(stream.seek(0), stream.read().decode())[1] for stream in (out, err)]
    print(json.dumps([status, *texts]), flush=True)
"""


class Ended(NamedTuple):
    """How a process ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


@functools.cache
def _server() -> subprocess.Popen:
    places = os.pathsep.join([str(Path(knapsolve.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}  # else a busy machine makes numpy's solver late
    return subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **one_thread, "PYTHONPATH": places},
    )  # fmt: skip


def run_script(script: str, *arguments: str, seconds: int = 60) -> Ended:
    """Run a script, which SIGALRM ends after so many seconds."""
    server = _server()
    server.stdin.write(json.dumps([textwrap.dedent(script), [str(each) for each in arguments], seconds]) + "\n")
    server.stdin.flush()
    return Ended(*json.loads(server.stdout.readline()))


def check_script(script: str, *arguments: str, seconds: int = 60) -> str:
    """What a script prints; it must succeed."""
    done = run_script(script, *arguments, seconds=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout
