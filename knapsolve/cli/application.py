"""All commands as one typer application."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

import knapsolve
from knapsolve.cli.option_names import by_option

# modules knapsolve.cli.<name>, each with a function `command`
COMMANDS = ("replay", "allocate", "simulate", "robots", "whittle", "reproduce")


def build() -> typer.Typer:
    """The application."""
    application = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in COMMANDS:
        command = import_module(f"knapsolve.cli.{name}").command
        application.command(name, help=_paragraphs(command.__doc__))(by_option(command))
    application.callback(invoke_without_command=True, help=_paragraphs(knapsolve.__doc__))(_without_command)
    return application


def _paragraphs(text: str | None) -> str:
    """A text whose paragraphs are a line each, which the terminal's width breaks."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _without_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(f"knapsolve {knapsolve.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
