"""The help of every command and sub-command, looked at as click has it: nothing is run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest
import typer

from collection_search.cli import COMMANDS, app
from collection_search.cli.shared.examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke

COLUMNS = 80


def paths() -> Iterator[str]:
    """Yield the command, its sub-commands and theirs, each by its path."""
    root = typer.main.get_command(app)
    yield ""
    for name in COMMANDS:
        yield name
        command = root.get_command(None, name)  # type: ignore[attr-defined, arg-type]
        yield from (f"{name} {each}" for each in getattr(command, "commands", ()))


PATHS = [*paths()]


def parse(arguments: list[str]) -> Any:
    """Return the context of the parsed arguments, that of the last sub-command."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("collection-search", arguments)
    while hasattr(command, "list_commands") and (rest := [*context._protected_args, *context.args]):
        _, command, rest = command.resolve_command(context, rest)
        context = command.make_context(command.name, rest, parent=context)
    return context


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path or "root")
def test_each_help_ends_with_an_example(command: Invoke, path: str) -> None:
    """It fits 80 columns, is of this command, and click accepts each of its arguments."""
    ended = command(*path.split(), "--help")
    assert ended.code == 0
    assert max(map(len, ended.out.splitlines())) <= COLUMNS
    _, _, told = ended.out.partition("Example")
    lines = [line.strip() for line in told.splitlines()[1:]]
    assert lines
    for line in lines:
        name, *arguments = shlex.split(line)
        assert name == "collection-search"
        assert line.removeprefix(name).strip().startswith(path)
        context = parse(arguments)
        assert not context.args
        assert not hasattr(context.command, "list_commands") or len(arguments) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_sentence_of_its_help(name: str) -> None:
    """The help of the command lists summaries, so that it need not import sub-commands."""
    sub_command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined, arg-type]
    assert sub_command.get_short_help_str(COLUMNS) == COMMANDS[name]


def test_there_is_no_example_of_another_command() -> None:
    """Examples of a command that was renamed would never be shown."""
    assert EXAMPLES.keys() == {*PATHS}
