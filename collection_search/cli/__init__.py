"""The command `collection-search`: one file per sub-command, loaded when it is called.

Exit codes: 0 done; 1 the output cannot be written; 2 wrong usage, input, settings or database;
3 no candidates, no passages, a gap or threshold not met; 4 provider or model failed; 5 ingestion
failed at least in part; 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP, 141 where the
reader of its output has gone.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from ..errors import CollectionSearchError, UnknownCollectionError
from ..runtime.gc import postpone_collector
from .shared.completion import complete_if_asked
from .shared.examples import add_examples
from .shared.exit_codes import (
    ExitCode,
    Interrupted,
    UsageError,
    interrupt_code,
    print_error,
)
from .shared.interruption import explain_interrupt
from .shared.logging_setup import log_verbosely, terminal_logging
from .shared.metrics_file import write_metrics_file
from .shared.near_names import ClickUsageError, SuggestingGroup
from .shared.signals import stop_in_order, stop_signal, was_stopped
from .shared.verbosity import FLAGS, Verbose, add_verbose
from .shared.written_output import write_out

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "collection-search"
COMMANDS: Final = {
    "run": "Search, rank what was found and, if asked, ingest the best.",
    "review": "List, show and decide the runs that wait for a person.",
    "decisions": "Count or export what people decided in reviews.",
    "search": "Search once, without ranking and without a collection.",
    "ask": "Answer a question from a collection, with sources.",
    "coverage": "Verify what a collection answers, and list what is missing.",
    "page": "Print the text of one web page or PDF.",
    "collections": "List the collections; export, refresh or delete one.",
    "corpus": "List the folders of the offline search; add or remove one.",
    "ingest": "Add pages to a collection; try failed ones again.",
    "worker": "Fetch and ingest what waits in the ledger, until interrupted.",
    "serve": "Serve the page and its API on this machine until Ctrl-C.",
    "mcp": "Serve web search and collections to agents, as an MCP server.",
    "costs": "Tell what searches, models and embeddings cost.",
    "eval": "Judge the ranking on labelled data.",
    "keys": "Keep keys in the system keyring; list where each comes from.",
    "tokens": "Issue, list and remove the tokens of the server's callers.",
    "migrate": "Carry all data over from the embedded files to PostgreSQL.",
    "doctor": "Check providers, models, store, tracing and web_search.",
}
"""Each sub-command with the first sentence of its help, in the order of the help."""
_MODULES: Final = {"eval": "evaluate"}
"""Modules whose name differs from their sub-command."""


class Commands(SuggestingGroup):
    """The sub-commands, each imported from the module of its name on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is given
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return the sub-command, or None for an unknown name."""
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sub-commands of the help, without importing any."""
        _summaries().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the sub-commands and options that begin so, without importing any."""
        summaries = _summaries(self.params)
        context = typer.Context(summaries, parent=ctx.parent, info_name=ctx.info_name)
        for param in self.params:  # an option that is given is not offered again
            if source := ctx.get_parameter_source(param.name):
                context.set_parameter_source(param.name, source)
        return summaries.shell_complete(context, incomplete)


def _summaries(params: Any = None) -> TyperGroup:
    """Return a group of commands that have no more than name and summary."""
    commands = [TyperCommand(name, help=told) for name, told in COMMANDS.items()]
    return TyperGroup(commands=commands, params=params)


app = typer.Typer(cls=Commands, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    verbose: Verbose = False,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
    ] = False,
) -> None:
    """From a question to a vetted, searchable collection."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    if argv is None:  # the process is the command's own
        _start_lightly()
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not support every character
            stream.reconfigure(errors="replace")
    complete_if_asked(NAME, app)
    with terminal_logging():
        try:
            with stop_in_order():
                code = write_out(lambda: _exit_code(arguments))
        except (KeyboardInterrupt, OSError):  # once more; or the terminal was closed
            if stop_signal() is None:
                raise
            code = interrupt_code()
        finally:
            write_metrics_file()
        sys.exit(code)


def _start_lightly() -> None:
    """Save the processor time of what a command does not need.

    The threads of numpy's OpenBLAS burn 60 ms of it, and the product of one question is too small
    to be shared among them.
    """
    postpone_collector()
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _exit_code(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    while arguments[:1] and arguments[0] in FLAGS:
        log_verbosely()
        arguments = arguments[1:]
    interrupted = Interrupted(explain_interrupt(arguments))
    try:
        code = _called(arguments or ["--help"])
    except ClickUsageError as error:
        return print_error(UsageError(error), as_json=as_json)
    except UnknownCollectionError as error:
        from .shared.missing_collection import explain_missing

        return print_error(explain_missing(error, arguments), as_json=as_json)
    except CollectionSearchError as error:
        return print_error(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return print_error(interrupted, as_json=as_json)
    except BaseException as error:
        from asyncio import CancelledError

        # What `asyncio.run` raises after a Ctrl-C in its very first moment.
        if not isinstance(error, CancelledError) or not was_stopped():
            raise
        return print_error(interrupted, as_json=as_json)
    return print_error(interrupted, as_json=as_json) if code == ExitCode.INTERRUPTED else code


def _called(arguments: list[str]) -> int:
    """Run the sub-command directly; parsing the root's options first would double the time."""
    name, *rest = arguments
    if name == "search":
        rest = [_with_arrow(argument) for argument in rest]
    is_direct = name in COMMANDS
    command = _command(name) if is_direct else typer.main.get_command(app)
    if not is_direct:
        add_examples(command, "")
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
    """Return the group `app` of the sub-command's module, else its function of the same name.

    It takes `--verbose`, and its help ends with an example.
    """
    module = importlib.import_module(f".{_MODULES.get(name, name)}", __name__)
    if (group := getattr(module, "app", None)) is None:
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.command()(getattr(module, _MODULES.get(name, name)))
    command = typer.main.get_command(group)
    add_verbose(command)
    add_examples(command, name)
    return command
