"""What is said of a command line that cannot be understood: the option, what it must be, and what it was."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, get_args, get_type_hints

from knapsolve.cli.application import COMMANDS

NUMBERS = {int: "integer", float: "number"}
POSITIVE = {"an integer of at least 1": "a positive integer", "an integer of at least 0": "a non-negative integer"}


def in_words(error: Any) -> str:
    """A usage error of typer, or of the click below it, as one sentence."""
    message = str(error.format_message())
    if message.startswith("No such command"):
        return f"{message.rstrip('.')}: use {', '.join(COMMANDS)}"
    parameter, value = getattr(error, "param", None), _value(error)
    command = getattr(getattr(error, "ctx", None), "info_name", None)
    if parameter is None or value is None or command not in COMMANDS:
        return message
    hint = get_type_hints(import_module(f"knapsolve.cli.{command}").command, include_extras=True)[parameter.name]
    allowed = _allowed(hint)
    return message if allowed is None else f"{parameter.opts[0]} must be {allowed}, got {_shown(value)}"


def _value(error: Any) -> str | None:
    """The value that was refused: pydantic keeps it, older typers have it in click's message alone."""
    cause = error.__cause__
    if hasattr(cause, "errors"):
        return str(cause.errors()[0]["input"])
    found = re.match(r"'(.*)' is not a valid |(\S+) is not in the range ", getattr(error, "message", ""), re.DOTALL)
    return found and (found[1] if found[2] is None else found[2])


def _allowed(hint: Any) -> str | None:
    """What a number must be by its annotation; None where it is none."""
    annotation, option = get_args(hint)
    kind = next((each for each in NUMBERS if annotation is each or each in get_args(annotation)), None)
    if kind is None:
        return None
    what = f"{'an' if kind is int else 'a'} {NUMBERS[kind]}"
    if option.min is not None:
        what += f" of at least {option.min:g}" if option.max is None else f" from {option.min:g} to {option.max:g}"
    elif option.max is not None:
        what += f" of at most {option.max:g}"
    return POSITIVE.get(what, what)


def _shown(value: str) -> str:
    """A number as it was typed, anything else in quotes."""
    try:
        float(value)
    except ValueError:
        return repr(value)
    return value
