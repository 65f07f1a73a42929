"""What the tools of models need, by environment variables alone: no network, no key of anybody."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from support.loopback_site import LoopbackSite, article, essay
from support.scripted_world import good_pages

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.testing.provider_server import ProviderServer
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from collection_search.contracts.search import ProviderSearchResult

QUESTION = "How do I cancel an asyncio task?"
TASKS = "To cancel an asyncio task after a timeout, use asyncio.timeout as a context manager."


class ToolWorld(NamedTuple):
    """A search provider, a page, and a collection called `docs` of the tenant `local`."""

    search: ProviderServer
    page_url: str
    home: Path


def whole_pages(count: int = 6) -> list[ProviderSearchResult]:
    """Pages that answer the question, with a text that is stored without a fetch."""
    return [replace(one, content=f"{TASKS} " * 20) for one in good_pages(count)]


@contextmanager
def tool_world(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[ToolWorld]:
    """Let the settings of the environment name loopback doubles, and yield these."""
    with ProviderServer("tavily") as search, LoopbackSite() as site:
        url = site.put("/herons", article("Herons", essay("herons")))
        for name, value in {
            "COLLECTION_SEARCH_HOME": str(home),
            "COLLECTION_SEARCH_PROVIDER": "tavily",
            "TAVILY_API_KEY": search.key,
            "TAVILY_BASE_URL": search.base_url,
            "COLLECTION_SEARCH_FETCH_ALLOWED": ",".join(site.allowed),
            "COLLECTION_SEARCH_FETCH_DELAY_S": "0",
            "COLLECTION_SEARCH_EXTRACT_PROCESSES": "1",
        }.items():
            monkeypatch.setenv(name, value)
        put_page(home, TASKS)
        yield ToolWorld(search, url, home)


def put_page(home: Path, text: str, *, tenant: str = "local", **more: Any) -> None:
    """Store one page in the collection `docs` of a tenant."""
    store = SQLiteStore.from_settings(Settings(home=home))
    page = document("tasks", text, query="asyncio", rank=1, **more)
    store.collections.replace_document(TenantScope(tenant, "docs"), page, chunks(text))
    store.close()
