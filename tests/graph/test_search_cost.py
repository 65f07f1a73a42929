"""What the searches of a run cost: what was answered, by the provider's word or its list price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.scripted_world import good_pages

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import SearchProviderBadResponse, SearchProviderInvalidQuery
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collection_search.testing.search_adapter import AdapterAnswer


def cost(context: SearchContext, *answers: AdapterAnswer, provider: str = "brave") -> Any:
    adapter = ScriptedAdapter(*answers, provider_name=provider)
    question = {"question": "How to cook soup?", "collection_scope": "c", "purpose": "p"}
    _, result = CollectionSearchGraph(context.model_copy(update={"provider": adapter})).run(
        question
    )
    return result["telemetry"]["nodes"]["k_parallel_web_search"]["cost_usd"]


def answer(**more: Any) -> SearchAdapterResponse:
    return SearchAdapterResponse(results=good_pages(), status_code=200, **more)


def test_what_failed_is_not_billed(context: SearchContext) -> None:
    """Of three queries one is answered."""
    failure = SearchProviderInvalidQuery("too long")
    assert cost(context, answer(), failure, failure) == LIST_PRICES.search_cost("brave", 1)
    assert cost(context, failure) == 0.0


def test_what_may_have_been_worked_on_counts_as_billed(context: SearchContext) -> None:
    """As it does for the quota: whoever did not understand the answer may pay for it."""
    failure = SearchProviderBadResponse("no JSON")
    assert cost(context, answer(), failure, failure) == LIST_PRICES.search_cost("brave", 3)


def test_every_page_of_results_is_billed(context: SearchContext) -> None:
    """Three queries of two requests each."""
    assert cost(context, answer(request_count=2)) == LIST_PRICES.search_cost("brave", 6)


def test_the_providers_own_word_counts(context: SearchContext) -> None:
    """A free mode costs nothing, a dearer search what the provider says."""
    assert cost(context, answer(cost_usd=0.0), provider="tavily") == 0.0
    assert cost(context, answer(cost_usd=0.011)) == 0.033


def test_an_unknown_price_is_not_guessed(context: SearchContext) -> None:
    """The run then says that its cost is not complete."""
    assert cost(context, answer(), provider="nobody-knows") is None
