"""The JSON of a result: what is harmless stays, what is the operator's does not leave."""

from __future__ import annotations

import json

from jsonschema import validate

from collection_search.contracts.collection import Passage
from collection_search.contracts.functions import (
    RETRIEVE,
    ReadPageOutput,
    RetrieveOutput,
    WebSearchOutput,
)
from collection_search.contracts.search import ToolOutcome
from collection_search.contracts.service import ServiceSearchResult
from collection_search.tools.mcp.structured_output import show_output

URL = "https://docs.example.com/guide?x=1&y=%20#part"
CODE = 'if ready:\n    print("yes")'
KEPT = {
    "provider": "tavily",
    "source": "docs.example.com",
    "published_date": "2026-01-15",
    "content_hash": "0" * 64,
    "start": 0,
    "end": 26,
}
OPERATORS = {
    "question": "Who is leaving the company?",
    "query": "secret merger",
    "run_id": "run-1",
    "trace_id": "trace-1",
    "invocation_id": "invocation-1",
    "ticket_id": "ticket-1",
    "approved_by": "auto_ingest",
    "workflow_id": "payroll",
    "case_id": "case-1",
    "metadata": {"customer": "Miller"},
}


def test_harmless_texts_stay() -> None:
    """Lines, indentation and quotation marks of a text, and a usual address."""
    output = ReadPageOutput(url=URL, title="Ready?", text=CODE, chars=26, is_cut=False)
    assert show_output(output) == output.model_dump(mode="json")


def test_passages_have_no_facts_of_the_operator() -> None:
    """Of a passage's origin only what a citation needs is shown, and the schema is kept."""
    passage = Passage(
        n=1, url=URL, title="Guide", text=CODE, score=71.5, provenance={**OPERATORS, **KEPT}
    )
    output = RetrieveOutput(question="How?", collection="docs", passages=[passage])
    shown = show_output(output)
    assert shown["passages"][0]["provenance"] == KEPT
    assert {**shown["passages"][0], "provenance": None} == {
        **passage.model_dump(),
        "provenance": None,
    }
    validate(shown, RETRIEVE.output_schema())


def test_outcomes_stay_readable() -> None:
    """The words of ours are unchanged; a provider's message has no effect; ids stay here."""
    error = {"kind": "SearchProviderTimeout", "message": "![x](//evil.example) late", "at": None}
    meta = {"provider": "tavily", "error": error, "cached": False, "run_id": "run-1", "cost_usd": 1}
    output = WebSearchOutput(
        query="tea",
        results=[ServiceSearchResult(title="Tea", url=URL, snippet="Hot.", score=0.5)],
        outcome=ToolOutcome(decision="error", rationale="search_timeout", meta=meta),
    )
    shown = show_output(output)
    assert shown["outcome"] == {
        "decision": "error",
        "rationale": "search_timeout",
        "meta": {"provider": "tavily", "error": {**error, "message": "x late"}, "cached": False},
    }
    assert shown["results"][0] == output.results[0].model_dump(mode="json")
    assert json.loads(json.dumps(shown)) == shown
