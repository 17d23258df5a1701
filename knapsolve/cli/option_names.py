"""What the library says of a parameter, said of the option that was typed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo

SUBJECT = re.compile(r"(\w+(?:(?:, | and | or | / )\w+)*)(?= must )")


def by_option(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors name options where the library named their parameters."""
    options = _options(command)

    @functools.wraps(command)
    def named(*arguments: Any, **given: Any) -> None:
        try:
            command(*arguments, **given)
        except (ValueError, TypeError) as error:
            raise ValueError(_in_options(str(error), options)) from error

    return named


def _options(command: Callable[..., None]) -> dict[str, str]:
    """How each parameter is typed; those that are typed without a name are left out."""
    options = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        info = (get_args(hint) or (None,))[-1]
        if hasattr(info, "param_decls") and not isinstance(info, ArgumentInfo):
            given = [info.default, *(info.param_decls or ())]  # typer has the first name as the default
            long = [each for each in given if isinstance(each, str) and each.startswith("--")]
            options[name] = long[0] if long else f"--{name.replace('_', '-')}"
    return options


def _in_options(message: str, options: dict[str, str]) -> str:
    """`n_robots and buffer must ...` as `--robots and --buffer must ...`, if these are options; else as it is."""
    found = SUBJECT.match(message)
    if found is None:
        return message
    subject = re.sub(r"\w+", lambda word: options.get(word[0].removeprefix("n_"), word[0]), found[1])
    return subject + message[found.end() :]
