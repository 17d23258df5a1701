"""The command line: one module a command; bad input is one line on standard error and exit status 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from knapsolve._startup import INTERRUPTED
from knapsolve._startup import MESSAGE as INTERRUPTION

MISSING = "the command line needs typer and rich: pip install 'knapsolve[cli]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    status : int
        0, or 2 after bad input, 130 after Ctrl-C, 1 after anything else.

    Examples
    --------
    >>> from knapsolve.cli import main
    >>> main(["--version"])
    knapsolve 0.1.0
    0
    """
    strict = []
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by who called: files are saved all the same
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
        elif getattr(getattr(sys, stream), "errors", "") == "strict":  # names may hold what its encoding does not
            strict.append(getattr(sys, stream))
            strict[-1].reconfigure(errors="backslashreplace")
    form = warnings.formatwarning
    warnings.formatwarning = _warning
    try:
        return _run(arguments)
    finally:
        warnings.formatwarning = form
        for each in strict:
            each.reconfigure(errors="strict")


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from knapsolve.cli.application import build

        status = build()(args=arguments, prog_name="knapsolve", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except ModuleNotFoundError as error:
        return _complain(MISSING if error.name in ("typer", "rich") else str(error))
    except (BrokenPipeError, SystemExit) as error:  # typer and rich make an exit of a broken pipe
        if not isinstance(error.__context__ if isinstance(error, SystemExit) else error, BrokenPipeError):
            raise
        # whoever read our output has seen enough; files were saved before
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError) as error:
        return _complain(_in_words(error))
    except MemoryError:
        return _complain("not enough memory for this")
    except Exception as error:
        if type(error).__name__ == "Abort":  # what older typers make of Ctrl-C
            status = INTERRUPTED
        elif hasattr(error, "format_message"):  # a usage error
            from knapsolve.cli.usage_errors import in_words

            return _complain(in_words(error))
        else:
            return _complain(f"internal error, please report it: {type(error).__name__}: {error}", 1)
    if status == INTERRUPTED:
        print(INTERRUPTION, file=sys.stderr)
    return status if isinstance(status, int) else 0


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return str(error)


def _warning(message: Warning | str, *_: Any, **__: Any) -> str:
    return f"knapsolve: warning: {' '.join(str(message).split())}\n"


def _complain(message: str, status: int = 2) -> int:
    print(f"knapsolve: error: {' '.join(message.split())}", file=sys.stderr)
    return status
