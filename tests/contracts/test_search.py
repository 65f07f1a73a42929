"""The specified models: fields, defaults, bounds, and what they refuse."""

from typing import Any

import pytest
from pydantic import ValidationError

from collection_search.contracts.inputs import GraphInput
from collection_search.contracts.search import (
    ScopeContext,
    SearchResult,
    ToolOutcome,
    WebSearchInput,
    WebSearchResponse,
)

REQUIRED = {"question": "Why?", "collection_scope": "docs"}
DEFAULTS = {
    "purpose": "collection_search",
    "quality_mode": "standard",
    "max_candidates": 20,
    "auto_ingest": False,
    "auto_ingest_top_k": 10,
    "auto_ingest_min_score": 60.0,
}
ACCEPTED = [
    *[("quality_mode", mode) for mode in ("standard", "premium")],
    *[("max_candidates", number) for number in (5, 40)],
    *[("auto_ingest_top_k", number) for number in (1, 20)],
    *[("auto_ingest_min_score", score) for score in (0, 55.5, 100)],
]
REFUSED: list[tuple[str, Any]] = [
    *[("question", text) for text in ("", " ", "\u200b", "site:", "x" * 2001)],
    *[("collection_scope", name) for name in ("", " ", "a\nb", "x" * 201, ".", "..")],
    *[("purpose", text) for text in ("", " ", "a\0b")],
    *[("quality_mode", mode) for mode in ("best", "", None)],
    *[("max_candidates", number) for number in (4, 41, 5.5, None)],
    *[("auto_ingest_top_k", number) for number in (0, 21)],
    *[("auto_ingest_min_score", score) for score in (-0.1, 100.1, float("nan"))],
    ("auto_injest", True),
]


@pytest.mark.parametrize("name", DEFAULTS)
def test_graph_input_default(name):
    """Each optional field of the specification has its default."""
    assert getattr(GraphInput(**REQUIRED), name) == DEFAULTS[name]


@pytest.mark.parametrize("name", REQUIRED)
def test_graph_input_required_field(name):
    """Question and collection have no default."""
    given = {key: value for key, value in REQUIRED.items() if key != name}
    with pytest.raises(ValidationError, match=rf"{name}\s+Field required"):
        GraphInput(**given)


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_graph_input_accepts_its_bounds(name, value):
    """The ends of every specified range belong to it."""
    assert getattr(GraphInput(**REQUIRED, **{name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_graph_input_refuses(name, value):
    """What lies outside, and a misspelt field, is an error that names the field."""
    with pytest.raises(ValidationError, match=name):
        GraphInput(**{**REQUIRED, name: value})


def test_graph_input_has_exactly_the_specified_fields():
    """Eight fields, each described for the forms that are made from the schema."""
    fields = GraphInput.model_json_schema()["properties"]
    assert fields.keys() == REQUIRED.keys() | DEFAULTS.keys()
    assert all(field["description"] for field in fields.values())
    assert all(fields[name]["examples"] for name in REQUIRED)


def test_graph_input_normalises_the_question():
    """Invisible characters and white space are gone before anything is planned."""
    assert GraphInput(**REQUIRED | {"question": " KI\u200b \n EU "}).question == "KI EU"


def test_web_search_input_requires_a_query():
    """`query` is the one field, and it must hold something to search for."""
    assert set(WebSearchInput.model_fields) == {"query"}
    for wrong in ({}, {"query": ""}, {"query": "site:"}):
        with pytest.raises(ValidationError, match="query"):
            WebSearchInput(**wrong)


@pytest.mark.parametrize("missing", ["tenant_id", "trace_id", "invocation_id"])
def test_scope_context_required_field(missing):
    """Tenant, trace and invocation have no default, and none may be empty."""
    ids = {"tenant_id": "acme", "trace_id": "t", "invocation_id": "i", "run_id": "r"}
    with pytest.raises(ValidationError, match=missing):
        ScopeContext(**{key: value for key, value in ids.items() if key != missing})
    with pytest.raises(ValidationError, match=missing):
        ScopeContext(**ids | {missing: " "})


def test_scope_context_needs_a_run():
    """`run_id`, `ingestion_run_id` or both."""
    ids = {"tenant_id": "acme", "trace_id": "t", "invocation_id": "i"}
    assert ScopeContext(**ids, run_id="r", ingestion_run_id="g").run_id == "r"
    with pytest.raises(ValidationError, match="run_id, ingestion_run_id or both"):
        ScopeContext(**ids)


@pytest.mark.parametrize("wrong", [{"url": "ftp://a.org"}, {"title": ""}, {"snippet": ""}])
def test_search_result_refuses(wrong):
    """A result has an http(s) URL, a title and a snippet."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SearchResult(
            **{"url": "https://a.org", "title": "T", "snippet": "S", "source": "s"} | wrong
        )


def test_search_result_defaults_and_clean_url():
    """The score is optional, nothing is a PDF unasked, and tracking parameters go."""
    url = "https://Example.COM/page?utm_source=fb&b=2&a=1#section"
    result = SearchResult(url=url, title="T", snippet="S", source="s")
    assert result.url == "https://example.com/page?a=1&b=2"
    assert (result.score, result.is_pdf) == (None, False)


def test_tool_outcome_decision():
    """`ok` and `error` are the only decisions; `meta` is empty by default."""
    assert ToolOutcome(decision="ok", rationale="search_completed").meta == {}
    assert ToolOutcome(decision="error", rationale="provider_timeout").decision == "error"
    with pytest.raises(ValidationError, match="decision"):
        ToolOutcome(decision="maybe", rationale="?")


def test_web_search_response_needs_an_outcome():
    """Results may be missing, how the call ended may not."""
    outcome = ToolOutcome(decision="ok", rationale="search_completed")
    assert WebSearchResponse(outcome=outcome).results == []
    with pytest.raises(ValidationError, match="outcome"):
        WebSearchResponse(results=[])
