"""The base class of the contract suites for HTTP adapters."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

import pytest

from ...text.urls import normalize_url
from ...tools.web_search import WebSearchWorker
from ..providers.faults import RETRY_AFTER, gateway_failures
from ..providers.sample_index import find_hits
from ..search_adapter import SearchAdapterContract, example_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...contracts.search import ProviderSearchResult, SearchAdapterResponse, WebSearchResponse
    from ...ports import BaseSearchAdapter
    from ..clock import FakeClock
    from ..provider_server import ProviderServer
    from ..tracing import RecordingSink

PATIENCE_S: Final = 30.0
"""Time limit of tests that do not test it: a busy machine is slow."""
IMPATIENCE_S: Final = 0.1
"""Time limit of tests in which no answer comes."""


class HttpContract(SearchAdapterContract):
    """An adapter in front of a running double of its vendor: a suite's subclass says which."""

    query = "How does asyncio work?"
    running: ProviderServer
    """The server of the running test."""

    def server(self) -> ProviderServer:
        """Return the double of the vendor, not running yet."""
        raise NotImplementedError

    def adapter_for(self, server: ProviderServer) -> BaseSearchAdapter:
        """Return an adapter that talks to the running server, with the key that it accepts."""
        raise NotImplementedError

    def adapter(self) -> BaseSearchAdapter:
        """Return an adapter that works."""
        return self.adapter_for(self.running)

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        with self.server() as self.running:
            yield

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run the tests once for each failure, or form of a header, that they take."""
        if "failure" in metafunc.fixturenames:
            metafunc.parametrize("failure", list(self.server().failures))
        if "gateway_failure" in metafunc.fixturenames:
            metafunc.parametrize("gateway_failure", list(gateway_failures(self.server().dialect)))
        if "form" in metafunc.fixturenames:
            metafunc.parametrize("form", list(RETRY_AFTER))

    def _search(
        self, query: str | None = None, *, max_results: int = 10, timeout: float = PATIENCE_S
    ) -> SearchAdapterResponse:
        adapter: Any = self.adapter()
        response: SearchAdapterResponse = adapter.search(
            query or self.query, max_results=max_results, timeout=timeout
        )
        return response

    async def _asearch(self, query: str, **options: Any) -> SearchAdapterResponse:
        adapter: Any = self.adapter()
        response: SearchAdapterResponse = await adapter.asearch(query, **options)
        return response

    def _error(self, *, timeout: float = PATIENCE_S) -> BaseException:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - judged by the caller
            self._search(timeout=timeout)
        return caught.value

    async def _aerror(self, *, timeout: float) -> BaseException:  # noqa: ASYNC109
        with pytest.raises(Exception) as caught:  # noqa: PT011
            await self._asearch(self.query, max_results=10, timeout=timeout)
        return caught.value

    def _worker(
        self, clock: FakeClock, spans: RecordingSink, timeout_s: float = PATIENCE_S
    ) -> WebSearchWorker:
        return WebSearchWorker(
            self.adapter(),
            sleep=clock.sleep,
            asleep=clock.asleep,
            timer=clock.monotonic,
            timeout_s=timeout_s,
            retry_timeout_s=timeout_s,
            spans=spans,
        )

    def _run(
        self, worker: WebSearchWorker, query: str | None = None, *, method: str = "run"
    ) -> WebSearchResponse:
        search: dict[str, Any] = {"query": query or self.query, "context": example_context()}
        return worker.run(**search) if method == "run" else asyncio.run(worker.arun(**search))

    def _queries(self) -> list[str]:
        return [self.running.dialect.query(request) for request in self.running.requests]

    def _ranks(self, urls: Sequence[str]) -> list[int]:
        """Return the numbers of the pages with these addresses, each once."""
        known = {
            _parts(self.running.dialect.address(page, self.running.base_url)): page.number
            for topic in ("asyncio", "sqlite", "python")
            for page in find_hits(topic)
        }
        return list(dict.fromkeys(known[_parts(url)] for url in urls))

    @staticmethod
    def _urls(response: SearchAdapterResponse) -> list[str]:
        rows: Sequence[ProviderSearchResult] = response.results
        return [row.url for row in rows]

    def _assert_no_key(self, *shown: Any) -> None:
        text = " ".join(map(str, shown))
        assert not [form for form in _forms(self.running.dialect.key) if form in text]


def _forms(key: str) -> set[str]:
    """Return the key as it is, and as it stands in an address."""
    return {key, quote(key), quote(key, safe="")}


def _parts(url: str) -> tuple[str, str, str]:
    """Return host, path and query, however the path is quoted."""
    address = urlsplit(normalize_url(url))
    return address.netloc, unquote(address.path), address.query
