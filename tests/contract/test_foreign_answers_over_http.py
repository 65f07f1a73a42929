"""Answers that are not the vendor's, and refusals that are no wrong key, from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import Settings, WebSearchError, WebSearchService
from collection_search.testing import ProviderServer
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.faults import FOREIGN
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.wire import Reply

if TYPE_CHECKING:
    from pathlib import Path

FIRST = sorted(DIALECTS.keys() - {"wikipedia"})


def service_of(home: Path, *servers: ProviderServer, **changes: Any) -> WebSearchService:
    """Return a service that keeps answers and asks the second server in place of the first."""
    providers = {
        server.dialect.name: {"api_key": server.key, "base_url": server.base_url}
        for server in servers
    }
    if "google" in providers:
        providers["google"]["search_engine_id"] = ENGINE_ID
    chosen = {"home": home, "provider": servers[0].dialect.name, "providers": providers}
    return WebSearchService(Settings(**{**chosen, **changes}))


def without_texts(query: str) -> dict[str, Any]:
    """Return a request that needs no page of the web."""
    return {"query": query, "options": {"include_content": False}}


@pytest.mark.parametrize("name", FIRST)
def test_a_foreign_answer_asks_the_fallback_and_is_not_kept(name: str, tmp_path: Path) -> None:
    """A proxy's JSON is no empty web: the fallback answers, and the vendor is asked again."""
    with ProviderServer(name) as first, ProviderServer("wikipedia") as second:
        service = service_of(
            tmp_path, first, second, use_fallback=True, fallback_provider="wikipedia"
        )
        first.reply(Reply.of_json(FOREIGN["state"]))
        answer = service.search(without_texts("asyncio"))
        first.recover()
        again = service.search(without_texts("asyncio"))
    assert (answer.provider, again.provider) == ("wikipedia", name)
    assert answer.results
    assert again.results
    assert len(first.requests) == 2


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("brave", "option_not_in_plan"),
        ("exa", "not_in_the_plan"),
        ("google", "api_disabled"),
        ("tavily", "not_in_the_plan"),
        ("tavily", "suffix_as_domain"),
    ],
)
def test_what_can_be_mended_closes_no_provider(name: str, failure: str, tmp_path: Path) -> None:
    """However often it is refused, the next search is asked: it is no wrong key and no outage."""
    with ProviderServer(name) as server:
        service = service_of(tmp_path, server)
        server.fail(failure)
        codes = []
        for number in range(5):
            with pytest.raises(WebSearchError) as refused:
                service.search(without_texts(f"asyncio {number}"))
            codes.append(refused.value.code)
        server.recover()
        assert service.search(without_texts("asyncio")).results
    assert codes == ["invalidQuery"] * 5
    assert len(server.requests) == 6
