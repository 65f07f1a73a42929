"""The option `--verbose`, which every sub-command takes as well as the command itself."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Final

import typer

from .logging_setup import log_verbosely

FLAGS: Final = ("--verbose", "-v")


def _log(wanted: bool) -> None:
    if wanted:
        log_verbosely()


Verbose = Annotated[
    bool,
    typer.Option(
        *FLAGS, expose_value=False, is_eager=True, callback=_log, help="Tell each step on stderr."
    ),
]


def add_verbose(command: Any) -> None:
    """Give the command the option, and each of its sub-commands."""
    command.params.append(_option())
    for sub_command in getattr(command, "commands", {}).values():
        add_verbose(sub_command)


@functools.cache
def _option() -> Any:
    """Return the option as typer makes it."""

    def takes(*, verbose: Verbose = False) -> None:
        """Do nothing: the option alone is wanted."""

    app = typer.Typer(add_completion=False)
    app.command()(takes)
    return typer.main.get_command(app).params[0]
