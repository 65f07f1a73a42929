"""A query has a limit, and whoever is asked names it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from collection_search import (
    Settings,
    WebSearchError,
    WebSearchService,
    WebSearchWorker,
    answer_openai_call,
)
from collection_search.context import SearchContext
from collection_search.contracts.functions import WebSearchArguments
from collection_search.contracts.search import WebSearchInput
from collection_search.errors import ArrowSyntaxError, InvalidQueryError
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import ScriptedAdapter, example_context, rows
from collection_search.text.clean import MAX_QUERY_CHARS, normalize_query
from collection_search.tools.arrow import parse_arrow

if TYPE_CHECKING:
    from pathlib import Path

HUGE = "asyncio " * 131_072  # a megabyte
LONG = "a" * (MAX_QUERY_CHARS + 1)
TOLD = r"has 2001 characters; at most 2000"


def test_the_limit_is_that_of_the_line() -> None:
    """The blanks that are taken out do not count; one character more is refused."""
    assert normalize_query(f"  {LONG[1:]}\n") == LONG[1:]
    with pytest.raises(InvalidQueryError, match=TOLD):
        normalize_query(LONG)


@pytest.mark.parametrize("model", [WebSearchInput, WebSearchArguments])
def test_contracts_refuse_it(model: Any) -> None:
    """Every definition of a tool is made from them."""
    with pytest.raises(ValidationError, match=TOLD):
        model(query=LONG)


def test_an_arrow_command_refuses_it() -> None:
    """With the place of the query."""
    with pytest.raises(ArrowSyntaxError, match=TOLD):
        parse_arrow(f'-> search "{LONG}"')


@pytest.mark.parametrize("method", ["run", "arun"])
@pytest.mark.parametrize("query", [LONG, HUGE])
def test_the_worker_asks_nobody(method: str, query: str) -> None:
    """The outcome names limit and length, and does not repeat a megabyte."""
    adapter = ScriptedAdapter(rows(1))
    worker = WebSearchWorker(adapter, spans=NULL_SINK)
    call: dict[str, Any] = {"query": query, "context": example_context()}
    response = worker.run(**call) if method == "run" else asyncio.run(worker.arun(**call))
    error = response.outcome.meta["error"]
    assert (error["kind"], error["code"]) == ("InvalidQueryError", "invalidQuery")
    assert "at most 2000" in error["message"]
    assert response.outcome.meta["attempts"] == 0
    assert len(response.model_dump_json()) < 2 * MAX_QUERY_CHARS + 2_000


def test_the_service_refuses_it(tmp_path: Path) -> None:
    """As a query that cannot be used."""
    service = WebSearchService(Settings(home=tmp_path, provider="offline"))
    with pytest.raises(WebSearchError, match=TOLD) as caught:
        service.search(LONG)
    assert (caught.value.code, caught.value.retryable) == ("invalidQuery", False)


def test_a_model_is_told(tmp_path: Path) -> None:
    """Its call is answered with the mistake."""
    context = SearchContext(settings=Settings(home=tmp_path, provider="offline"))
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "web_search", "arguments": json.dumps({"query": LONG})},
    }
    assert "at most 2000" in str(asyncio.run(answer_openai_call(call, context)))
