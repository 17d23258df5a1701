"""What the library says of a parameter, said of the option that was typed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from inspect import signature
from typing import Any

SUBJECT = re.compile(r"(\w+(?:(?:, | and | or | / )\w+)*)(?= must )")


def by_option(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors name options where the library named their parameters."""
    options = {name: f"--{name.replace('_', '-')}" for name in signature(command).parameters}

    @functools.wraps(command)
    def named(*arguments: Any, **given: Any) -> None:
        try:
            command(*arguments, **given)
        except (ValueError, TypeError) as error:
            raise ValueError(_in_options(str(error), options)) from error

    return named


def _in_options(message: str, options: dict[str, str]) -> str:
    """`n_robots and buffer must ...` as `--robots and --buffer must ...`, if these are options; else as it is."""
    found = SUBJECT.match(message)
    if found is None:
        return message
    subject = re.sub(r"\w+", lambda word: options.get(word[0].removeprefix("n_"), word[0]), found[1])
    return subject + message[found.end() :]
