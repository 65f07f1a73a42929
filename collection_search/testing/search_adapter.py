"""A search adapter that answers by script, and the contract of every search adapter."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..contracts.search import (
    BusinessContext,
    ProviderSearchResult,
    ScopeContext,
    SearchAdapterResponse,
    ToolContext,
)
from ..ports import BaseSearchAdapter
from ..ports.description import describe
from ..runtime.spans import NULL_SINK
from ..text.urls import normalize_url
from ..tools.web_search import WebSearchWorker

AdapterAnswer: TypeAlias = SearchAdapterResponse | Sequence[ProviderSearchResult] | BaseException
"""What one request gets: a response, the rows of a successful one, or an exception to raise."""

_OK = 200


@dataclass(frozen=True, slots=True)
class ReceivedQuery:
    """One request as the adapter received it."""

    query: str
    max_results: int
    timeout: float | None
    """In seconds."""


def rows(
    count: int = 3, *, about: str = "asyncio", with_text: bool = False
) -> list[ProviderSearchResult]:
    """Return that many different rows, best first, to script answers with.

    Rows with a text can be ingested: without it their pages, which do not exist, are fetched.

    >>> rows(1)[0].url
    'https://example.com/asyncio/1'
    >>> rows(1, with_text=True)[0].content
    'All that page 1 says about asyncio.'
    """
    return [
        ProviderSearchResult(
            url=f"https://example.com/{about}/{n}",
            title=f"{about} {n}",
            snippet=f"Page {n} about {about}.",
            content=f"All that page {n} says about {about}." if with_text else None,
            source="scripted",
        )
        for n in range(1, count + 1)
    ]


def example_context() -> ToolContext:
    """Return a complete context of a made-up call, its ids like those of the documentation."""
    return ToolContext(
        scope=ScopeContext(
            tenant_id="acme",
            trace_id="trace-a1b2c3",
            invocation_id="123e4567-e89b-12d3-a456-426614174000",
            run_id="run_def456",
        ),
        business=BusinessContext(workflow_id="universal_ingestion", case_id="crm-7421"),
    )


class ScriptedAdapter:
    """An adapter that gives its answers in order and repeats the last one.

    The answers of `on` are for one query, those of the constructor for every other query. Without
    any it finds nothing. At most `max_results` rows are returned, as real providers do.

    >>> adapter = ScriptedAdapter().on("asyncio", rows(5))
    >>> len(adapter.search("asyncio", max_results=3).results)
    3
    >>> adapter.requests
    [ReceivedQuery(query='asyncio', max_results=3, timeout=None)]
    """

    def __init__(
        self, *answers: AdapterAnswer, provider_name: str = "scripted", page_size: int | None = None
    ) -> None:
        self.provider_name = provider_name
        self.page_size = page_size
        self.requests: list[ReceivedQuery] = []
        """Every request, in the order of arrival."""
        self._default = deque(answers or ([],))
        self._by_query: dict[str, deque[AdapterAnswer]] = {}
        self._lock = threading.Lock()

    def on(self, query: str, *answers: AdapterAnswer) -> ScriptedAdapter:
        """Script the answers for one query and return the adapter."""
        self._by_query[query] = deque(answers or ([],))
        return self

    def search(
        self, query: str, *, max_results: int, timeout: float | None = None
    ) -> SearchAdapterResponse:
        """Return or raise the next answer for this query."""
        answer = self._next(ReceivedQuery(query, max_results, timeout))
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, SearchAdapterResponse):
            return answer
        return SearchAdapterResponse(results=list(answer)[:max_results], status_code=_OK)

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the keyword of the port
    ) -> SearchAdapterResponse:
        """Return or raise the same as `search`, after other tasks have run once."""
        await asyncio.sleep(0)
        return self.search(query, max_results=max_results, timeout=timeout)

    def _next(self, request: ReceivedQuery) -> AdapterAnswer:
        with self._lock:
            self.requests.append(request)
            answers = self._by_query.get(request.query, self._default)
            return answers.popleft() if len(answers) > 1 else answers[0]


class SearchAdapterContract:
    """What `WebSearchWorker` relies on: subclass it in a test module, and pytest runs it.

    ```python
    class TestMyAdapter(SearchAdapterContract):
        query = "something that my adapter finds"

        def adapter(self):
            return MyAdapter()
    ```
    """

    query: str
    """Finds at least one page."""
    unknown_query = "qzxv jwkpf vbnqx"
    """Finds nothing."""

    def adapter(self) -> BaseSearchAdapter:
        """Return a fresh adapter that works."""
        raise NotImplementedError

    def test_it_has_the_form_of_a_search_adapter(self) -> None:
        """The adapter has a blocking search and a name without white space around it."""
        adapter = self.adapter()
        assert isinstance(adapter, BaseSearchAdapter)
        assert not inspect.iscoroutinefunction(adapter.search)
        assert adapter.provider_name
        assert adapter.provider_name == adapter.provider_name.strip()

    def test_a_search_returns_typed_rows(self) -> None:
        """A query that finds something ends with status 2xx and mapped rows."""
        response = self._search()
        assert isinstance(response, SearchAdapterResponse)
        assert response.status_code // 100 == _OK // 100
        assert response.results
        assert all(isinstance(row, ProviderSearchResult) for row in response.results)
        assert all(isinstance(row, Mapping) for row in response.raw_results)
        assert response.quota_remaining is None or response.quota_remaining >= 0

    def test_every_row_can_be_shown(self) -> None:
        """Each row has an http(s) URL, texts, a source, and a score from 0 to 1 if any."""
        for row in self._search().results:
            assert normalize_url(row.url)
            assert isinstance(row.title, str)
            assert isinstance(row.snippet, str)
            assert row.title or row.snippet or row.content
            assert row.source
            assert row.score is None or (math.isfinite(row.score) and 0 <= row.score <= 1)

    def test_max_results_is_an_upper_bound(self) -> None:
        """An adapter never returns more rows than it was asked for."""
        assert len(self._search(max_results=1).results) == 1

    def test_nothing_found_is_an_empty_answer(self) -> None:
        """A query without hits is a success with no rows, not an error."""
        assert list(self._search(self.unknown_query).results) == []

    def test_the_coroutine_finds_the_same(self) -> None:
        """`asearch`, where it exists, takes the same arguments and finds the same pages."""
        asearch = describe(self.adapter()).asearch
        if asearch is not None:
            found = asyncio.run(asearch.function(self.query, max_results=10))
            assert _urls(found) == _urls(self._search())

    def test_the_worker_can_use_it(self) -> None:
        """The worker returns the adapter's rows as results, from `run` and from `arun`."""
        worker = WebSearchWorker(self.adapter(), max_attempts=1, spans=NULL_SINK)
        found = worker.run(query=self.query, context=example_context())
        awaited = asyncio.run(worker.arun(query=self.query, context=example_context()))
        assert found.outcome.decision == awaited.outcome.decision == "ok", found.outcome
        assert found.results
        assert found.results == awaited.results

    def _search(self, query: str | None = None, *, max_results: int = 10) -> SearchAdapterResponse:
        return self.adapter().search(query or self.query, max_results=max_results)


def _urls(response: SearchAdapterResponse) -> list[str]:
    return [row.url for row in response.results]
