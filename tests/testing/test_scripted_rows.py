"""Rows of the scripted adapter that can be ingested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collection_search import CollectionSearchGraph, SearchContext, Settings, retrieve, wait
from collection_search.testing import ScriptedAdapter, rows

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_with_a_text_fill_a_collection_without_a_fetch(tmp_path: Path) -> None:
    """Their text is stored as it is, so a test with them needs no network."""
    adapter = ScriptedAdapter(rows(3, with_text=True))
    context = SearchContext(settings=Settings(home=tmp_path), provider=adapter)
    _, result = CollectionSearchGraph(context).run(
        {"question": "What is asyncio?", "collection_scope": "docs", "auto_ingest": True}
    )
    assert result["ingestion"] is not None
    status = wait(str(result["ingestion"]["ticket"]), timeout_s=60, context=context)
    assert (status.stored, status.failed, status.pending) == (3, 0, 0)
    found = retrieve("asyncio", collection="docs", context=context)
    assert {passage.text for passage in found} == {
        f"All that page {n} says about asyncio." for n in (1, 2, 3)
    }
