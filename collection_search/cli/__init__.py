"""The command `collection-search`: one file per sub-command, loaded when it is called.

Exit codes: 0 done; 2 wrong usage, input, settings or database; 3 no candidates, no passages, a
gap or threshold not met; 4 provider or model failed; 5 ingestion failed at least in part;
130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import importlib
import io
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, cast

import typer
import typer.core

from .. import __version__
from ..errors import CollectionSearchError
from .shared.exit_codes import (
    ExitCode,
    Interrupted,
    UsageError,
    interrupt_code,
    print_error,
)
from .shared.logging_setup import log_verbosely, terminal_logging
from .shared.metrics_file import write_metrics_file
from .shared.signals import stop_in_order, stop_signal

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "collection-search"
COMMANDS: Final = (
    "run",
    "review",
    "decisions",
    "search",
    "ask",
    "coverage",
    "page",
    "collections",
    "corpus",
    "ingest",
    "worker",
    "mcp",
    "costs",
    "eval",
    "keys",
    "doctor",
)
_MODULES: Final = {"eval": "evaluate"}
"""Modules whose name differs from their sub-command."""

# Newer versions of typer contain a copy of click; this base class works with both.
_UsageError = cast("type[Exception]", typer.BadParameter.__base__)


class Commands(typer.core.TyperGroup):
    """The sub-commands, each imported from the module of its name on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is given
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return the sub-command, or None for an unknown name."""
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the sub-command with its arguments. Raises an error that names the nearest one."""
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except _UsageError as error:
            if near := difflib.get_close_matches(args[0], COMMANDS, n=1):
                raise type(error)(
                    f"No such command '{args[0]}'. Did you mean '{near[0]}'?"
                ) from error
            raise


app = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    log: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print what the libraries log as well.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
    ] = False,
) -> None:
    """From a question to a vetted, searchable collection."""
    if log:
        log_verbosely()


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not support every character
            stream.reconfigure(errors="replace")
    with terminal_logging():
        try:
            with stop_in_order():
                code = _exit_code(arguments)
        except (KeyboardInterrupt, OSError):  # once more; or the terminal was closed
            if stop_signal() is None:
                raise
            code = interrupt_code()
        finally:
            write_metrics_file()
        sys.exit(code)


def _exit_code(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        code = _called(arguments or ["--help"])
    except _UsageError as error:
        return print_error(UsageError(error), as_json=as_json)
    except CollectionSearchError as error:
        return print_error(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return print_error(Interrupted(), as_json=as_json)
    return print_error(Interrupted(), as_json=as_json) if code == ExitCode.INTERRUPTED else code


def _called(arguments: list[str]) -> int:
    """Run the sub-command directly; parsing the root's options first would double the time."""
    name, *rest = arguments
    if name == "search":
        rest = [_with_arrow(argument) for argument in rest]
    is_direct = name in COMMANDS
    command = _command(name) if is_direct else typer.main.get_command(app)
    code: int | None = command.main(
        rest if is_direct else [name, *rest],
        prog_name=f"{NAME} {name}" if is_direct else NAME,
        standalone_mode=False,
        help_option_names=["-h", "--help"],
    )
    return code or ExitCode.DONE


def _with_arrow(argument: str) -> str:
    """Return the argument; one that begins with `->` is an arrow command and no option."""
    return f"→{argument[2:]}" if argument.startswith("->") else argument


def _command(name: str) -> Any:
    """Return the group `app` of the sub-command's module, else its function of the same name."""
    name = _MODULES.get(name, name)
    module = importlib.import_module(f".{name}", __name__)
    if (group := getattr(module, "app", None)) is None:
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.command()(getattr(module, name))
    return typer.main.get_command(group)
