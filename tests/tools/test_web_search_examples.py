"""The specification's own programs and names, and what the worker's constructor accepts."""
# ruff: noqa: T201 - the documented programs print

import math
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from collection_search.contracts.search import BusinessContext, ScopeContext
from collection_search.errors import InputError
from collection_search.testing import RecordingSink, ScriptedAdapter, example_context
from collection_search.tools import web_search
from collection_search.tools.web_search import (
    ProviderSearchResult,
    SearchAdapterResponse,
    ToolContext,
    WebSearchWorker,
)

CONTEXT = example_context()


@pytest.fixture
def spans() -> RecordingSink:
    return RecordingSink()


@dataclass
class FakeSearchAdapter:
    provider_name: str = "fake"

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        return SearchAdapterResponse(
            results=[
                ProviderSearchResult(
                    url="https://example.com/1",
                    title="Fake Result 1",
                    snippet="This is a test.",
                    source="fake",
                )
            ],
            status_code=200,
        )


def test_standalone_example(spans, capsys):
    """The documented stand-alone program prints title and address of what it found."""
    adapter = FakeSearchAdapter()
    worker = WebSearchWorker(
        adapter=adapter,
        max_results=5,
        max_attempts=3,
        spans=spans,
    )
    scope = ScopeContext(
        tenant_id="acme",
        trace_id="trace-123",
        invocation_id="123e4567-e89b-12d3-a456-426614174000",
        run_id="run_abc",
    )
    business = BusinessContext(
        workflow_id="universal_ingestion",
        case_id="crm-7421",
    )
    context = ToolContext(scope=scope, business=business)
    response = worker.run(
        query="aktuelle KI-Regulierung EU",
        context=context,
    )
    if response.outcome.decision == "ok":
        for result in response.results:
            print(f"{result.title}: {result.url}")
    else:
        print(f"Error: {response.outcome.rationale}")
        print(response.outcome.meta.get("error"))
    assert capsys.readouterr().out == "Fake Result 1: https://example.com/1\n"


def test_langgraph_node_example(spans):
    """The documented node puts results or the reason of the failure into the state."""
    worker = WebSearchWorker(FakeSearchAdapter(), spans=spans)

    def web_search_node(state: dict[str, Any]) -> dict[str, Any]:
        """Execute web search and return results."""
        response = worker.run(
            query=state["search_query"],
            context=CONTEXT,
        )

        if response.outcome.decision == "ok":
            return {"search_results": response.results}
        return {"search_error": response.outcome.rationale}

    assert len(web_search_node({"search_query": "asyncio"})["search_results"]) == 1
    assert web_search_node({"search_query": "site:"}) == {"search_error": "invalid_query"}


class MojeekSearchAdapter:
    """A new provider, written as the specification's guide says; `get` stands for its client."""

    provider_name = "mojeek"

    def __init__(self, api_key: str, get: Any):
        self.api_key = api_key
        self.get = get

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        response = self.get(params={"q": query, "t": max_results, "api_key": self.api_key})
        results = [
            ProviderSearchResult(
                url=item["url"],
                title=item["title"],
                snippet=item["desc"],
                source="mojeek",
            )
            for item in response["body"]["results"]
        ]
        return SearchAdapterResponse(
            results=results,
            status_code=response["status"],
        )


def test_mojeek_adapter_success(spans):
    """An adapter for a new provider is one class, and works under the worker as it is."""

    def get(params):
        item = {"url": "https://example.com/{}", "title": "T", "desc": "<b>S</b>"}
        count = params["t"]
        return {
            "status": 200,
            "body": {"results": [item | {"url": item["url"].format(n)} for n in range(count)]},
        }

    adapter = MojeekSearchAdapter(api_key="test", get=get)
    response = adapter.search("test query", max_results=5)
    assert response.status_code == 200
    assert len(response.results) == 5
    found = WebSearchWorker(adapter, max_results=5, spans=spans).run(query="test", context=CONTEXT)
    assert [result.snippet for result in found.results] == ["S"] * 5


