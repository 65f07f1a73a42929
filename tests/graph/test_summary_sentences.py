"""The summary of a run: short, the same for the same state, and plain whatever strangers wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.errors import SearchProviderError
from collection_search.nodes.summary_sentences import plain, summarize
from collection_search.testing import ScriptedAdapter
from collection_search.testing.search_adapter import rows

if TYPE_CHECKING:
    from collection_search.contracts.state import Telemetry

QUESTION = {"question": "How do I cancel an asyncio task?", "collection_scope": "python"}


def search(adapter: Any, **given: Any) -> str:
    context = SearchContext(provider=adapter, embeddings="lexical")
    state, output = CollectionSearchGraph(context).run({**QUESTION, **given})
    assert output["summary"] == state["summary"] == summarize(state, state["telemetry"])
    return output["summary"]


def test_what_was_found_and_what_it_cost() -> None:
    said = search(ScriptedAdapter(rows(5)))
    assert said.startswith('"How do I cancel an asyncio task?" was searched for with ')
    assert ": 5 pages found, 5 ranked, best score " in said
    assert "No ingestion was asked for. The run cost " in said


def test_why_nothing_was_ingested() -> None:
    said = search(ScriptedAdapter(rows(5)), question="Who won the cup?", auto_ingest=True)
    assert "Nothing was ingested into python" in said


def test_nothing_found_and_everything_failed() -> None:
    assert ": 0 pages found. The run cost" in search(ScriptedAdapter())
    failing = ScriptedAdapter(SearchProviderError("no", code="authenticationFailed"))
    assert "and every query failed: provider_authentication_failed." in search(failing)


def test_hostile_texts_are_neutralised() -> None:
    """Neither markup, nor control characters, nor a secret, nor a long text gets through."""
    hostile = (
        "![x](http://evil.example/a.png) <script>alert(1)</script> \x1b[31m `id` **b**\n\n# head"
        " sk-proj-abcdefghijklmnopqrstuvwxyz0123456789 " + "long " * 500
    )
    said = search(ScriptedAdapter(rows(5)), question=hostile[:1900])
    assert not set("<>[]`*\x1b\n") & set(said)
    assert "sk-proj-abcdef" not in said
    assert len(said) < 400
    assert plain("a\u202eb") == "a b"


TELEMETRY: Telemetry = {
    "trace_id": "t",
    "nodes": {},
    "latency_ms": 1.0,
    "input_tokens": None,
    "output_tokens": 0,
    "cost_usd": 0.0123,
    "cost_complete": False,
    "cost_limit_usd": None,
}


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            {
                "asked": "Why?",
                "collection_scope": "py",
                "passages": [{}, {}],
                "outcome": "answered",
                "answer": {"sentences": [{"citations": [1]}, {"citations": [1, 2]}]},
            },
            (
                '"Why?" was asked of the collection py: 2 passages found, 2 cited in the answer.'
                " The run cost at least $0.012."
            ),
        ),
        (
            {"candidates": [{}], "outcome": "acquired", "search": None, "query": None},
            (
                "1 page of a list or a staged session. The pages are staged, and wait for their"
                " ingestion. The run cost at least $0.012."
            ),
        ),
    ],
)
def test_answers_and_ingestions(state: dict[str, Any], says: str) -> None:
    assert summarize(state, TELEMETRY) == says
