"""`-v`: each step on stderr, wherever it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

if TYPE_CHECKING:
    from support.command_line import Invoke

RUN = ("run", QUESTION, "--collection", "py", "--provider", "scripted", "--auto-ingest")


@pytest.mark.parametrize(
    "arguments", [("-v", *RUN), (*RUN, "-v"), ("--verbose", *RUN)], ids=["before", "after", "long"]
)
def test_a_run_tells_its_steps(command: Invoke, arguments: tuple[str, ...]) -> None:
    """Provider with the reason, each query with its results, the ranking, each page."""
    ended = command(*arguments, "--json")
    assert ended.code == 0
    assert "search provider: scripted (asked for)" in ended.err
    for query in ended.json["strategy"]["queries"]:
        assert f"query={query!r}" in ended.err
    assert "provider='scripted'" in ended.err
    assert "k_embedding_rank: " in ended.err
    assert "embedder='lexical'" in ended.err
    assert f"page new: {ended.json['results'][0]['url']}" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("collections", "list", "-v"),
        ("collections", "-v", "list"),
        ("-v", "collections", "list"),
        ("search", QUESTION, "--provider", "scripted", "--verbose"),
        ("-v", "search", '-> search "asyncio tasks"', "--provider", "scripted"),
    ],
    ids=" ".join,
)
def test_every_command_takes_it(command: Invoke, arguments: tuple[str, ...]) -> None:
    """Sub-commands of groups take it as well, and an arrow command after it is one."""
    assert command(*arguments).code == 0


def test_without_it_no_step_is_told(command: Invoke) -> None:
    """A usual run prints its pipeline and nothing of the log."""
    assert "k_embedding_rank" not in command(*RUN).err
