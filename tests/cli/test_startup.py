"""What starting the command loads: benchmarks/startup.py measures what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collection_search.cli import COMMANDS

HEAVY = ("langgraph", "langchain_openai", "openai", "langfuse", "trafilatura", "numpy", "pydantic")
HELP = """
import sys
from collection_search.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


def python(program: str, *arguments: str, **variables: str) -> tuple[str, set[str]]:
    """Return what a fresh interpreter prints, and the packages and modules that it loaded."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout, set(ended.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_plain_and_light(arguments: list[str]) -> None:
    """Help of the command and of each sub-command loads nothing heavy and fits 80 columns."""
    out, loaded = python(HELP, *arguments)
    assert out.startswith("Usage: collection-search")
    assert loaded.isdisjoint(HEAVY), loaded.intersection(HEAVY)
    assert out.isascii()
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["--help"], {}),
        (
            [],
            {
                "_COLLECTION_SEARCH_COMPLETE": "complete_bash",
                "COMP_WORDS": "collection-search co",
                "COMP_CWORD": "1",
            },
        ),
    ],
    ids=["help", "completion"],
)
def test_a_list_of_sub_commands_imports_none(
    arguments: list[str], variables: dict[str, str]
) -> None:
    """A shell asks for their names at every press of the key."""
    out, loaded = python(HELP, *arguments, **variables)
    assert "coverage" in out
    modules = {"evaluate" if name == "eval" else name for name in COMMANDS}
    assert loaded.isdisjoint(f"collection_search.cli.{name}" for name in modules)


@pytest.mark.slow
def test_the_help_names_every_sub_command() -> None:
    """No sub-command is hidden, and each says in one line what it does."""
    out, _ = python(HELP, "--help")
    listed = out.partition("Commands:")[2].partition("Examples:")[0]
    rows = [line.split(maxsplit=1) for line in listed.splitlines() if line.strip()]
    assert [name for name, _ in rows] == list(COMMANDS)
    assert not any(text.endswith("...") for _, text in rows)


def test_importing_the_package_is_light() -> None:
    """The public names are loaded on use, not on import."""
    _, loaded = python("import sys, collection_search; print(*sys.modules, file=sys.stderr)")
    assert loaded.isdisjoint(HEAVY), loaded.intersection(HEAVY)


@pytest.mark.slow
def test_the_installed_command_starts() -> None:
    """The entry point that installation makes is this command."""
    script = Path(sys.executable).with_name("collection-search")
    for how in ([str(script)], [sys.executable, "-m", "collection_search"]):
        ended = subprocess.run([*how, "--version"], capture_output=True, text=True, check=True)
        assert ended.stdout.startswith("collection-search 0.")


@pytest.mark.slow
@pytest.mark.parametrize(("given", "kept"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_command_starts_without_collection_and_without_threads_of_numpy(
    given: dict[str, str], kept: str
) -> None:
    """Where the person has not set their number; a host that calls `main` is left as it is."""
    program = (
        "import gc, os, sys; from collection_search.cli import main; before = gc.get_threshold()\n"
        "try: main(*eval(sys.argv.pop()))\n"
        "except SystemExit: print(before == gc.get_threshold(),"
        " os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    for arguments, expected in (("()", f"False {kept}"), ("(['--version'],)", "True None")):
        environment = {**clean, **(given if arguments == "()" else {})}
        command = [sys.executable, "-c", program, "--version", arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert ended.stdout.splitlines()[-1] == expected