def test_best_practice_result_limits_and_oversampling():
    """The documented constructor calls are accepted."""
    adapter = ScriptedAdapter()
    WebSearchWorker(adapter, max_results=5)
    WebSearchWorker(adapter, max_results=15)
    WebSearchWorker(adapter, oversample_factor=3)


@pytest.mark.parametrize("name", web_search.__all__)
def test_every_public_name_is_importable_from_the_tool(name):
    """The names that the specification imports from `tools.web_search` are there."""
    assert getattr(web_search, name).__doc__


def test_the_specified_names_are_public():
    """What the documented programs import and the fields name is exported by the tool."""
    assert {
        "BaseSearchAdapter",
        "BusinessContext",
        "ProviderSearchResult",
        "RawSearchResult",
        "ScopeContext",
        "SearchAdapter",
        "SearchAdapterResponse",
        "SearchProviderBadResponse",
        "SearchProviderError",
        "SearchProviderQuotaExceeded",
        "SearchProviderTimeout",
        "SearchResult",
        "ToolContext",
        "ToolOutcome",
        "WebSearchInput",
        "WebSearchResponse",
        "WebSearchWorker",
    } <= set(web_search.__all__)


def test_legacy_protocol_name():
    """`SearchAdapter` is an alias of `BaseSearchAdapter`."""
    assert web_search.SearchAdapter is web_search.BaseSearchAdapter


def test_search_adapter_response_defaults():
    """Without more than rows and status: no raw rows, quota unknown."""
    response = SearchAdapterResponse(results=[], status_code=200)
    assert (response.raw_results, response.quota_remaining) == ((), None)


def test_provider_search_result_defaults():
    """Score and content type are optional; the order of the fields is the specified one."""
    row = ProviderSearchResult("u", "t", "s", "x")
    assert (row.url, row.title, row.snippet, row.source) == ("u", "t", "s", "x")
    assert (row.score, row.content_type) == (None, None)


@pytest.mark.parametrize(
    ("error", "http_status", "retryable"),
    [
        (web_search.SearchProviderError, None, False),
        (web_search.SearchProviderTimeout, 504, True),
        (web_search.SearchProviderQuotaExceeded, 429, True),
        (web_search.SearchProviderBadResponse, 502, False),
    ],
)
def test_error_types_and_their_http_mapping(error, http_status, retryable):
    """Each error is a SearchProviderError and RuntimeError with the specified attributes."""
    raised = error("why", retry_in_ms=7)
    assert isinstance(raised, web_search.SearchProviderError)
    assert isinstance(raised, RuntimeError)
    assert (raised.retry_in_ms, raised.http_status) == (7, http_status)
    assert raised.retryable is retryable


@pytest.mark.slow
def test_importing_the_tool_loads_nothing_heavy():
    """A fresh interpreter that imports the tool has none of the heavy packages."""
    heavy = {
        "numpy",
        "langgraph",
        "langchain_core",
        "langchain_openai",
        "langfuse",
        "httpx",
        "anyio",
    }
    code = "import sys, collection_search.tools.web_search; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # fmt: skip
    assert not heavy & set(loaded.stdout.split())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *[(name, value) for name in ("max_results", "max_attempts", "oversample_factor")
          for value in (0, -1, 1.5, True, "3", None)],
        *[(name, value) for name in ("timeout_s", "retry_timeout_s", "deadline_s")
          for value in (0, -1, math.nan, math.inf, "3", None)],
        *[("backoff_factor", value) for value in (-0.1, math.nan, math.inf, True)],
    ],
)  # fmt: skip
def test_constructor_refuses_invalid_numbers(name, wrong):
    """A number that cannot work is refused at once, by its name."""
    with pytest.raises(InputError, match=f"^{name} must be "):
        WebSearchWorker(ScriptedAdapter(), **{name: wrong})
