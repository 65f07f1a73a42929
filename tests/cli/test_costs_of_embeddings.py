"""`costs` lists what collections cost: pages added, embedded anew, and asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.settings.process_defaults import process_settings
from collection_search.testing import OpenAIServer
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke

NAME = "openai:text-embedding-3-small"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        process_settings.cache_clear()
        yield server


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_a_collection_is_in_the_books(run: Invoke, command: Invoke) -> None:
    """Each request with its tokens, under the tenant who has the collection."""
    assert run("--auto-ingest", "--embeddings", "lexical").code == 0
    steps = (
        ("collections", "reembed", "py", "--embeddings", NAME, "--yes"),
        ("ask", "cancel an asyncio task", "--collection", "py"),
    )
    costs, requests = [], []
    for step in steps:
        ended = command(*step)
        assert ended.code == 0, ended.err
        spend_writer().flush()
        told = command("costs", "--by", "name", "--json").json["totals"]
        [total] = [one for one in told if one["kind"] == "embedding"]
        assert (total["group"], total["unpriced"]) == (NAME, 0)
        costs.append(total["cost_usd"])
        requests.append(total["requests"])
    assert requests == [1, 1 + 2]  # the chunks; the question and, once, the anchors
    assert 0 < costs[0] < costs[1]
    assert command("costs", "--tenant", "other").out == "Nothing was spent by other.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_ingested_pages_are_in_their_runs_books(run: Invoke, command: Invoke) -> None:
    """`costs --run` tells them with the searches that found them."""
    ended = run("--auto-ingest", "--embeddings", NAME, "--top-k", "3", "--min-score", "0", "--json")
    assert ended.code == 0, ended.err
    spend_writer().flush()
    [total] = command("costs", "--by", "run", "--json").json["totals"]
    by_name = command("costs", "--by", "name", "--json").json["totals"]
    [embedding] = [one for one in by_name if one["kind"] == "embedding"]
    [collection] = command("collections", "--json").json["collections"]
    assert collection["documents"] == 3
    assert embedding["group"] == NAME
    assert 2 < embedding["requests"] <= 2 + 3  # pages that are read at once share a request
    assert total["requests"] == sum(one["requests"] for one in by_name)
