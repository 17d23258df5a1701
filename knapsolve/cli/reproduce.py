"""`knapsolve reproduce`: a paper's tables and figures beside ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from knapsolve.cli.output import progress_bar
from knapsolve.cli.units import choose
from knapsolve.reproduce.progress import announce, listening

PAPERS = ("lakg", "htraa", "gpoks", "whittle", "robots")


def command(
    paper: Annotated[str, typer.Argument(help=f"Which: {', '.join(PAPERS)}.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs and polls: under a minute.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")] = Path("output"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
) -> None:
    """Compute a paper's tables and figures, and print them beside the paper's numbers."""
    choose("the paper", paper, PAPERS)
    module = f"knapsolve.reproduce.{paper}"
    try:
        run = import_module(module).run
    except ModuleNotFoundError as error:
        if error.name not in (module, "knapsolve.reproduce"):
            raise
        raise ValueError(f"{paper} is not in this version of knapsolve: {module} is missing") from None
    output.mkdir(parents=True, exist_ok=True)
    with _parts_shown():
        text = run(quick=quick, output=output, seed=seed)
    print(text)


@contextmanager
def _parts_shown() -> Iterator[None]:
    """A bar of the parts that are done, on a terminal; elsewhere there are lines."""
    if not sys.stderr.isatty():
        yield
        return
    with progress_bar(None, "parts") as stage, listening(lambda what, done, total: stage(what, done)(0, total)):
        yield
        announce("all done")
