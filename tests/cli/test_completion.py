"""Completion, asked for as the shells do: by variables, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from collection_search.cli import COMMANDS

if TYPE_CHECKING:
    from support.command_line import Invoke

ASKED = "_COLLECTION_SEARCH_COMPLETE"


def collection_search(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collection_search", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )


def in_bash(line: str) -> list[str]:
    """Return what bash would offer at the end of this line."""
    words = line.split(" ")
    ended = collection_search(
        **{ASKED: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    )
    assert ended.stderr == ""
    return ended.stdout.split()


def in_zsh(line: str) -> str:
    ended = collection_search(**{ASKED: "complete_zsh", "_TYPER_COMPLETE_ARGS": line})
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("collection-search ", [*COMMANDS]),
        ("collection-search co", ["coverage", "collections", "corpus", "costs"]),
        ("collection-search collections re", ["refresh", "reembed"]),
        ("collection-search run --pro", ["--provider", "--profile"]),
        ("collection-search -v run --est", ["--estimate"]),
        ("collection-search --verbose --v", ["--version"]),
        ("collection-search ask tea -c ", []),
    ],
)
def test_bash_completes_commands_and_options(line: str, offered: list[str]) -> None:
    """Nothing else is printed, and asking for collections makes no database."""
    assert in_bash(line) == offered
    assert not Path(os.environ["COLLECTION_SEARCH_HOME"]).exists()


def test_zsh_completes_with_the_help() -> None:
    """Each sub-command has its first sentence beside it."""
    assert '"ask":"Answer a question from a collection' in in_zsh("collection-search as")
    assert '"--estimate":"Tell what the run would cost' in in_zsh("collection-search run --est")


@pytest.mark.slow
def test_names_of_collections_are_completed(run: Invoke) -> None:
    """After `-c`, and where a sub-command takes a name."""
    assert run("--auto-ingest", "--top-k", "1").code == 0
    assert in_bash("collection-search ask tea -c p") == ["py"]
    assert in_bash("collection-search collections show ") == ["py"]
    assert in_bash("collection-search ask tea --tenant acme -c ") == []
    assert '"py"' in in_zsh("collection-search coverage --collection ")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell is bash")
def test_completion_is_installed_for_the_shell_that_runs(tmp_path: Path) -> None:
    """Its start file reads the script, which calls this command."""
    script = f"{sys.executable} -m collection_search --install-completion; exit $?"
    ended = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "bash completion installed" in ended.stdout
    installed = tmp_path / ".bash_completions" / "collection-search.sh"
    assert f"{ASKED}=complete_bash" in installed.read_text()
    assert str(installed) in (tmp_path / ".bashrc").read_text()
