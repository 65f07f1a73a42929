"""The shipped ScriptedAdapter keeps the shipped contract, and the contract catches what breaks it."""

import asyncio

import pytest

from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.errors import SearchProviderTimeout
from collection_search.testing import (
    ReceivedQuery,
    ScriptedAdapter,
    SearchAdapterContract,
    rows,
)


class TestScriptedAdapter(SearchAdapterContract):
    """The suite itself."""

    query = "asyncio"

    def adapter(self) -> ScriptedAdapter:
        return ScriptedAdapter().on(self.query, rows(12))


class Broken(SearchAdapterContract):
    """The suite on an adapter that breaks one rule at a time."""

    query = "asyncio"

    def __init__(self, response: SearchAdapterResponse) -> None:
        self.response = response

    def adapter(self) -> ScriptedAdapter:
        return ScriptedAdapter(self.response)


def row(**wrong: object) -> ProviderSearchResult:
    fields = {"url": "https://example.com/", "title": "T", "snippet": "S", "source": "s"}
    return ProviderSearchResult(**fields | wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "response"),
    [
        ("a_search_returns_typed_rows", SearchAdapterResponse([], 200)),
        ("a_search_returns_typed_rows", SearchAdapterResponse(rows(1), 500)),
        ("a_search_returns_typed_rows", SearchAdapterResponse([{"url": "x"}], 200)),  # type: ignore[list-item]
        ("a_search_returns_typed_rows", SearchAdapterResponse(rows(1), 200, quota_remaining=-1)),
        ("every_row_can_be_shown", SearchAdapterResponse([row(title="", snippet="")], 200)),
        ("every_row_can_be_shown", SearchAdapterResponse([row(source="")], 200)),
        ("every_row_can_be_shown", SearchAdapterResponse([row(score=17.0)], 200)),
        ("max_results_is_an_upper_bound", SearchAdapterResponse(rows(2), 200)),
        ("nothing_found_is_an_empty_answer", SearchAdapterResponse(rows(1), 200)),
        ("the_worker_can_use_it", SearchAdapterResponse([row(url="x")], 200)),
        ("the_worker_can_use_it", SearchAdapterResponse([], 503)),
    ],
)
def test_the_contract_catches(rule, response):
    """Each rule fails for an adapter that breaks it."""
    with pytest.raises(AssertionError):
        getattr(Broken(response), f"test_{rule}")()


def test_answers_come_in_order_and_the_last_one_stays():
    """Errors and rows are played per query, in either face, and every request is kept."""
    adapter = ScriptedAdapter(rows(1)).on("slow", SearchProviderTimeout("too slow"), rows(2))
    with pytest.raises(SearchProviderTimeout):
        adapter.search("slow", max_results=5, timeout=10)
    found = [
        adapter.search("slow", max_results=5),
        asyncio.run(adapter.asearch("slow", max_results=5)),
        adapter.search("other", max_results=5),
    ]
    assert [len(response.results) for response in found] == [2, 2, 1]
    assert adapter.requests[0] == ReceivedQuery("slow", max_results=5, timeout=10)
    assert [request.query for request in adapter.requests] == ["slow", "slow", "slow", "other"]
