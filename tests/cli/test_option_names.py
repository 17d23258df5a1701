"""Errors name options as they are typed, and nothing else."""

from pathlib import Path
from typing import Annotated

import pytest
import typer

from knapsolve.cli.option_names import by_option


def command(
    sites: Annotated[str, typer.Argument(help="A file.")],
    robots: Annotated[int, typer.Option(min=1)] = 1,
    max_age: Annotated[int | None, typer.Option(help="Steps.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    raise ValueError(sites)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("robots must be positive, got 0", "--robots must be positive, got 0"),
        ("n_robots and max_age must agree", "--robots and --max-age must agree"),
        ("max_age must be at least n_robots", "--max-age must be at least n_robots"),
        ("output must be a file", "--output must be a file"),
        ("as_json must be off", "--json must be off"),
        ("sites must hold a site", "sites must hold a site"),
        ("sites and max_age must agree", "sites and --max-age must agree"),
        ("return must be None", "return must be None"),
        ("a sentence of another kind", "a sentence of another kind"),
    ],
)
def test_options_are_named_as_typed_and_arguments_as_they_are(said, told):
    with pytest.raises(ValueError, match="^" + told + "$"):
        by_option(command)(said)


def test_every_command_has_its_options_by_name():
    from importlib import import_module

    from knapsolve.cli.application import COMMANDS
    from knapsolve.cli.option_names import _options

    named = {each: _options(import_module(f"knapsolve.cli.{each}").command) for each in COMMANDS}
    assert named["allocate"]["output"] == "--output" and "polls" not in named["allocate"]
    assert named["replay"]["as_json"] == "--json" and "trace" not in named["replay"]
    assert named["whittle"]["max_age"] == "--max-age" and "sites" not in named["whittle"]
