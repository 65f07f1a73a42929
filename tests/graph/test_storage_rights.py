"""A provider whose terms do not allow it: its texts are staged by no graph, its pages fetched."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT, good_pages

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    Settings,
    UniversalIngestionGraph,
    wait,
)
from collection_search.contracts.page import ReadPage, Validators
from collection_search.ports import ProviderInfo
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

DELIVERED = " ".join(["The text as the provider delivered it."] * 20)
FETCHED = "The page as its own site gives it: asyncio.timeout cancels a task. " * 10


class OwnSites:
    """Reads every page, and remembers which."""

    def __init__(self) -> None:
        self.read_urls: list[str] = []

    async def read(self, url: str, **_: Any) -> ReadPage:
        self.read_urls.append(url)
        return ReadPage(
            url=url,
            final_url=url,
            canonical_url=None,
            title="Tasks",
            text=FETCHED,
            kind="html",
            validators=Validators(),
            content_hash=hashlib.sha256(url.encode()).hexdigest(),
            fetched_at=0.0,
            status=200,
        )


def context_of(provider: str, home: Path, reader: OwnSites) -> SearchContext:
    pages = good_pages()
    for page in pages:
        page.content = DELIVERED
    adapter = ScriptedAdapter(pages, provider_name=provider)
    return SearchContext(provider=adapter, settings=Settings(home=home), reader=reader)


def staged_texts(home: Path) -> list[str]:
    database = home / "collections.db"
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM staged")]


@pytest.mark.slow
@pytest.mark.parametrize("auto_ingest", [False, True])
def test_the_search_graph_stages_no_text_that_may_not_be_stored(
    tmp_path: Path, *, auto_ingest: bool
) -> None:
    """Brave's plans differ, so that its texts are left out and its pages fetched when ingested."""
    reader = OwnSites()
    context = context_of("brave", tmp_path, reader)
    state, result = CollectionSearchGraph(context).run({**INPUT, "auto_ingest": auto_ingest})
    assert {candidate["content_ref"] for candidate in state["candidates"]} == {None}
    assert "staging_failed" not in result["flags"]
    if auto_ingest:
        assert result["ingestion"] is not None
        ticket, urls = result["ingestion"]["ticket"], result["ingestion"]["urls"]
        status = wait(str(ticket), 60, tenant="local", context=context)
        assert status.stored == len(urls) > 0
        assert sorted(reader.read_urls) == sorted(urls)
    assert staged_texts(tmp_path) == []


def test_a_text_that_may_be_stored_is_staged(tmp_path: Path) -> None:
    """Wikipedia's licence allows it: nothing has to be fetched."""
    reader = OwnSites()
    context = context_of("wikipedia", tmp_path, reader)
    state, _ = CollectionSearchGraph(context).run(INPUT)
    assert all(candidate["content_ref"] for candidate in state["candidates"])
    assert staged_texts(tmp_path) == [DELIVERED]


def test_the_ingestion_graph_stages_no_text_that_may_not_be_stored(tmp_path: Path) -> None:
    """The same rule where one search fills a collection."""
    given = {"source": "search", "query": "asyncio timeout", "collection_scope": "docs"}
    context = context_of("brave", tmp_path, OwnSites())
    output = UniversalIngestionGraph(context).run({**given, "mode": "acquire_only"})
    assert {page["content_ref"] for page in output["candidates"]} == {None}
    assert staged_texts(tmp_path) == []


def test_what_a_live_adapter_says_of_its_terms_counts(tmp_path: Path) -> None:
    """Nobody else knows its provider."""
    reader = OwnSites()
    context = context_of("mine", tmp_path, reader)
    context.provider.info = ProviderInfo(name="mine", storage_rights="by plan")
    state, _ = CollectionSearchGraph(context).run(INPUT)
    assert {candidate["content_ref"] for candidate in state["candidates"]} == {None}
    assert staged_texts(tmp_path) == []
