"""The embedded default from end to end: no key, no server, the documentation of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

if TYPE_CHECKING:
    from support.command_line import Invoke


@pytest.mark.slow
def test_a_newcomers_first_question(command: Invoke) -> None:
    """The index is built, asyncio's page is among the first three, and the collection answers."""
    ended = command("run", QUESTION, "--collection", "py", "--auto-ingest")
    assert ended.code == 0, ended.err
    assert ended.err.startswith("Indexing the documentation on this machine ...\n")
    assert "no provider is configured: the documentation on this machine" in ended.out
    assert "COLLECTION_SEARCH_PROVIDER" in ended.out
    found = command("run", QUESTION, "--collection", "py", "--json")
    assert any("asyncio-task" in row["url"] for row in found.json["results"][:3])
    assert found.json["search"]["provider"] == "offline"
    answer = command("ask", QUESTION, "--collection", "py", "--json").json
    assert any("asyncio-task" in passage["url"] for passage in answer["passages"])
